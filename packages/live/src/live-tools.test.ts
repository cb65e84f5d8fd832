import { BaseToolset, type Event, getFunctionCalls, getFunctionResponses, toolResult } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { call, END, user } from './fixtures/live-messages.ts';
import { readTurns } from './fixtures/live-turns.ts';
import { summaryOf } from './fixtures/event-summary.ts';
import { liveScenario } from './fixtures/live-scenario.ts';

test('a tool runs while the model speaks, and its response is stored and sent', async () => {
  const gate = new Gate();
  const slow = new FunctionTool({
    name: 'slow',
    description: '',
    execute: async () => {
      await gate.pass();
      return { done: true };
    },
  });
  const { model, queue, stream, stored } = await liveScenario({
    model: [[{ heard: 'content' }, call('slow', 'c1'), 'Wait', { heard: 'toolResponses' }, ' over', END]],
    agent: { tools: [slow] },
  });
  queue.sendContent(user('go'));
  const events: Event[] = [];
  for await (const event of stream) {
    events.push(event);
    if (summaryOf(event) === 'bot~ Wait') gate.open();
    if (event.turnComplete) queue.close();
  }
  expect((await stored()).map(summaryOf)).toEqual([
    'user: go',
    'bot: slow()',
    'bot: slow={"done":true}',
    'bot: Wait over',
    'bot: end',
  ]);
  expect(model.connections[0]?.sent[1]).toEqual({
    toolResponses: [{ id: 'c1', name: 'slow', response: { done: true } }],
  });
  const calling = events.find((event) => getFunctionCalls(event).length > 0);
  expect(getFunctionCalls(calling as Event)[0]?.id).toBe('c1');
  expect(events.filter((event) => getFunctionResponses(event).length > 0)).toHaveLength(1);
});

test('media of a tool result is sent as content after the response if the model takes no media in responses', async () => {
  const png = { inlineData: { mimeType: 'image/png', data: 'aGk=' } };
  const shoot = new FunctionTool({
    name: 'shoot',
    description: '',
    execute: () => toolResult({ response: { page: 3 }, parts: [png] }),
  });
  const { model, queue, stream, stored } = await liveScenario({
    model: [
      [{ heard: 'content' }, call('shoot', 'c1'), { heard: 'toolResponses' }, { heard: 'content' }, 'I see.', END],
    ],
    agent: { tools: [shoot] },
  });
  queue.sendContent(user('go'));
  await readTurns(stream, queue);
  expect(model.connections[0]?.sent.slice(1)).toEqual([
    { toolResponses: [{ id: 'c1', name: 'shoot', response: { page: 3 } }] },
    { content: { role: 'user', parts: [png] } },
  ]);
  const responses = (await stored()).flatMap(getFunctionResponses);
  expect(responses).toEqual([{ id: 'c1', name: 'shoot', response: { page: 3 }, parts: [png] }]);
});

test('the reader of a live run gets an event for a toolset that is skipped', async () => {
  class Weather extends BaseToolset {
    constructor() {
      super([], undefined, { name: 'weather', onUnavailable: 'skip' });
    }

    override getTools(): Promise<never> {
      return Promise.reject(new Error('down'));
    }

    override async close(): Promise<void> {}
  }
  const { queue, stream } = await liveScenario({
    model: [[{ heard: 'content' }, 'hello', END]],
    agent: { tools: [new Weather()] },
  });
  queue.sendContent(user('go'));
  const events = await readTurns(stream, queue);
  expect(events[0]).toMatchObject({ author: 'bot', customMetadata: { unavailableToolsets: ['weather'] } });
});

test('a call that the model cancels is stopped; its response goes to later runs, not to this connection', async () => {
  const stopped = Promise.withResolvers<void>();
  const endless = new FunctionTool({
    name: 'endless',
    description: '',
    execute: (_, { invocationContext }) =>
      new Promise((_resolve, reject) => {
        invocationContext.abortSignal.addEventListener('abort', () => {
          stopped.resolve();
          reject(new Error('stopped'));
        });
      }),
  });
  const { model, queue, stream, stored } = await liveScenario({
    model: [
      [
        { heard: 'content' },
        call('endless', 'c1'),
        { toolCallCancellation: { ids: ['c1'] } },
        async () => {
          await stopped.promise;
          return ['Well', END];
        },
      ],
    ],
    agent: { tools: [endless] },
  });
  queue.sendContent(user('go'));
  await readTurns(stream, queue);
  expect((await stored()).map(summaryOf)).toEqual([
    'user: go',
    'bot: endless()',
    expect.stringMatching(/^bot: endless=.*cancelled/),
    'bot: Well',
    'bot: end',
  ]);
  expect(model.connections[0]?.sent).toHaveLength(1);
});

test('a long-running call that the model cancels while it waits gets a response', async () => {
  const job = new LongRunningFunctionTool({ name: 'job', description: '', execute: () => undefined });
  const { queue, stream, stored } = await liveScenario({
    model: [
      [
        { heard: 'content' },
        call('job', 'c1'),
        'Begun',
        END,
        { heard: /stop/ },
        { toolCallCancellation: { ids: ['c1'] } },
        'Well',
        END,
      ],
    ],
    agent: { tools: [job] },
  });
  queue.sendContent(user('go'));
  let turns = 0;
  for await (const event of stream) {
    if (event.turnComplete && ++turns === 1) queue.sendContent(user('stop'));
    if (turns === 2) queue.close();
  }
  const summaries = (await stored()).map(summaryOf);
  expect(summaries).toContainEqual(expect.stringMatching(/^bot: job=.*cancelled/));
});

test('the result of a call that the model cancelled is stored and not sent', async () => {
  const job = new LongRunningFunctionTool({ name: 'job', description: '', execute: () => undefined });
  const { model, queue, stream, stored } = await liveScenario({
    model: [
      [
        { heard: 'content' },
        call('job', 'c1'),
        { toolCallCancellation: { ids: ['c1'] } },
        'Stopped',
        END,
        { heard: /more/ },
        'Well',
        END,
      ],
    ],
    agent: { tools: [job] },
  });
  queue.sendContent(user('go'));
  let turns = 0;
  for await (const event of stream) {
    if (event.turnComplete && ++turns === 1) {
      queue.sendToolResponse({ id: 'c1', name: 'job', response: { done: true } });
      queue.sendContent(user('more'));
    }
    if (turns === 2) queue.close();
  }
  expect((await stored()).map(summaryOf)).toContain('user: job={"done":true}');
  expect(model.connections[0]?.sent).toEqual([{ content: user('go') }, { content: user('more') }]);
});

test('a tool with an input stream reads client media, sends chunks to the model, and is stopped by the model', async () => {
  const ended = Promise.withResolvers<string[]>();
  const watch = new FunctionTool({
    name: 'watch',
    description: '',
    inputStream: true,
    execute: async function* (_, { inputStream }) {
      const seen: string[] = [];
      try {
        for await (const request of inputStream ?? []) {
          const data = 'blob' in request ? (request.blob.data ?? '') : '';
          seen.push(data);
          yield `saw ${data}`;
        }
      } finally {
        ended.resolve(seen);
      }
    },
  });
  const { model, queue, stream, stored } = await liveScenario({
    model: [
      [
        { heard: 'content' },
        call('watch', 'c1'),
        { heard: /saw BB==/ },
        call('stop_streaming', 'c2', { function_name: 'watch' }),
        { heard: /stopped watch/ },
        END,
      ],
    ],
    agent: { tools: [watch] },
  });
  queue.sendRealtime({ data: 'before', mimeType: 'video/jpeg' });
  queue.sendContent(user('watch'));
  for await (const event of stream) {
    if (
      event.content?.parts?.[0]?.functionResponse?.response?.['status'] &&
      getFunctionResponses(event)[0]?.id === 'c1'
    )
      for (const data of ['AA==', 'BB==']) queue.sendRealtime({ data, mimeType: 'video/jpeg' });
    if (event.turnComplete) queue.close();
  }
  expect(await ended.promise).toEqual(['AA==', 'BB==']);
  expect((await stored()).map(summaryOf)).toEqual([
    'user: watch',
    'bot: watch()',
    'bot: watch={"status":"running; its results follow as they come"}',
    'bot: stop_streaming()',
    'bot: stop_streaming={"status":"stopped watch"}',
    'bot: end',
  ]);
  expect(model.connections[0]?.sent.filter((sent) => 'blob' in sent)).toHaveLength(3);
  model.assertConsumed();
});

test('a call that needs confirmation runs once confirmed, and the model gets a response before and after', async () => {
  const runs: unknown[] = [];
  const pay = new FunctionTool({
    name: 'pay',
    description: '',
    requireConfirmation: true,
    execute: (args) => {
      runs.push(args);
      return { paid: true };
    },
  });
  const { model, queue, stream, stored } = await liveScenario({
    model: [
      [
        { heard: 'content' },
        call('pay', 'c1'),
        { heard: /requires confirmation/ },
        'Please approve',
        { generationComplete: true },
        { heard: /paid/ },
        END,
      ],
    ],
    agent: { tools: [pay] },
  });
  queue.sendContent(user('pay'));
  for await (const event of stream) {
    const [asked] = getFunctionCalls(event);
    if (asked?.name === 'adk_request_confirmation') {
      const functionResponse = { id: asked.id ?? '', name: asked.name, response: { confirmed: true } };
      queue.sendContent({ role: 'user', parts: [{ functionResponse }] });
    }
    if (event.turnComplete) queue.close();
  }
  expect(runs).toEqual([{}]);
  expect(model.connections[0]?.sent.slice(1)).toEqual([
    {
      toolResponses: [
        { id: 'c1', name: 'pay', response: { error: expect.stringContaining('confirmation') as string } },
      ],
    },
    { content: user('Function pay, called earlier with {}, returned: {"paid":true}') },
  ]);
  expect((await stored()).filter((event) => getFunctionResponses(event).length > 0)).toHaveLength(3);
  model.assertConsumed();
});

test.each(['the call', 'the request for its confirmation'])(
  'a call that waits for a confirmation has not begun if the client closes its queue at %s',
  async (at) => {
    const pay = new FunctionTool({
      name: 'pay',
      description: '',
      requireConfirmation: true,
      execute: () => expect.unreachable(),
    });
    const { queue, stream, stored } = await liveScenario({
      model: [[{ heard: 'content' }, call('pay', 'c1'), END]],
      agent: { tools: [pay] },
    });
    queue.sendContent(user('pay'));
    const closesAt = at === 'the call' ? 'pay' : 'adk_request_confirmation';
    for await (const event of stream) if (getFunctionCalls(event)[0]?.name === closesAt) queue.close();
    const events = await stored();
    expect(events.flatMap(getFunctionResponses)).toEqual([
      { id: 'c1', name: 'pay', response: { error: expect.stringContaining('requires confirmation') as string } },
    ]);
  },
);

test('a second answer to a request is refused while the tool runs with the first one', async () => {
  const gate = new Gate();
  let runs = 0;
  const pay = new FunctionTool({
    name: 'pay',
    description: '',
    requireConfirmation: true,
    execute: async () => {
      runs++;
      await gate.pass();
      return { paid: true };
    },
  });
  const { model, queue, stream, stored } = await liveScenario({
    model: [[{ heard: 'content' }, call('pay', 'c1'), { heard: /requires confirmation/ }, { heard: /paid/ }, END]],
    agent: { tools: [pay] },
  });
  queue.sendContent(user('pay'));
  const errors: unknown[] = [];
  for await (const event of stream) {
    const [asked] = getFunctionCalls(event);
    if (asked?.name === 'adk_request_confirmation') {
      const response = { id: asked.id ?? '', name: asked.name, response: { confirmed: true } };
      queue.sendToolResponse(response);
      queue.sendToolResponse(response);
    }
    if (event.errorCode !== undefined) {
      errors.push([event.errorCode, event.errorMessage]);
      gate.open();
    }
    if (event.turnComplete) queue.close();
  }
  expect(errors).toEqual([['INVALID_MESSAGE', expect.stringContaining('has already been answered')]]);
  expect(runs).toBe(1);
  expect((await stored()).map(summaryOf).filter((line) => line.includes('paid'))).toEqual(['bot: pay={"paid":true}']);
  model.assertConsumed();
});

test('a result of a long-running call arrives by the queue, and a response to an unknown call is an error event that is not stored', async () => {
  const order = new LongRunningFunctionTool({ name: 'order', description: '', execute: () => undefined });
  const { model, queue, stream, stored } = await liveScenario({
    model: [[{ heard: 'content' }, call('order', 'c1'), { heard: /delivered/ }, END]],
    agent: { tools: [order] },
  });
  queue.sendContent(user('order'));
  const errorCodes: unknown[] = [];
  for await (const event of stream) {
    if (event.errorCode !== undefined) errorCodes.push(event.errorCode);
    if (event.longRunningToolIds) {
      queue.sendToolResponse({ id: 'unknown', name: 'order', response: {} });
      queue.sendToolResponse({ id: 'c1', name: 'order', response: { state: 'delivered' } });
    }
    if (event.turnComplete) queue.close();
  }
  expect(errorCodes).toEqual(['INVALID_MESSAGE']);
  expect((await stored()).map(summaryOf)).toEqual([
    'user: order',
    'bot: order()',
    'user: order={"state":"delivered"}',
    'bot: end',
  ]);
  expect(model.connections[0]?.sent).toHaveLength(2);
});

test('the answer to a question that the model asked with a tool adk_request_input is sent to the model', async () => {
  const ask = new LongRunningFunctionTool({ name: 'adk_request_input', description: '', execute: () => undefined });
  const { model, queue, stream } = await liveScenario({
    model: [[{ heard: 'content' }, call('adk_request_input', 'c1'), { heard: 'toolResponses' }, END]],
    agent: { tools: [ask] },
  });
  queue.sendContent(user('order'));
  const answer = { id: 'c1', name: 'adk_request_input', response: { result: 'blue' } };
  for await (const event of stream) {
    if (event.longRunningToolIds) queue.sendToolResponse(answer);
    if (event.turnComplete) queue.close();
  }
  expect(model.connections[0]?.sent[1]).toEqual({ toolResponses: [answer] });
});

test('a tool that ends the invocation ends the run, and its connection, without an error', async () => {
  const stop = new FunctionTool({
    name: 'stop',
    description: '',
    execute: (_, { invocationContext }) => {
      invocationContext.endInvocation = true;
      return 'stopped';
    },
  });
  const { model, queue, stream, stored } = await liveScenario({
    model: [[{ heard: 'content' }, call('stop', 'c1'), 'never']],
    agent: { tools: [stop] },
  });
  queue.sendContent(user('go'));
  for await (const _ of stream);
  expect((await stored()).map(summaryOf).slice(0, 2)).toEqual(['user: go', 'bot: stop()']);
  expect((await stored()).at(-1)?.errorCode).toBeUndefined();
  await model.connections[0]?.ended;
});

test('arguments that are nested too deep are answered to the model, and the run continues', async () => {
  let args: unknown = 1;
  for (let level = 0; level < 3000; level++) args = [args];
  const f = new FunctionTool({ name: 'f', description: '', execute: () => ({ ran: true }) });
  const { model, queue, stream, stored } = await liveScenario({
    model: [[{ heard: 'content' }, call('f', 'c1', { args }), { heard: 'toolResponses' }, 'Less then', END]],
    agent: { tools: [f] },
  });
  queue.sendContent(user('go'));
  await readTurns(stream, queue);
  expect((await stored()).map(summaryOf).at(-2)).toBe('bot: Less then');
  expect(model.connections[0]?.sent[1]).toMatchObject({
    toolResponses: [
      { id: 'c1', response: { error: expect.stringContaining('f was not called: the arguments were nested') } },
    ],
  });
});
