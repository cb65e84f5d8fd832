import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { createServer } from '../create-server.ts';
import type { ServerLimits } from '../server-limits.ts';

const SESSION = '/apps/app/users/ann/sessions/s';
const RUN = { appName: 'app', userId: 'ann', sessionId: 's' };

function setUp(limits: Partial<ServerLimits> = {}) {
  const agent = new LlmAgent({ name: 'agent', model: new ScriptedModel(['done']) });
  const runner = new Runner({ appName: 'app', agent, sessionService: new InMemorySessionService() });
  const server = createServer({ runners: [runner], limits });
  return async (method: string, path: string, body?: object) => {
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
    const response = await server.fetch(new Request(`http://localhost${path}`, init));
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  };
}

const texts = (length: number) => Array.from({ length }, () => ({ text: 'x' }));
const keys = (length: number) => Object.fromEntries(Array.from({ length }, (_, at) => [`k${at}`, at]));
const events = (length: number) => Array.from({ length }, () => ({ author: 'agent' }));

const COUNTED: readonly (readonly [string, string, string, (count: number) => object, keyof ServerLimits])[] = [
  ['parts of a message', 'POST', '/run', (n) => ({ ...RUN, newMessage: { parts: texts(n) } }), 'maxBodyParts'],
  ['parts, in snake case', 'POST', '/run_sse', (n) => ({ ...RUN, new_message: { parts: texts(n) } }), 'maxBodyParts'],
  ['keys beside a message', 'POST', '/run', (n) => ({ ...RUN, newMessage: {}, stateDelta: keys(n) }), 'maxBodyKeys'],
  ['events', 'POST', SESSION, (n) => ({ events: events(n) }), 'maxBodyEvents'],
  [
    'parts of an event',
    'POST',
    SESSION,
    (n) => ({ events: [...events(1), { author: 'a', content: { parts: texts(n) } }] }),
    'maxBodyParts',
  ],
  [
    'keys that an event changes',
    'POST',
    '/apps/app/users/ann/sessions',
    (n) => ({ events: [{ author: 'a', actions: { state_delta: keys(n) } }] }),
    'maxBodyKeys',
  ],
  ['keys of a state', 'POST', SESSION, (n) => ({ state: keys(n) }), 'maxBodyKeys'],
  ['keys of a state that is the body', 'POST', SESSION, (n) => keys(n), 'maxBodyKeys'],
  ['keys that are changed', 'PATCH', SESSION, (n) => ({ stateDelta: keys(n) }), 'maxBodyKeys'],
];

test.each(COUNTED)(
  'more %s than the limit are refused, with the default and with a configured limit',
  async (...of) => {
    const [, method, path, bodyOf, limit] = of;
    const most = limit === 'maxBodyEvents' ? 10_000 : 1000;
    const { status, json } = await setUp()(method, path, bodyOf(most + 1));
    expect([status, json]).toEqual([
      413,
      { error: expect.stringContaining(`limits.${limit}`), code: 'BODY_TOO_LARGE' },
    ]);
    const send = setUp({ [limit]: 3 });
    expect((await send(method, path, bodyOf(4))).status).toBe(413);
    expect((await send(method, path, bodyOf(3))).status).not.toBe(413);
  },
);

test('parts up to the limit are accepted, and values inside state and arguments do not count', async () => {
  const send = setUp({ maxBodyParts: 2, maxBodyEvents: 2, maxBodyKeys: 2 });
  const state = { a: keys(9), parts: texts(9) };
  expect((await send('POST', SESSION, { state, events: [{ author: 'a', content: { parts: texts(2) } }] })).status).toBe(
    200,
  );
  expect((await send('PATCH', SESSION, { stateDelta: state })).status).toBe(200);
});

test('the OpenAPI document contains the limits', async () => {
  const { json } = await setUp({ maxBodyParts: 7, maxBodyEvents: 8, maxBodyKeys: 9 })('GET', '/openapi.json');
  expect(json['components']).toMatchObject({
    schemas: {
      ContentInput: { properties: { parts: { maxItems: 7 } } },
      RunBody: { properties: { stateDelta: { maxProperties: 9 } } },
      CreateSessionBody: { properties: { events: { maxItems: 8 }, state: { maxProperties: 9 } } },
      PatchSessionBody: { properties: { stateDelta: { maxProperties: 9 } } },
      EventActionsInput: { properties: { stateDelta: { maxProperties: 9 } } },
    },
  });
  // Responses of the server may exceed the limits.
  expect(JSON.stringify(Object(json['components']).schemas.Content)).not.toContain('maxItems');
});

test('a session of many events is created in slices, so that other requests run in between', async () => {
  const send = setUp();
  let turns = 0;
  let isMade = false;
  const making = send('POST', SESSION, { events: events(2000) }).finally(() => (isMade = true));
  while (!isMade) {
    turns++;
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  expect((await making).status).toBe(200);
  expect(turns).toBeGreaterThan(10);
});
