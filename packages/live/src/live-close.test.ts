import { type Event, type InvocationContext, LiveConnectionError, type LlmRequest } from '@eventloom/core';
import { Gate, ScriptedLiveModel, type ScriptedLiveScript } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { LOST } from './fixtures/live-messages.ts';
import { readAll } from './fixtures/live-turns.ts';
import { liveScenario } from './fixtures/live-scenario.ts';

function call(name: string) {
  return { content: { role: 'model', parts: [{ functionCall: { id: 'c1', name, args: {} } }] } };
}

test('closing the queue while the model connects ends the run without the connection', async () => {
  const gate = new Gate();
  const { queue, stream } = await liveScenario({ model: [{ gate }] });
  const reading = readAll(stream);
  await gate.reached;
  queue.close();
  expect(await reading).toEqual([]);
});

test('closing the queue during a reconnect delay ends the run, with and without a resumption handle', async () => {
  for (const runConfig of [{}, { sessionResumption: { handle: 'h' } }]) {
    const { model, queue, stream } = await liveScenario({ model: [LOST, LOST], runConfig });
    const reading = readAll(stream);
    // The clock does not advance, so the delay after the second loss does not end.
    while (model.attempts < 2) await Promise.resolve();
    queue.close();
    expect(await reading).toEqual([]);
  }
});

/** A model whose connections open when the gate opens, whatever the abort signal; counts how often each one is closed. */
class DeafModel extends ScriptedLiveModel {
  readonly gate = new Gate();
  readonly #closing = Promise.withResolvers<void>();
  closes = 0;
  readonly #failure: Error | undefined;

  constructor(scripts: readonly ScriptedLiveScript[], failure?: Error) {
    super(scripts);
    this.#failure = failure;
  }

  /** Settles when a connection is closed. */
  get closing(): Promise<void> {
    return this.#closing.promise;
  }

  override async connect(request: LlmRequest) {
    const connection = await super.connect(request);
    const end = connection.close.bind(connection);
    const close = async (): Promise<void> => {
      this.closes++;
      this.#closing.resolve();
      await end();
      if (this.#failure) throw this.#failure;
    };
    await this.gate.pass();
    return Object.assign(connection, { close });
  }
}

test('a connection that opens after its run ended is closed', async () => {
  const model = new DeafModel([[]]);
  const { queue, stream } = await liveScenario({ agent: { model } });
  const reading = readAll(stream);
  await model.gate.reached;
  queue.close();
  expect(await reading).toEqual([]);
  expect(model.closes).toBe(0);
  model.gate.open();
  await model.closing;
});

test('a connection whose close throws is closed once, and the error is reported', async () => {
  const model = new DeafModel([['hello', { turnComplete: true }]], LOST);
  const { queue, stream, clock } = await liveScenario({ agent: { model } });
  model.gate.open();
  for await (const { turnComplete } of stream) if (turnComplete) queue.close();
  expect(model.closes).toBe(1);
  await expect(clock.drain()).rejects.toThrow(LOST);
});

test('requests queued before the close are sent on the next connection', async () => {
  const gate = new Gate();
  const { model, queue, stream } = await liveScenario({ model: [{ gate }] });
  const reading = readAll(stream);
  await gate.reached;
  queue.sendContent({ role: 'user', parts: [{ text: 'bye' }] });
  queue.close();
  gate.open();
  expect((await reading).map(({ author }) => author)).toEqual(['user']);
  expect(model.connections[0]?.sent).toHaveLength(1);
});

test('closing the queue stops running tools and removes their input streams from the invocation', async () => {
  let context: InvocationContext | undefined;
  const listen = new FunctionTool({
    name: 'listen',
    description: '',
    inputStream: true,
    execute: async function* (_, { inputStream, invocationContext }) {
      context = invocationContext;
      expect(inputStream).toBeDefined();
      expect(invocationContext.invocation.live?.inputStream('c1')).toBe(inputStream);
      expect(invocationContext.invocation.live?.inputStream('c2')).toBeUndefined();
      yield 'begun';
      for await (const _request of inputStream ?? []) yield 'heard';
    },
  });
  const { queue, stream } = await liveScenario({ model: [[call('listen')]], agent: { tools: [listen] } });
  const events: Event[] = [];
  for await (const event of stream) {
    events.push(event);
    if (event.partial) queue.close();
  }
  expect(context?.invocation.live?.inputStream('c1')).toBeUndefined();
  expect(events.at(-1)?.errorCode).toBeUndefined();
});

test('content of the service with the role user becomes an event of the author user', async () => {
  const { queue, stream, stored } = await liveScenario({
    model: [
      [
        { content: { role: 'user', parts: [{ text: 'I ' }] } },
        { content: { role: 'user', parts: [{ text: 'said' }] } },
        { turnComplete: true },
      ],
    ],
  });
  for await (const event of stream) if (event.turnComplete) queue.close();
  expect((await stored()).map(({ author, content }) => [author, content?.parts?.[0]?.text])).toEqual([
    ['user', 'I said'],
    ['bot', undefined],
  ]);
});

test('the queue is closed when its run ends for any reason, so that no sender waits', async () => {
  const refused = new LiveConnectionError('no such model', { closeCode: 1008, isRetryable: false });
  const failed = await liveScenario({ model: [refused] });
  failed.queue.sendRealtime({ data: 'A'.repeat(3 * 1024 * 1024), mimeType: 'audio/pcm' });
  const ready = failed.queue.ready();
  await expect(readAll(failed.stream)).rejects.toBe(refused);
  await ready;
  expect(failed.queue.isClosed).toBe(true);

  const left = await liveScenario({ model: [['Hello']] });
  for await (const _ of left.stream) break;
  expect(left.queue.isClosed).toBe(true);
});

test('a queue whose run was refused can serve another run', async () => {
  const { queue, startLive } = await liveScenario({});
  await expect(readAll(startLive(queue, { runConfig: { maxLlmCalls: 0.5 } }))).rejects.toMatchObject({
    code: 'CONFIGURATION',
  });
  expect(queue.isClosed).toBe(false);
});
