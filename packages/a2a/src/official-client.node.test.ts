import { Role, type Part, type SendMessageRequest, type StreamResponse, TaskState } from '@a2a-js/sdk';
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  type Client,
} from '@a2a-js/sdk/client';
import { serve } from '@eventloom/server/node';
import { Gate, type ScriptedStep } from '@eventloom/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { payingAgent, PAY, serveAgent } from './fixtures/served-agent.ts';

/** Serves an agent on a port, and connects the official client to it by its card. */
async function connect(steps: readonly ScriptedStep[], isLegacy: boolean): Promise<Client> {
  const { server } = serveAgent(payingAgent(steps));
  const served = await serve(server, { port: 0, drainMs: 100 });
  onTestFinished(() => served.shutDown());
  const legacyCompat = { enabled: isLegacy };
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory({ legacyCompat })],
      cardResolver: new DefaultAgentCardResolver({
        legacyCompat,
        fetchImpl: (url, init) => (isLegacy ? fetchLegacyCard(url) : fetch(url, init)),
      }),
    }),
  );
  return factory.createFromUrl(`${served.url}/a2a/app/`);
}

/** Reads a card as clients of 0.3 do, which do not name their version and know nothing of the fields of 1.0. */
async function fetchLegacyCard(url: string | URL | Request): Promise<Response> {
  const { supportedInterfaces: _new, ...card } = (await (await fetch(url)).json()) as Record<string, unknown>;
  return Response.json(card);
}

let messages = 0;
const text = (value: string): Part => ({
  content: { $case: 'text', value },
  metadata: undefined,
  filename: '',
  mediaType: '',
});
const say = (parts: Part[], taskId = '', contextId = ''): SendMessageRequest => ({
  tenant: '',
  message: {
    messageId: `m-${++messages}`,
    role: Role.ROLE_USER,
    parts,
    contextId,
    taskId,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  },
  configuration: undefined,
  metadata: undefined,
});
const textOf = (parts: readonly Part[] = []): string =>
  parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
const describeItem = ({ payload }: StreamResponse): unknown => {
  if (payload?.$case === 'artifactUpdate') return textOf(payload.value.artifact?.parts);
  return payload?.$case === 'message' ? payload.$case : TaskState[payload?.value.status?.state ?? -1];
};

test('the official client of A2A 1.0 lists the tasks of a context, page by page', async () => {
  const client = await connect([{ text: 'One.' }, { text: 'Two.' }], false);
  const ids: string[] = [];
  for (const contextId of ['c', 'c']) {
    const task = await client.sendMessage(say([text('hi')], '', contextId));
    if ('status' in task) ids.push(task.id);
  }
  const request = { tenant: '', contextId: 'c', status: TaskState.TASK_STATE_UNSPECIFIED, pageSize: 1, pageToken: '' };
  const optional = { historyLength: undefined, statusTimestampAfter: undefined, includeArtifacts: true };
  const first = await client.listTasks({ ...request, ...optional });
  const second = await client.listTasks({ ...request, ...optional, pageToken: first.nextPageToken });
  expect([...first.tasks, ...second.tasks].map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  expect(second).toMatchObject({ nextPageToken: '', totalSize: 2, pageSize: 1 });
  const texts = [...first.tasks, ...second.tasks].map(({ artifacts }) => textOf(artifacts[0]?.parts));
  expect(texts.toSorted()).toEqual(['One.', 'Two.']);
});

describe.each([
  ['1.0', false],
  ['0.3', true],
])('the official client of A2A speaks %s with the server and', (version, isLegacy) => {
  test('gets a task, and the same task again', async () => {
    const client = await connect([{ text: 'Hello.' }], isLegacy);
    expect(client.protocolVersion).toBe(version);
    const task = await client.sendMessage(say([text('hi')]));
    if (!('status' in task)) throw new Error('expected a task');
    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(textOf(task.artifacts[0]?.parts)).toBe('Hello.');
    const again = await client.getTask({ tenant: '', id: task.id });
    expect([again.id, again.artifacts]).toEqual([task.id, task.artifacts]);
    await expect(client.getTask({ tenant: '', id: 'e-1:none' })).rejects.toThrow('no task of this id');
  });

  test('streams, sends and gets files and data', async () => {
    const image = { inlineData: { mimeType: 'image/png', data: 'AQID' } };
    const client = await connect([{ chunks: ['one ', 'two'] }, { parts: [image] }], isLegacy);
    const items: unknown[] = [];
    for await (const item of client.sendMessageStream(say([text('hi')]))) items.push(describeItem(item));
    expect(items).toEqual([
      'TASK_STATE_SUBMITTED',
      'TASK_STATE_WORKING',
      'one ',
      'two',
      'one two',
      'TASK_STATE_COMPLETED',
    ]);
    const file: Part = {
      content: { $case: 'raw', value: Buffer.from([1, 2, 3]) },
      metadata: undefined,
      filename: 'a.png',
      mediaType: 'image/png',
    };
    const data: Part = { ...text(''), content: { $case: 'data', value: { city: 'Bern' } } };
    const task = await client.sendMessage(say([file, data]));
    if (!('status' in task)) throw new Error('expected a task');
    expect(task.artifacts[0]?.parts[0]).toMatchObject({
      content: { $case: 'raw', value: Buffer.from([1, 2, 3]) },
      mediaType: 'image/png',
    });
    expect(task.history[0]?.parts).toMatchObject([
      { content: { $case: 'raw' }, filename: 'a.png' },
      { content: { $case: 'data', value: { city: 'Bern' } } },
    ]);
  });

  test('answers what the task asks for', async () => {
    const client = await connect([PAY, { text: 'Paid.' }], isLegacy);
    const asking = await client.sendMessage(say([text('pay')]));
    if (!('status' in asking)) throw new Error('expected a task');
    expect(asking.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    const items: unknown[] = [];
    for await (const item of client.sendMessageStream(say([text('yes')], asking.id, asking.contextId)))
      items.push(describeItem(item));
    expect(items.at(0)).toBe('TASK_STATE_WORKING');
    expect(items.slice(-2)).toEqual(['Paid.', 'TASK_STATE_COMPLETED']);
  });

  test('cancels a task and subscribes to it', async () => {
    const gate = new Gate();
    const client = await connect([{ gate, text: 'late' }], isLegacy);
    const stream = client.sendMessageStream(say([text('hi')]));
    const first = (await stream.next()).value?.payload;
    if (first?.$case !== 'task') throw new Error('expected a task');
    await gate.reached;
    const subscribed = client.resubscribeTask({ tenant: '', id: first.value.id });
    expect(describeItem((await subscribed.next()).value as StreamResponse)).toBe('TASK_STATE_WORKING');
    const cancelled = await client.cancelTask({ tenant: '', id: first.value.id, metadata: undefined });
    expect(cancelled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    const rest: unknown[] = [];
    for await (const item of subscribed) rest.push(describeItem(item));
    expect(rest.at(-1)).toBe('TASK_STATE_CANCELED');
    for await (const item of stream) rest.push(describeItem(item));
    expect(rest.at(-1)).toBe('TASK_STATE_CANCELED');
  });
});
