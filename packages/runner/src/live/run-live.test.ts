import { type Event, getFunctionCalls, getFunctionResponses, type RunConfig } from '@eventloom/core';
import { type BaseAgent } from '@eventloom/core';
import { LiveRequestQueue, LlmAgent, type LlmAgentConfig } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, ScriptedLiveModel, type ScriptedLiveScript } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { Runner } from '../runner.ts';

const KEY = { userId: 'u', sessionId: 's' };
const END = { turnComplete: true };

interface Setup {
  readonly agent?: Partial<LlmAgentConfig>;
  readonly runConfig?: RunConfig;
}

async function setup(scripts: readonly ScriptedLiveScript[], { agent, runConfig }: Setup = {}) {
  const model = new ScriptedLiveModel(scripts);
  return { model, ...(await serve(new LlmAgent({ name: 'bot', model, ...agent }), runConfig)) };
}

async function serve(agent: BaseAgent, runConfig?: RunConfig) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession({ appName: 'app', ...KEY });
  const runner = new Runner({ appName: 'app', agent, sessionService, platform });
  const queue = new LiveRequestQueue();
  const abort = new AbortController();
  const stream = runner.runLive({ ...KEY, liveRequestQueue: queue, runConfig, abortSignal: abort.signal });
  const stored = async (): Promise<readonly Event[]> =>
    (await sessionService.getSession({ appName: 'app', ...KEY }))?.events ?? [];
  return { platform, runner, queue, abort, stream, stored };
}

function user(text: string) {
  return { role: 'user', parts: [{ text }] };
}

function audio(data: string) {
  return { content: { role: 'model', parts: [{ inlineData: { data, mimeType: 'audio/pcm;rate=24000' } }] } };
}

function call(name: string, id: string, args = {}) {
  return { content: { role: 'model', parts: [{ functionCall: { id, name, args } }] } };
}

/** What an event tells, in short. */
function told(event: Event): string {
  const { author, content, partial, inputTranscription, outputTranscription, interrupted, turnComplete } = event;
  const parts = (content?.parts ?? []).map((part) => {
    if (part.functionCall) return `${part.functionCall.name}()`;
    if (part.functionResponse) return `${part.functionResponse.name}=${JSON.stringify(part.functionResponse.response)}`;
    return part.inlineData ? `<${part.inlineData.data}>` : part.text;
  });
  const words = [
    ...parts,
    inputTranscription && `hears ${inputTranscription.text}`,
    outputTranscription && `speaks ${outputTranscription.text}`,
    event.usageMetadata && 'usage',
    event.errorCode,
    interrupted && 'interrupted',
    turnComplete && 'end',
  ].filter((word) => word !== undefined && word !== false);
  return `${author}${partial ? '~' : ':'} ${words.join(' ')}`;
}

/** Reads to the end; closes the queue when a turn is complete for so many times. */
async function readTurns(stream: AsyncIterable<Event>, queue: LiveRequestQueue, turns = 1): Promise<Event[]> {
  const events: Event[] = [];
  let left = turns;
  for await (const event of stream) {
    events.push(event);
    if (event.turnComplete && --left === 0) queue.close();
  }
  return events;
}

test('a text turn: what the user typed, each piece, the merged text, and the end of the turn by itself', async () => {
  const { model, queue, stream, stored } = await setup([[{ heard: 'content' }, 'Hel', 'lo', END]], {
    runConfig: { responseModalities: ['TEXT'] },
  });
  queue.sendContent(user('hi'));
  const events = await readTurns(stream, queue);
  expect(events.map(told)).toEqual(['user: hi', 'bot~ Hel', 'bot~ lo', 'bot: Hello', 'bot: end']);
  expect((await stored()).map(told)).toEqual(['user: hi', 'bot: Hello', 'bot: end']);
  expect(new Set(events.map(({ invocationId }) => invocationId))).toEqual(new Set([stream.invocationId]));
  expect(new Set(events.slice(1, 4).map(({ responseId }) => responseId)).size).toBe(1);
  expect(model.connections[0]?.sent).toEqual([{ content: user('hi') }]);
  expect(model.connections[0]?.request.config.responseModalities).toEqual(['TEXT']);
  expect(model.connections[0]?.isClosed).toBe(true);
  model.assertConsumed();
});

test('an audio turn: audio and pieces of speech are streamed, the words of both sides are stored', async () => {
  const { model, queue, stream, stored } = await setup([
    [
      { heard: 'blob' },
      { inputTranscription: { text: 'Good ' } },
      { inputTranscription: { text: 'day' } },
      { ...audio('AAAA'), outputTranscription: { text: 'And ' } },
      { ...audio('BBBB'), outputTranscription: { text: 'you' } },
      { generationComplete: true },
      { usageMetadata: { totalTokenCount: 3 } },
      END,
    ],
  ]);
  queue.sendRealtime({ data: 'CCCC', mimeType: 'audio/pcm;rate=16000' });
  const events = await readTurns(stream, queue);
  expect(events.map(told)).toEqual([
    'user~ hears Good ',
    'user~ hears day',
    'bot: <AAAA>',
    'bot~ speaks And ',
    'bot: <BBBB>',
    'bot~ speaks you',
    'user: hears Good day',
    'bot: usage',
    'bot: speaks And you',
    'bot: end',
  ]);
  expect((await stored()).map(told)).toEqual(['user: hears Good day', 'bot: usage', 'bot: speaks And you', 'bot: end']);
  expect(model.connections[0]?.request.config.responseModalities).toEqual(['AUDIO']);
});

test('text that the user cut off is stored as far as it was said, and marked', async () => {
  const { queue, stream, stored } = await setup([
    [{ heard: 'content' }, 'One, two', { interrupted: true }, 'Yes?', { interrupted: true, turnComplete: true }],
  ]);
  queue.sendContent(user('count'));
  await readTurns(stream, queue);
  expect((await stored()).map(told)).toEqual([
    'user: count',
    'bot: One, two interrupted',
    'bot: interrupted',
    'bot: Yes? interrupted',
    'bot: interrupted end',
  ]);
});

test('a tool runs while the model speaks on, and its response is stored and sent', async () => {
  const gate = new Gate();
  const slow = new FunctionTool({
    name: 'slow',
    description: '',
    execute: async () => {
      await gate.pass();
      return { done: true };
    },
  });
  const { model, queue, stream, stored } = await setup(
    [[{ heard: 'content' }, call('slow', 'c1'), 'Wait', { heard: 'toolResponses' }, ' over', END]],
    { agent: { tools: [slow] } },
  );
  queue.sendContent(user('go'));
  const events: Event[] = [];
  for await (const event of stream) {
    events.push(event);
    if (told(event) === 'bot~ Wait') gate.open();
    if (event.turnComplete) queue.close();
  }
  expect((await stored()).map(told)).toEqual([
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

test('a call that the model takes back is stopped, and nobody is told of it', async () => {
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
  const { model, queue, stream, stored } = await setup(
    [
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
    { agent: { tools: [endless] } },
  );
  queue.sendContent(user('go'));
  await readTurns(stream, queue);
  expect((await stored()).map(told)).toEqual(['user: go', 'bot: endless()', 'bot: Well', 'bot: end']);
  expect(model.connections[0]?.sent).toHaveLength(1);
});

test('closing the queue sends what is in it, flushes what was said, and ends the run', async () => {
  const { model, queue, stream, stored } = await setup([[{ heard: 'content' }, 'Half of']]);
  queue.sendContent(user('hi'));
  const events: Event[] = [];
  for await (const event of stream) {
    events.push(event);
    if (event.partial) queue.close();
  }
  expect(events.map(told)).toEqual(['user: hi', 'bot~ Half of', 'bot: Half of']);
  expect((await stored()).map(told)).toEqual(['user: hi', 'bot: Half of']);
  expect(model.connections[0]?.isClosed).toBe(true);
});

test('an abort ends the run with RunAbortedError, and its connection', async () => {
  const { model, abort, stream } = await setup([[new Gate()]]);
  const reading = readTurns(stream, new LiveRequestQueue());
  const connection = await model.connection(0);
  abort.abort();
  await expect(reading).rejects.toMatchObject({ code: 'RUN_ABORTED' });
  await connection.over;
});

test('whoever stops reading ends the run and its connection', async () => {
  const { model, queue, stream } = await setup([[{ heard: 'content' }, 'a', 'b']]);
  queue.sendContent(user('hi'));
  for await (const event of stream) if (event.partial) break;
  await model.connections[0]?.over;
});

test('an error of the model is an event, and the run goes on', async () => {
  const { queue, stream } = await setup([
    [{ heard: 'content' }, { errorCode: 'UNAVAILABLE', errorMessage: 'busy' }, 'Here', END],
  ]);
  queue.sendContent(user('hi'));
  const events = await readTurns(stream, queue);
  expect(events.map(told)).toEqual(['user: hi', 'bot: UNAVAILABLE', 'bot~ Here', 'bot: Here', 'bot: end']);
});

test('a tool with an input stream hears the client, tells the model what it finds, and is stopped by the model', async () => {
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
  const { model, queue, stream, stored } = await setup(
    [
      [
        { heard: 'content' },
        call('watch', 'c1'),
        { heard: /saw BB==/ },
        call('stop_streaming', 'c2', { function_name: 'watch' }),
        { heard: /stopped watch/ },
        END,
      ],
    ],
    { agent: { tools: [watch] } },
  );
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
  expect((await stored()).map(told)).toEqual([
    'user: watch',
    'bot: watch()',
    'bot: watch={"status":"under way; what it finds is told as it comes"}',
    'bot: stop_streaming()',
    'bot: stop_streaming={"status":"stopped watch"}',
    'bot: end',
  ]);
  expect(model.connections[0]?.sent.filter((sent) => 'blob' in sent)).toHaveLength(3);
  model.assertConsumed();
});

test('a call that a person has to confirm is run when they did, and the model is told both times', async () => {
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
  const { model, queue, stream, stored } = await setup(
    [
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
    { agent: { tools: [pay] } },
  );
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

test('the result of a long-running call comes by the queue, and what cannot be taken is told', async () => {
  const order = new LongRunningFunctionTool({ name: 'order', description: '', execute: () => undefined });
  const { model, queue, stream, stored } = await setup(
    [[{ heard: 'content' }, call('order', 'c1'), { heard: /delivered/ }, END]],
    { agent: { tools: [order] } },
  );
  queue.sendContent(user('order'));
  for await (const event of stream) {
    if (event.longRunningToolIds) {
      queue.sendToolResponse({ id: 'unknown', name: 'order', response: {} });
      queue.sendToolResponse({ id: 'c1', name: 'order', response: { state: 'delivered' } });
    }
    if (event.turnComplete) queue.close();
  }
  expect((await stored()).map(told)).toEqual([
    'user: order',
    'bot: order()',
    'bot: INVALID_MESSAGE',
    'user: order={"state":"delivered"}',
    'bot: end',
  ]);
  expect(model.connections[0]?.sent).toHaveLength(2);
});

test('a tool that ends the invocation ends the run, and its connection, without an error', async () => {
  const stop = new FunctionTool({
    name: 'stop',
    description: '',
    execute: (_, { invocationContext }) => {
      invocationContext.endInvocation();
      return 'stopped';
    },
  });
  const { model, queue, stream, stored } = await setup([[{ heard: 'content' }, call('stop', 'c1'), 'never']], {
    agent: { tools: [stop] },
  });
  queue.sendContent(user('go'));
  for await (const _ of stream);
  expect((await stored()).map(told).slice(0, 2)).toEqual(['user: go', 'bot: stop()']);
  expect((await stored()).at(-1)?.errorCode).toBeUndefined();
  await model.connections[0]?.over;
});

test('an abort ends the run while it connects, and while a tool runs that does not listen', async () => {
  const gate = new Gate();
  const connecting = await setup([{ gate }]);
  const first = readTurns(connecting.stream, connecting.queue);
  await gate.reached;
  connecting.abort.abort();
  await expect(first).rejects.toMatchObject({ code: 'RUN_ABORTED' });

  const reached = new Gate();
  const deaf = new FunctionTool({ name: 'deaf', description: '', execute: () => reached.pass() });
  const calling = await setup([[{ heard: 'content' }, call('deaf', 'c1')]], { agent: { tools: [deaf] } });
  calling.queue.sendContent(user('go'));
  const second = readTurns(calling.stream, calling.queue);
  await reached.reached;
  calling.abort.abort();
  await expect(second).rejects.toMatchObject({ code: 'RUN_ABORTED' });
  expect((await calling.stored()).map(told)).toEqual(['user: go', 'bot: deaf()']);
});

test('a run that loses its session to another one ends with StaleWriterError', async () => {
  const { runner, queue, stream, model } = await setup([[{ heard: 'content' }, 'a'], []]);
  queue.sendContent(user('hi'));
  const reading = readTurns(stream, queue);
  await (await model.connection(0)).heard('content');
  const other = new LiveRequestQueue();
  const next = readTurns(
    runner.runLive({ ...KEY, liveRequestQueue: other, runConfig: { onBusy: 'interrupt' } }),
    other,
  );
  await expect(reading).rejects.toMatchObject({ code: 'STALE_WRITER' });
  await model.connection(1);
  other.close();
  expect(await next).toEqual([]);
});

test('what was said so far is stored before another run takes the session over', async () => {
  const spoken = [{ inputTranscription: { text: 'I live at ' } }, { outputTranscription: { text: 'Noted, ' } }];
  const { runner, queue, stream, stored } = await setup([[{ heard: 'content' }, call('slow', 'c1'), ...spoken], []], {
    agent: { tools: [new FunctionTool({ name: 'slow', description: '', execute: () => new Promise(() => {}) })] },
  });
  queue.sendContent(user('hi'));
  const other = new LiveRequestQueue();
  other.close();
  let next: Promise<Event[]> | undefined;
  const reading = (async () => {
    for await (const event of stream) {
      if (!event.outputTranscription?.text || next) continue;
      const runConfig = { onBusy: 'interrupt' } as const;
      next = readTurns(runner.runLive({ ...KEY, liveRequestQueue: other, runConfig }), other);
    }
  })();
  await expect(reading).rejects.toMatchObject({ code: 'STALE_WRITER' });
  expect(await next).toEqual([]);
  expect((await stored()).map((event) => told(event).replace(/,"message.*/, ''))).toEqual([
    'user: hi',
    'bot: slow()',
    'bot: slow={"error":"interrupted"',
    'user: hears I live at ',
    'bot: speaks Noted,  interrupted',
  ]);
});

test('what was said so far is stored before a rewind takes the session over', async () => {
  const spoken = [{ inputTranscription: { text: 'I live at ' } }, { outputTranscription: { text: 'Noted, ' } }];
  const { runner, queue, stream, stored } = await setup([[{ heard: 'content' }, ...spoken]], {});
  queue.sendContent(user('hi'));
  let rewound: Promise<Event> | undefined;
  const reading = (async () => {
    for await (const { invocationId, outputTranscription } of stream) {
      if (!outputTranscription?.text) continue;
      rewound ??= runner.rewindAsync({ ...KEY, rewindBeforeInvocationId: invocationId, onBusy: 'interrupt' });
    }
  })();
  await expect(reading).rejects.toMatchObject({ code: 'STALE_WRITER' });
  expect((await rewound)?.actions.rewindBeforeInvocationId).toBe(stream.invocationId);
  expect((await stored()).map(told).slice(0, 3)).toEqual([
    'user: hi',
    'user: hears I live at ',
    'bot: speaks Noted,  interrupted',
  ]);
});

test('a run that stores nothing any more is taken over after a while', async () => {
  const { platform, runner, queue, stream } = await setup([['Hello'], []]);
  await stream.next();
  const other = new LiveRequestQueue();
  other.close();
  const runConfig = { onBusy: 'interrupt' } as const;
  const next = readTurns(runner.runLive({ ...KEY, liveRequestQueue: other, runConfig }), other);
  // Nobody reads the run that is to make way.
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
  platform.advance(2000);
  expect(await next).toEqual([]);
  await expect(readTurns(stream, queue)).rejects.toMatchObject({ code: 'STALE_WRITER' });
});

test('a queue serves one run, and a live run is not one that can be resumed', async () => {
  const { runner, queue, stream } = await setup([[]]);
  queue.close();
  await readTurns(stream, queue);
  await expect(runner.runLive({ ...KEY, liveRequestQueue: queue }).next()).rejects.toMatchObject({
    code: 'CONFIGURATION',
  });
  const runConfig = { resumable: true };
  await expect(
    runner.runLive({ ...KEY, liveRequestQueue: new LiveRequestQueue(), runConfig }).next(),
  ).rejects.toMatchObject({ code: 'CONFIGURATION' });
});
