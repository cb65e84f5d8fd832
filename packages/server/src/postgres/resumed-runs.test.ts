import { serializeEvent } from '@eventloom/core';
import { LongRunningFunctionTool } from '@eventloom/tools';
import { Gate, type ScriptedStep } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { lastIdOf, SseText } from './fixtures/sse-text.ts';
import { type RelayedServer, startTwoServers } from './fixtures/two-servers.ts';

const WAIT: ScriptedStep = { calls: [{ id: 'w1', name: 'wait' }] };
const tools = [new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined })];

/** Answers the call of a run, which then continues. */
function answer({ send }: RelayedServer, path: string): Promise<Response> {
  const newMessage = { parts: [{ functionResponse: { id: 'w1', response: { ready: true } } }] };
  const invocationId = path.split('/').at(-1);
  const body = JSON.stringify({ appName: 'app', userId: 'ann', sessionId: 's', newMessage, invocationId });
  return send('/run_sse', { method: 'POST', headers: { 'eventloom-event-ids': '1' }, body });
}

test.each(['a', 'b'] as const)(
  'a run of one process that continues in %s can be followed from the other',
  async (where) => {
    const gate = new Gate();
    await using servers = await startTwoServers([WAIT, { gate, text: 'ready' }], {
      tools,
      // The answer to the continued run waits for its first event for this time.
      server: { limits: { respondAfterMs: 50 } },
    });
    const { path, response } = await servers.a.start();
    const before = await response.text();
    const [host, other] = where === 'a' ? [servers.a, servers.b] : [servers.b, servers.a];
    // The other process knows the outcome of the run.
    await expect.poll(async () => (await servers.b.send(path)).text()).toBe(before);
    const going = await answer(host, path);
    const reading = new SseText(going);
    await gate.reached;
    let followed = response;
    const follow = async () => {
      followed = await servers.b.send(path, { headers: { 'last-event-id': lastIdOf(before) } });
      return followed.status;
    };
    await expect.poll(follow).toBe(200);
    gate.open();
    const rest = await reading.rest();
    const stored = before.slice(before.indexOf('id: 1\n'));
    expect(rest).toContain('"ready"');
    // Only the client that sent the answer does not get it.
    const session = await servers.sessions.getSession({ appName: 'app', userId: 'ann', sessionId: 's' });
    const event = session?.events[2];
    if (!event) return expect.unreachable();
    const answered = `id: 2\ndata: ${serializeEvent(event)}\n\n`;
    expect(await new SseText(followed).rest()).toBe(answered + rest);
    expect(Number(lastIdOf(rest))).toBeGreaterThan(Number(lastIdOf(before)));
    await expect.poll(async () => (await other.send(path)).text()).toBe(stored + answered + rest);
  },
);
