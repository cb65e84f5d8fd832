import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { AgentCard, type Artifact, type Message, type Part, Role, TaskState, type TaskStatus } from '@a2a-js/sdk';
import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  type RequestContext,
  ServerCallContext,
} from '@a2a-js/sdk/server';
import type { Event } from '@eventloom/core';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { describe, expect, onTestFinished, test } from 'vitest';
import { hurried } from './fixtures/hurried.ts';
import { RemoteA2AAgent } from './index.ts';

const textPart = (value: string): Part => ({
  content: { $case: 'text', value },
  metadata: undefined,
  filename: '',
  mediaType: '',
});
const textOf = (parts: readonly Part[]): string =>
  parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');

/** Streams its answer in two pieces; asks before it books; fails on request. */
class Clerk implements AgentExecutor {
  async execute({ taskId, contextId, userMessage, task }: RequestContext, bus: ExecutionEventBus): Promise<void> {
    const said = textOf(userMessage.parts);
    const message = (value: string): Message => ({
      messageId: `${taskId} ${value}`,
      role: Role.ROLE_AGENT,
      parts: [textPart(value)],
      contextId,
      taskId,
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    });
    const status = (state: TaskState, words?: string): TaskStatus => ({
      state,
      message: words === undefined ? undefined : message(words),
      timestamp: '2026-11-24T00:00:00Z',
    });
    const update = (state: TaskState, words?: string): void =>
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: status(state, words), metadata: undefined }));
    const piece = (value: string, append: boolean): void => {
      const artifact: Artifact = {
        artifactId: 'answer',
        name: '',
        description: '',
        parts: [textPart(value)],
        metadata: undefined,
        extensions: [],
      };
      bus.publish(
        AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk: append, metadata: undefined }),
      );
    };
    const begun = { id: taskId, contextId, status: status(TaskState.TASK_STATE_SUBMITTED), history: [userMessage] };
    // A stream begins with its task, which still has its old status if it is continued.
    bus.publish(AgentEvent.task(task ?? { ...begun, artifacts: [], metadata: undefined }));
    update(TaskState.TASK_STATE_WORKING);
    if (said === 'book') update(TaskState.TASK_STATE_INPUT_REQUIRED, 'Which day?');
    else if (said === 'fail') update(TaskState.TASK_STATE_FAILED, 'no rooms');
    else {
      piece('You said ', false);
      piece(said, true);
      update(TaskState.TASK_STATE_COMPLETED);
    }
    // A task that waits keeps its bus.
    if (said !== 'book') bus.finished();
  }

  cancelTask(): Promise<void> {
    return Promise.resolve();
  }
}

/** Serves the official request handler on a port, and returns the card. */
async function serveOfficial(isLegacy: boolean): Promise<AgentCard> {
  const answerTo = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = JSON.parse(await readText(request)) as Record<string, unknown>;
    const context = new ServerCallContext({ requestedVersion: isLegacy ? '0.3' : '1.0' });
    const answer = await rpc.handle(body, context);
    if (!(Symbol.asyncIterator in answer)) {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(answer));
      return;
    }
    response.setHeader('content-type', 'text/event-stream');
    let left = JSON.stringify(body).includes('"drop"') ? 3 : Infinity;
    try {
      for await (const item of answer) {
        if (left-- > 0) response.write(`data: ${JSON.stringify(item)}\n\n`);
        // The stream ends after the first piece of the answer; the task continues.
        else response.end();
      }
    } catch (error) {
      // As the official server writes it.
      const refusal = { jsonrpc: '2.0', id: body['id'], error: { code: -32004, message: String(error) } };
      response.write(`event: error\ndata: ${JSON.stringify(refusal)}\n\n`);
    }
    response.end();
  };
  const http = createServer((request, response) => void answerTo(request, response));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/`;
  const card = AgentCard.fromJSON({
    name: 'clerk',
    description: 'Books rooms.',
    version: '1',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: isLegacy ? '0.3' : '1.0' }],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  });
  const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Clerk());
  const rpc = isLegacy ? new LegacyJsonRpcTransportHandler(handler) : new JsonRpcTransportHandler(handler);
  return card;
}

const textsOf = (events: readonly Event[]): string[] =>
  events.map(
    ({ partial, content }) => (partial === true ? '~' : '') + (content?.parts?.map(({ text }) => text).join('|') ?? ''),
  );

describe.each([
  ['1.0', false],
  ['0.3', true],
])('the official server of A2A %s', (_, isLegacy) => {
  async function setUp() {
    const card = await serveOfficial(isLegacy);
    const agent = new RemoteA2AAgent({ name: 'remote', agentCard: AgentCard.toJSON(card) as never });
    const runner = new Runner({
      appName: 'local',
      agent,
      sessionService: new InMemorySessionService(),
      autoCreateSession: true,
      platform: hurried(),
    });
    return async (parts: object[]): Promise<Event[]> => {
      const events: Event[] = [];
      for await (const event of runner.runAsync({
        userId: 'ann',
        sessionId: 's',
        newMessage: { parts },
        runConfig: { streamingMode: 'sse' },
      }))
        events.push(event);
      return events;
    };
  }

  test('streams its answer to a remote agent, in one context', async () => {
    const run = await setUp();
    const [first, second] = [await run([{ text: 'one' }]), await run([{ text: 'two' }])];
    expect(textsOf(first)).toEqual(['~You said ', '~one', 'You said one']);
    expect(textsOf(second)).toEqual(['~You said ', '~two', 'You said two']);
    const contexts = [...first, ...second].map(({ customMetadata }) => customMetadata?.['a2a:context_id']);
    expect(new Set(contexts).size).toBe(1);
  });

  test('gets a request for the rest of an answer whose stream ended early', async () => {
    const run = await setUp();
    expect(textsOf(await run([{ text: 'drop' }]))).toEqual(['~You said ', 'You said drop']);
  });

  test('asks a question that the user answers', async () => {
    const run = await setUp();
    const asking = await run([{ text: 'book' }]);
    const call = asking.at(-1)?.content?.parts?.[0]?.functionCall;
    expect(call?.args).toMatchObject({ message: 'Which day?' });
    const answer = await run([
      { functionResponse: { id: call?.id, name: call?.name, response: { result: 'Monday' } } },
    ]);
    expect(textsOf(answer).at(-1)).toBe('You said Monday');
  });

  test('fails a task, which fails the run', async () => {
    const run = await setUp();
    await expect(run([{ text: 'fail' }])).rejects.toMatchObject({
      code: 'A2A_TASK',
      message: expect.stringContaining('no rooms'),
    });
  });
});
