import { evictDurableObject, runInDurableObject } from 'cloudflare:test';
import { env, exports } from 'cloudflare:workers';
import { beforeEach, describe, expect, test } from 'vitest';
import { waiting } from './fixtures/protocol-runners.ts';

type Json = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- JSON of answers, which the assertions check

/** A client of one of the two Workers: without a user, or with the user that authenticates it. */
function clientOf(userId?: string) {
  const origin = userId === undefined ? 'http://localhost' : 'https://guarded.example';
  const headers = { 'content-type': 'application/json', ...(userId === undefined ? {} : { authorization: userId }) };
  const post = (method: string, params: object): Promise<Response> =>
    exports.default.fetch(
      new Request(`${origin}/a2a/app`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      }),
    );
  const call = async (method: string, params: object): Promise<Json> => (await post(method, params)).json();
  const stream = async (method: string, params: object) => itemsOf(await post(method, params));
  return { call, stream };
}

/** Reads the items of a stream one by one. */
async function* itemsOf(response: Response): AsyncGenerator<Json, void, void> {
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    const frames = text.split('\n\n');
    text = frames.pop() ?? '';
    for (const frame of frames) {
      if (!frame.startsWith('data: ')) continue;
      const { result } = JSON.parse(frame.slice('data: '.length)) as Json;
      yield result;
    }
  }
}

async function allOf(items: AsyncIterable<Json>): Promise<Json[]> {
  const list: Json[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const message = (text: string, more: object = {}): object => ({
  message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more },
});

/** The object of a user: of an authenticated one, or of a context. */
const objectOf = (userId: string | undefined, contextId: string) =>
  (userId === undefined ? env.EVENTLOOM_USERS : env.GUARDED_USERS).getByName(
    JSON.stringify(['app', userId ?? `A2A_USER_${contextId}`]),
  );

/** Lets an agent that waits continue, in the object that runs it. */
const release = (userId: string | undefined, contextId: string): Promise<void> =>
  runInDurableObject(objectOf(userId, contextId), () => waiting.gate.resolve());

beforeEach(() => {
  waiting.gate = Promise.withResolvers<void>();
});

describe.each([['without authentication', undefined] as const, ['with authentication', 'ann'] as const])(
  'a Worker %s',
  (_title, name) => {
    // Objects of other tests still have the events of the same user.
    const user = name && `${name}-${crypto.randomUUID()}`;
    const { call, stream } = clientOf(user);

    test('answers a message with its task, which can be read after an eviction', async () => {
      const { result } = await call('SendMessage', message('hello'));
      const { task } = result;
      expect(task).toMatchObject({
        status: { state: 'TASK_STATE_COMPLETED' },
        artifacts: [{ parts: [{ text: 'one two three' }] }],
      });
      await evictDurableObject(objectOf(user, task.contextId));
      expect((await call('GetTask', { id: task.id })).result).toEqual(task);
    });

    test('answers in A2A 0.3, too', async () => {
      const parts = [{ kind: 'text', text: 'hello' }];
      const params = { message: { kind: 'message', messageId: crypto.randomUUID(), role: 'user', parts } };
      const { result } = await call('message/send', params);
      expect(result).toMatchObject({ kind: 'task', status: { state: 'completed' } });
      expect((await call('tasks/get', { id: result.id })).result).toEqual(result);
      const streamed = await allOf(
        await stream('message/stream', { ...params, message: { ...params.message, messageId: 'm' } }),
      );
      expect(streamed.at(-1)).toMatchObject({ kind: 'status-update', final: true, status: { state: 'completed' } });
    });

    test('streams chunks, the whole text and the end of a task', async () => {
      const items = await allOf(await stream('SendStreamingMessage', message('hello')));
      const texts = items.flatMap(({ artifactUpdate }) => artifactUpdate?.artifact.parts[0].text ?? []);
      expect(texts).toEqual(['one ', 'two ', 'three', 'one two three']);
      expect(items.at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } });
    });

    test('cancels a task whose client still reads', async () => {
      const items = await stream('SendStreamingMessage', message('wait'));
      const { value: first } = await items.next();
      const { id } = (first as Json)['task'];
      expect((await call('CancelTask', { id })).result).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } });
      const rest = await allOf(items);
      expect(rest.at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_CANCELED' } } });
      expect((await call('CancelTask', { id })).error).toMatchObject({ code: -32002 });
    });

    test('streams the rest of a task to a client that subscribes after its connection was lost', async () => {
      const items = await stream('SendStreamingMessage', message('wait'));
      const { value: first } = await items.next();
      const { id, contextId } = (first as Json)['task'];
      await items.return();
      const again = await stream('SubscribeToTask', { id });
      expect((await again.next()).value).toMatchObject({ task: { id, status: { state: 'TASK_STATE_WORKING' } } });
      await release(user, contextId);
      const rest = await allOf(again);
      expect(rest.at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } });
      expect(rest.some(({ artifactUpdate }) => artifactUpdate?.lastChunk)).toBe(true);
    });
  },
);

test('a user of a Worker cannot read, cancel or continue a task of another user', async () => {
  const [ann, ben] = ['ann', 'ben'].map((name) => clientOf(`${name}-${crypto.randomUUID()}`));
  if (!ann || !ben) return expect.unreachable();
  const contextId = 'shared';
  const { result: ofAnn } = await ann.call('SendMessage', message('hello', { contextId }));
  const { id } = ofAnn.task;
  for (const method of ['GetTask', 'CancelTask', 'SubscribeToTask'])
    expect((await ben.call(method, { id })).error).toMatchObject({ code: -32001 });
  expect((await ben.call('SendMessage', message('hello', { taskId: id }))).error).toMatchObject({ code: -32001 });
  const { result: ofBen } = await ben.call('SendMessage', message('hello', { contextId }));
  expect(ofBen.task.contextId).toBe(contextId);
  expect(ofBen.task.id).not.toBe(id);
  expect((await ann.call('GetTask', { id })).result).toEqual(ofAnn.task);
});
