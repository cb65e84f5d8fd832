import type { Event, SessionRecord } from '@eventloom/core';
import { DurableObjectSessionService } from '@eventloom/sessions/durable-object';
import { InMemorySessionService } from '@eventloom/sessions';
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { type DurableObjectStub, env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { BUCKET_USER } from './fixtures/test-objects.ts';
import { protocolServer } from './fixtures/protocol-worker.ts';

/** Size of an event that takes more than two rows, in characters. */
const CHARS = 5_000_000;

describe.each([
  { where: 'in a bucket', name: BUCKET_USER, objects: 2 },
  { where: 'in the object', name: 'without', objects: 0 },
])('events of 5 MB that lie $where', ({ name, objects }) => {
  const user = `${name}-${crypto.randomUUID()}`;
  const objectOf = (): DurableObjectStub => env.EVENTLOOM_USERS.getByName(JSON.stringify(['app', user]));
  const session = `/apps/app/users/${user}/sessions/s`;
  const prefix = (): string => `large-values/${objectOf().id.toString()}/`;

  function ask(path: string, init: RequestInit = {}): Promise<Response> {
    return protocolServer.handler.fetch(new Request(`http://localhost${path}`, init), env);
  }

  function say(path: string): Promise<Response> {
    const newMessage = { role: 'user', parts: [{ text: `large ${CHARS}` }] };
    return ask(path, {
      method: 'POST',
      headers: { 'eventloom-event-ids': '1' },
      body: JSON.stringify({ appName: 'app', userId: user, sessionId: 's', newMessage }),
    });
  }

  const lengthsOf = (events: readonly Event[]) => events.map(({ content }) => content?.parts?.[0]?.text?.length);
  const ofRun = [6, CHARS, 6];
  const inBucket = async (): Promise<number> => (await env.ARTIFACTS.list({ prefix: prefix() })).objects.length;

  test('large events are streamed, followed, listed, exported and deleted', async () => {
    await (await ask(session, { method: 'POST', body: '{}' })).text();
    const answer = await say('/run');
    expect(lengthsOf((await answer.json()) as Event[])).toEqual(ofRun);
    const streaming = await say('/run_sse');
    const whole = await streaming.text();
    const run = `${session}/runs/${streaming.headers.get('eventloom-invocation-id')}`;
    const [first = '', ...rest] = whole.split(/(?=^id: )/m);
    expect([first.length < 1000, rest.map((frame) => frame.length > CHARS)]).toEqual([true, [true, false]]);
    for (const isEvicted of [false, true]) {
      if (isEvicted) await evictDurableObject(objectOf());
      expect((await (await ask(run)).text()) === whole).toBe(true);
      expect((await (await ask(run, { headers: { 'last-event-id': '1' } })).text()) === rest.join('')).toBe(true);
      const stored = (await (await ask(session)).json()) as { events: Event[] };
      expect(lengthsOf(stored.events)).toEqual([13, ...ofRun, 13, ...ofRun]);
      const page = (await (await ask(`${session}/events?order=desc&limit=3`)).json()) as Event[];
      expect(lengthsOf(page)).toEqual(ofRun.toReversed());
    }
    expect(await inBucket()).toBe(objects);
    const exported = await runInDurableObject(objectOf(), async (_instance, { storage }) => {
      const bucket = objects > 0 ? env.ARTIFACTS : undefined;
      const service = new DurableObjectSessionService({ storage, bucket, prefix: prefix() });
      const records: SessionRecord[] = [];
      for await (const record of service.exportSession({ appName: 'app', userId: user, sessionId: 's' })) {
        records.push(record);
      }
      return records;
    });
    const { events } = await new InMemorySessionService().importSession({ records: exported });
    expect(lengthsOf(events)).toEqual([13, ...ofRun, 13, ...ofRun]);
    await (await ask(session, { method: 'DELETE' })).text();
    const alarm = await runInDurableObject(objectOf(), (_instance, { storage }) => storage.getAlarm());
    expect(alarm).toBeLessThan(Date.now() + 5001);
    expect(await runDurableObjectAlarm(objectOf())).toBe(true);
    expect(await inBucket()).toBe(0);
    const left = await runInDurableObject(objectOf(), (_instance, { storage }) =>
      ['value_pieces', 'loose_values', 'events'].map(
        (table) => storage.sql.exec(`SELECT count(*) AS rows FROM eventloom_${table}`).one()['rows'],
      ),
    );
    expect(left).toEqual([0, 0, 0]);
  });
});
