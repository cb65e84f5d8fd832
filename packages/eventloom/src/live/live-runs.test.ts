import type { FakeLiveScript, LiveClosing, LiveWireMessage } from '@eventloom/testing/fake-gemini';
import { afterEach, expect, inject, test } from 'vitest';
import {
  type BaseAgent,
  type Event,
  FunctionTool,
  Gemini,
  InMemorySessionService,
  LiveRequestQueue,
  LlmAgent,
  type LlmAgentConfig,
  type Platform,
  type RunConfig,
  Runner,
  systemPlatform,
} from '../index.ts';

// The server runs in node, and is reached over the network: see tests/runtimes/gemini.
declare module 'vitest' {
  interface ProvidedContext {
    readonly fakeGemini: string;
  }
}

interface Connection {
  readonly setup: LiveWireMessage & { readonly tools?: object[]; readonly sessionResumption?: object };
  readonly received: readonly LiveWireMessage[];
  readonly closed: LiveClosing;
}

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const END = { serverContent: { turnComplete: true } };
const RESUMED: RunConfig = { sessionResumption: {} };
const CUT = { cut: true } as const;

let url: string | undefined;
afterEach(async () => {
  if (url !== undefined) await stop();
});

/** Starts a server that plays these scripts, one a connection. */
async function start(...scripts: FakeLiveScript[]): Promise<string> {
  const response = await fetch(inject('fakeGemini'), { method: 'POST', body: JSON.stringify(scripts) });
  ({ url } = (await response.json()) as { url: string });
  return url;
}

/** What the server has seen. */
async function stop(): Promise<readonly Connection[]> {
  const response = await fetch(`${inject('fakeGemini')}?url=${url}`, { method: 'DELETE' });
  url = undefined;
  const { fault, connections = [] } = (await response.json()) as { fault?: string; connections?: Connection[] };
  expect(fault).toBeUndefined();
  return connections;
}

function gemini(baseUrl: string, model = 'gemini-2.5-flash-live', vertexai = false): Gemini {
  return new Gemini({ model, apiKey: 'a-test-key', baseUrl, vertexai });
}

interface Setup {
  readonly model?: Gemini;
  readonly agent?: Partial<LlmAgentConfig>;
  readonly root?: BaseAgent;
  readonly runConfig?: RunConfig;
  /** The waits before another attempt, each of which is over at once. */
  readonly delays?: number[];
}

async function setup({ model, agent, root, runConfig, delays = [] }: Setup) {
  const schedule: Platform['schedule'] = (delayMs, callback, options) => {
    if (options?.idle) return systemPlatform.schedule(delayMs, callback, options);
    delays.push(delayMs);
    queueMicrotask(callback);
    return () => undefined;
  };
  const sessionService = new InMemorySessionService();
  await sessionService.createSession(KEY);
  const runner = new Runner({
    appName: 'app',
    agent: root ?? new LlmAgent({ name: 'bot', ...(model && { model }), ...agent }),
    sessionService,
    platform: { ...systemPlatform, schedule },
  });
  const queue = new LiveRequestQueue();
  const stream = runner.runLive({ userId: 'u', sessionId: 's', liveRequestQueue: queue, runConfig });
  const stored = async (): Promise<readonly Event[]> => (await sessionService.getSession(KEY))?.events ?? [];
  return { queue, stream, stored };
}

function user(text: string) {
  return { role: 'user', parts: [{ text }] };
}

function turn(...contents: object[]) {
  return { clientContent: { turns: contents, turnComplete: true } };
}

function says(text: string) {
  return { serverContent: { modelTurn: { parts: [{ text }] } } };
}

function calls(name: string, id: string, args = {}) {
  return { toolCall: { functionCalls: [{ id, name, args }] } };
}

function handle(newHandle: string, lastConsumedClientMessageIndex?: string) {
  return { sessionResumptionUpdate: { newHandle, resumable: true, lastConsumedClientMessageIndex } };
}

function told({ author, content, partial, errorCode, turnComplete, interrupted, usageMetadata }: Event): string {
  const [part] = content?.parts ?? [];
  const said =
    errorCode ??
    part?.text ??
    (part?.functionCall && `${part.functionCall.name}()`) ??
    (part?.functionResponse && JSON.stringify(part.functionResponse.response)) ??
    (turnComplete ? 'end' : usageMetadata ? 'usage' : '');
  return `${partial ? '~' : ''}${author}: ${said}${interrupted ? ' (cut)' : ''}`;
}

async function readTurns(stream: AsyncIterable<Event>, queue: LiveRequestQueue, turns = 1): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) {
    events.push(event);
    if (event.turnComplete && --turns === 0) queue.close();
  }
  return events;
}

test('a turn: pieces as they come, the whole of them, counts, the end; and the connection is closed in peace', async () => {
  const usageMetadata = { promptTokenCount: 1, responseTokenCount: 2, totalTokenCount: 3 };
  const model = gemini(
    await start([
      { heard: 'clientContent' },
      { serverContent: {} },
      says('Hel'),
      says('lo'),
      { serverContent: { generationComplete: true } },
      { ...END, usageMetadata },
    ]),
  );
  const { queue, stream, stored } = await setup({ model, runConfig: { responseModalities: ['TEXT'] } });
  queue.sendContent(user('hi'));
  const events = await readTurns(stream, queue);
  expect(events.map(told)).toEqual(['user: hi', '~bot: Hel', '~bot: lo', 'bot: Hello', 'bot: usage', 'bot: end']);
  expect((await stored()).map(told)).toEqual(['user: hi', 'bot: Hello', 'bot: usage', 'bot: end']);
  const [connection] = await stop();
  expect(connection).toMatchObject({
    setup: { model: 'models/gemini-2.5-flash-live', generationConfig: { responseModalities: ['TEXT'] } },
    received: [turn(user('hi'))],
  });
  expect([1000, 1005]).toContain(connection?.closed.code);
});

test('calls run beside the conversation, one is taken back and not answered, and the user cuts in', async () => {
  const stopped = Promise.withResolvers<void>();
  const endless = new FunctionTool({
    name: 'endless',
    description: '',
    execute: (_, { abortSignal }) =>
      new Promise((_resolve, reject) => {
        abortSignal.addEventListener('abort', () => {
          stopped.resolve();
          reject(new Error('stopped'));
        });
      }),
  });
  const quick = new FunctionTool({ name: 'quick', description: '', execute: () => ({ sky: 'grey' }) });
  const model = gemini(
    await start([
      { heard: 'clientContent' },
      calls('endless', 'c1'),
      says('Let me'),
      { serverContent: { interrupted: true } },
      { toolCallCancellation: { ids: ['c1'] } },
      calls('quick', 'c2'),
      { heard: 'toolResponse' },
      says('Grey.'),
      END,
    ]),
  );
  const { queue, stream, stored } = await setup({ model, agent: { tools: [endless, quick] } });
  queue.sendContent(user('look'));
  await readTurns(stream, queue);
  await stopped.promise;
  expect((await stored()).map(told)).toEqual([
    'user: look',
    'bot: endless()',
    'bot: Let me (cut)',
    'bot:  (cut)',
    'bot: quick()',
    'bot: {"sky":"grey"}',
    'bot: Grey.',
    'bot: end',
  ]);
  const functionResponses = [{ id: 'c2', name: 'quick', response: { sky: 'grey' } }];
  expect((await stop())[0]?.received.slice(1)).toEqual([{ toolResponse: { functionResponses } }]);
});

test('a hand-over opens a connection of the other agent, which is told what was said', async () => {
  const baseUrl = await start(
    [{ heard: 'clientContent' }, says('Hello.'), calls('transfer_to_agent', 't', { agent_name: 'child' })],
    [{ heard: 'clientContent' }, { heard: 'realtimeInput' }, says('Child here.'), END],
  );
  const child = new LlmAgent({ name: 'child', model: gemini(baseUrl) });
  const root = new LlmAgent({ name: 'root', model: gemini(baseUrl), subAgents: [child] });
  const { queue, stream, stored } = await setup({ root });
  queue.sendContent(user('hi'));
  for await (const event of stream) {
    // Said while the hand-over is under way: for the child.
    if (event.content?.parts?.[0]?.functionCall) queue.sendRealtime({ data: 'AAAA', mimeType: 'audio/pcm' });
    if (event.turnComplete) queue.close();
  }
  expect((await stored()).map(({ author }) => author)).toEqual(['user', 'root', 'root', 'root', 'child', 'child']);
  const [first, second] = await stop();
  expect(first?.received).toHaveLength(1);
  expect(JSON.stringify(second?.received[0])).toContain('[root] said: Hello.');
  expect(second?.received[1]).toEqual({ realtimeInput: { audio: { data: 'AAAA', mimeType: 'audio/pcm' } } });
  expect(second?.setup).toMatchObject({ inputAudioTranscription: {}, outputAudioTranscription: {} });
});

test.each<[string, object]>([
  ['says that it will go', { goAway: { timeLeft: '1s' } }],
  ['is cut (1006)', CUT],
  ['fails (1011)', { close: 1011, reason: 'Internal error encountered.' }],
])('when the service %s, the run goes on with its handle, and what was written is not lost', async (_, end) => {
  const model = gemini(
    await start(
      [{ heard: 'clientContent' }, handle('h1'), says('One'), END, end as LiveWireMessage],
      [{ heard: 'clientContent' }, says('Two'), END],
    ),
  );
  const { queue, stream, stored } = await setup({ model, runConfig: RESUMED });
  queue.sendContent(user('one'));
  let turns = 0;
  for await (const event of stream) {
    if (!event.turnComplete) continue;
    if (++turns === 2) queue.close();
    else queue.sendContent(user('two'));
  }
  expect((await stored()).map(told)).toEqual([
    'user: one',
    'bot: One',
    'bot: end',
    'user: two',
    'bot: Two',
    'bot: end',
  ]);
  const [first, second] = await stop();
  expect(first?.setup.sessionResumption).toEqual({});
  expect(second?.setup.sessionResumption).toEqual({ handle: 'h1' });
  // It may have been sent to the first one too, whose end was not known yet: a message without an answer is said again.
  expect(first?.received[0]).toEqual(turn(user('one')));
  expect(second?.received).toEqual([turn(user('two'))]);
});

test('without a handle the history is told, in the words of the model, and a call that still runs after it', async () => {
  for (const [model, said] of [
    ['gemini-2.5-flash-live', 'clientContent'],
    ['gemini-3.1-flash-live', 'realtimeInput'],
  ] as const) {
    const lost = Promise.withResolvers<void>();
    const slow = new FunctionTool({ name: 'slow', description: '', execute: () => lost.promise.then(() => 'done') });
    const live = gemini(
      await start(
        [{ heard: said }, calls('slow', 'c1', { a: 1 }), says('One moment'), CUT],
        [{ heard: 'clientContent' }, says('Back.'), { heard: said }, says('Done.'), END],
      ),
      model,
    );
    const { queue, stream, stored } = await setup({ model: live, agent: { tools: [slow] } });
    queue.sendContent(user('go'));
    for await (const event of stream) {
      if (event.content?.parts?.[0]?.text === 'Back.') lost.resolve();
      if (event.turnComplete) queue.close();
    }
    expect((await stored()).map(told)).toEqual([
      'user: go',
      'bot: slow()',
      'bot: One moment (cut)',
      'bot: {"result":"done"}',
      'bot: Back.Done.',
      'bot: end',
    ]);
    const [, second] = await stop();
    const words = 'Function slow, called earlier with {"a":1}, returned: {"result":"done"}';
    const functionResponse = { id: 'c1', name: 'slow', response: expect.objectContaining({ status: 'pending' }) };
    const past = [
      user('go'),
      { role: 'model', parts: [{ functionCall: { id: 'c1', name: 'slow', args: { a: 1 } } }] },
      { role: 'user', parts: [{ functionResponse }] },
      { role: 'model', parts: [{ text: 'One moment' }] },
    ];
    expect(second?.received).toEqual(
      said === 'clientContent'
        ? [{ clientContent: { turns: past, turnComplete: false } }, turn(user(words))]
        : [turn(...past), { realtimeInput: { text: words } }],
    );
  }
});

test('a response whose connection died is sent to the next one, which goes on with the session that made the call', async () => {
  const lost = Promise.withResolvers<void>();
  const slow = new FunctionTool({ name: 'slow', description: '', execute: () => lost.promise.then(() => 'done') });
  const model = gemini(
    await start(
      [{ heard: 'clientContent' }, calls('slow', 'c1'), handle('h'), CUT],
      [says('Back'), { heard: 'toolResponse' }, END],
    ),
  );
  const { queue, stream } = await setup({ model, agent: { tools: [slow] }, runConfig: RESUMED });
  queue.sendContent(user('go'));
  for await (const event of stream) {
    if (event.partial) lost.resolve();
    if (event.turnComplete) queue.close();
  }
  const functionResponses = [{ id: 'c1', name: 'slow', response: { result: 'done' } }];
  expect((await stop())[1]?.received).toEqual([{ toolResponse: { functionResponses } }]);
});

test('a spoken turn that a lost connection took with it is spoken again from the handle on, and answered', async () => {
  const model = gemini(
    await start(
      [
        { heard: 'realtimeInput' },
        { heard: 'realtimeInput' },
        handle('h'),
        ...[1, 2].map(() => ({ heard: 'realtimeInput' })),
        CUT,
      ],
      [{ heard: 'realtimeInput' }, { heard: 'realtimeInput' }, says('Yes'), END],
    ),
  );
  const { queue, stream } = await setup({ model, runConfig: RESUMED });
  const audio = (data: string) => ({ data, mimeType: 'audio/pcm' });
  queue.sendActivityStart();
  queue.sendRealtime(audio('AAAA'));
  for await (const event of stream) {
    if (event.liveSessionResumptionUpdate) {
      queue.sendRealtime(audio('BBBB'));
      queue.sendActivityEnd();
    }
    if (event.turnComplete) queue.close();
  }
  expect((await stop())[1]?.received).toEqual([
    { realtimeInput: { audio: audio('BBBB') } },
    { realtimeInput: { activityEnd: {} } },
  ]);
});

test('Vertex AI is sent again what it says that it did not consume', async () => {
  const model = gemini(
    await start(
      [...[1, 2, 3].map(() => ({ heard: 'realtimeInput' })), handle('h1', '2'), CUT],
      [{ heard: 'realtimeInput' }, says('Two'), END],
    ),
    'gemini-2.5-flash-live',
    true,
  );
  const { queue, stream } = await setup({ model, runConfig: RESUMED });
  const audio = (data: string) => ({ data, mimeType: 'audio/pcm' });
  queue.sendContent(user('hi'));
  for (const data of ['AAAA', 'BBBB', 'CCCC']) queue.sendRealtime(audio(data));
  await readTurns(stream, queue);
  const [first, second] = await stop();
  expect(first?.setup.sessionResumption).toEqual({ transparent: true });
  expect(second?.setup.sessionResumption).toEqual({ transparent: true, handle: 'h1' });
  // Message 0 is the setup, 1 what was typed, 2 the first piece of audio.
  expect(second?.received).toEqual(['BBBB', 'CCCC'].map((data) => ({ realtimeInput: { audio: audio(data) } })));
});

test.each([
  [false, [{ output: 1 }, true], [{ result: [1] }, false]],
  [true, [{ output: 1 }, undefined], [{ result: [1] }, undefined]],
] as const)(
  'a tool that lets the model speak on is declared so, and answers as it goes (Vertex AI: %s)',
  async (vertexai, chunk, whole) => {
    const count = new FunctionTool({
      name: 'count',
      description: '',
      responseScheduling: 'SILENT',
      execute: async function* () {
        yield 1;
      },
    });
    const steps = [
      { heard: 'clientContent' },
      calls('count', 'c1'),
      says('Counting'),
      { heard: vertexai ? 'clientContent' : 'toolResponse' },
      { heard: 'toolResponse' },
      END,
    ];
    const model = gemini(await start(steps), 'gemini-2.5-flash-live', vertexai);
    const { queue, stream } = await setup({ model, agent: { tools: [count] } });
    queue.sendContent(user('count'));
    await readTurns(stream, queue);
    const [connection] = await stop();
    expect(JSON.stringify(connection?.setup.tools)).toContain('"behavior":"NON_BLOCKING"');
    const response = ([output, willContinue]: readonly [object, boolean | undefined]) => {
      const functionResponse = { id: 'c1', name: 'count', response: output, scheduling: 'SILENT' };
      return {
        toolResponse: {
          functionResponses: [willContinue === undefined ? functionResponse : { ...functionResponse, willContinue }],
        },
      };
    };
    const told = vertexai ? turn(user('Function count returned: 1')) : response(chunk);
    expect(connection?.received.slice(1)).toEqual([told, response(whole)]);
  },
);

test('a setup that is refused ends the run at once with an event and a typed error', async () => {
  const model = gemini(await start({ setup: { close: 1008, reason: 'models/x is not found' } }));
  const { queue, stream, stored } = await setup({ model });
  await expect(readTurns(stream, queue)).rejects.toMatchObject({
    code: 'LIVE_CONNECTION',
    closeCode: 1008,
    isRetryable: false,
  });
  expect((await stored()).map(told)).toEqual(['bot: LIVE_CONNECTION']);
  expect((await stored())[0]?.errorMessage).toContain('models/x is not found');
  expect(await stop()).toHaveLength(1);
});

test('a handle that the service knows no more is given up for the history', async () => {
  const model = gemini(
    await start(
      [{ heard: 'clientContent' }, handle('old'), says('One'), END, CUT],
      { setup: { close: 1008, reason: 'Session not found' } },
      [{ heard: 'clientContent' }, says('Two'), END],
    ),
  );
  const { queue, stream } = await setup({ model, runConfig: RESUMED });
  queue.sendContent(user('one'));
  let turns = 0;
  for await (const event of stream) {
    if (!event.turnComplete) continue;
    if (++turns === 2) queue.close();
    else queue.sendContent(user('two'));
  }
  const connections = await stop();
  expect(connections.map(({ setup: { sessionResumption } }) => sessionResumption)).toEqual([{}, { handle: 'old' }, {}]);
});

test('a network that is dead is tried again later and later, and then the run ends with an event and a typed error', async () => {
  const delays: number[] = [];
  const { queue, stream, stored } = await setup({ model: gemini('http://127.0.0.1:1'), delays });
  await expect(readTurns(stream, queue)).rejects.toMatchObject({ code: 'LIVE_CONNECTION', isRetryable: true });
  expect(delays).toEqual([250, 500, 1000, 2000]);
  expect((await stored()).map(told)).toEqual(['bot: LIVE_CONNECTION']);
});

test.each([
  [
    { serverContent: { turnComplete: true, turnCompleteReason: 'PROHIBITED_INPUT_CONTENT' } },
    'PROHIBITED_INPUT_CONTENT',
  ],
  [{ error: { code: 503, status: 'UNAVAILABLE', message: 'busy' } }, 'UNAVAILABLE'],
  [{ error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'enough' } }, 'RESOURCE_EXHAUSTED'],
])('the error %j is an event, and the run goes on', async (error, errorCode) => {
  const model = gemini(await start([{ heard: 'clientContent' }, error, { heard: 'clientContent' }, says('Yes'), END]));
  const { queue, stream, stored } = await setup({ model });
  queue.sendContent(user('hi'));
  for await (const event of stream) {
    if (event.errorCode !== undefined) queue.sendContent(user('again'));
    if (event.turnComplete && (await stored()).some((each) => told(each) === 'bot: Yes')) queue.close();
  }
  expect((await stored()).map(told).filter((each) => each !== 'bot: end')).toEqual([
    'user: hi',
    `bot: ${errorCode}`,
    'user: again',
    'bot: Yes',
  ]);
});
