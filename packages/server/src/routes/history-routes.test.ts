import { BaseAgent, type Event, type InvocationContext } from '@eventloom/core';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { expect, test } from 'vitest';
import { createServer } from '../create-server.ts';

/** Counts its turns in state. */
class Counting extends BaseAgent {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const turn = Number(context.session.state['turn'] ?? 0) + 1;
    yield context.createEvent({
      author: 'bot',
      actions: { stateDelta: { turn } },
      content: { parts: [{ text: `${turn}` }] },
    });
  }
}

const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };
const SESSION = '/apps/app/users/ann/sessions/s';

/** A session of three turns. */
async function setUp() {
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const runner = new Runner({ appName: 'app', agent: new Counting({ name: 'bot' }), sessionService });
  const server = createServer({ runners: [runner] });
  const invocations: string[] = [];
  for (let turn = 1; turn <= 3; turn++) {
    const stream = runner.runAsync({ userId: 'ann', sessionId: 's', newMessage: { parts: [{ text: `go ${turn}` }] } });
    for await (const _ of stream);
    invocations.push(stream.invocationId);
  }
  const send = async (method: string, path: string, body?: unknown) => {
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
    const response = await server.fetch(new Request(`http://localhost${path}`, init));
    return {
      status: response.status,
      cursor: response.headers.get('Eventloom-Next-Cursor'),
      json: await response.json(),
    };
  };
  return { send, invocations, sessionService };
}

function textsOf(json: unknown): (string | undefined)[] {
  return (json as Event[]).map((event) => event.content?.parts?.[0]?.text);
}

test('events are paged from either end', async () => {
  const { send } = await setUp();
  const pages: Record<string, (string | undefined)[][]> = { asc: [], desc: [] };
  for (const order of ['asc', 'desc']) {
    let path: string | undefined = `${SESSION}/events?order=${order}&limit=4`;
    while (path) {
      const { status, json, cursor } = await send('GET', path);
      expect(status).toBe(200);
      pages[order]?.push(textsOf(json));
      path = cursor ? `${SESSION}/events?order=${order}&limit=4&cursor=${cursor}` : undefined;
    }
  }
  expect(pages).toEqual({
    asc: [
      ['go 1', '1', 'go 2', '2'],
      ['go 3', '3'],
    ],
    desc: [
      ['3', 'go 3', '2', 'go 2'],
      ['1', 'go 1'],
    ],
  });
});

test('a session is taken back to before an invocation', async () => {
  const { send, invocations, sessionService } = await setUp();
  const { status, json } = await send('POST', `${SESSION}/rewind`, { rewind_before_invocation_id: invocations[1] });
  expect(status).toBe(200);
  expect(json).toMatchObject({
    author: 'user',
    actions: { rewindBeforeInvocationId: invocations[1], stateDelta: { turn: 1 } },
  });
  expect((await sessionService.getSession(KEY))?.state).toEqual({ turn: 1 });
});

test('what cannot be answered is said', async () => {
  const { send } = await setUp();
  const answers = [
    await send('GET', `${SESSION}/events?order=up`),
    await send('GET', `${SESSION}/events?limit=0`),
    await send('GET', `${SESSION}/events?cursor=desc.4`),
    await send('GET', `${SESSION}x/events`),
    await send('POST', `${SESSION}/rewind`, {}),
    await send('POST', `${SESSION}/rewind`, { rewindBeforeInvocationId: 'e-unknown' }),
    await send('POST', `${SESSION}x/rewind`, { rewindBeforeInvocationId: 'e-unknown' }),
  ];
  expect(answers.map(({ status, json }) => [status, (json as { code: string }).code])).toEqual([
    [400, 'INVALID_REQUEST'],
    [400, 'INVALID_REQUEST'],
    [400, 'INVALID_REQUEST'],
    [404, 'SESSION_NOT_FOUND'],
    [400, 'INVALID_REQUEST'],
    [400, 'INVALID_REQUEST'],
    [404, 'SESSION_NOT_FOUND'],
  ]);
});
