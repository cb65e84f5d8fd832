import { live } from '@eventloom/live';
import { liveEndpoint } from '@eventloom/live/server';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { createServer } from '@eventloom/server';
import { type NodeServer, serve } from '@eventloom/server/node';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedLiveModel, type ScriptedLiveStep } from '@eventloom/testing';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { FunctionTool } from '@eventloom/tools';
import { answerPart, emptyConversation, EventloomClient, reduceEvents } from '../index.ts';
import { LiveCall, type LiveCallOptions } from './index.ts';

const speech = {
  mimeType: 'audio/pcm;rate=24000',
  data: Buffer.from(new Int16Array([1, -2, 3]).buffer).toString('base64'),
};

let server: NodeServer | undefined;
afterEach(() => server?.shutDown());

async function open(
  steps: readonly ScriptedLiveStep[],
  options: Partial<LiveCallOptions> = {},
  tools: readonly FunctionTool[] = [],
) {
  const model = new ScriptedLiveModel([[...steps]]);
  const runner = new Runner({
    appName: 'voice',
    agent: new LlmAgent({ name: 'speaker', model, tools: [...tools] }),
    live: live(),
    sessionService: new InMemorySessionService(),
    autoCreateSession: true,
  });
  server = await serve(createServer({ runners: [runner], live: liveEndpoint() }), { port: 0 });
  const call = new LiveCall({ baseUrl: server.url, appName: 'voice', userId: 'me', sessionId: 'first', ...options });
  return { call, model, runner };
}

const callOf = ({ appName }: Runner): LiveCallOptions => ({
  baseUrl: server?.url ?? '',
  appName,
  userId: 'me',
  sessionId: 'first',
});

describe('a call', () => {
  test('sends speech and text, plays speech, and yields events until it is closed', async () => {
    const { call, model } = await open([
      { heard: 'blob' },
      { content: { parts: [{ inlineData: speech }] } },
      { outputTranscription: { text: 'Hello.', finished: true } },
      { turnComplete: true },
    ]);
    const played: number[][] = [];
    call.onAudio = (samples) => played.push([...samples]);
    await call.opened;
    call.sendAudio(new Int16Array([5, 6]));
    const heard: string[] = [];
    for await (const event of call) {
      if (event.outputTranscription) heard.push(event.outputTranscription.text ?? '');
      if (event.turnComplete) call.close();
    }
    expect(played).toEqual([[1, -2, 3]]);
    expect(heard).toContain('Hello.');
    expect(model.connections[0]?.sent).toContainEqual({
      blob: { mimeType: 'audio/pcm;rate=16000', data: Buffer.from(new Int16Array([5, 6]).buffer).toString('base64') },
    });
  });

  test('plays whole samples of speech whose pieces end in the middle of one, and nothing older after an interruption', async () => {
    const pieces = ['AQAC', 'AAMABA==', 'BQAGAA=='].map((data) => ({
      content: { parts: [{ inlineData: { mimeType: speech.mimeType, data } }] },
    }));
    const { call } = await open([
      ...pieces,
      { interrupted: true },
      { content: { parts: [{ inlineData: { mimeType: speech.mimeType, data: 'BwAIAA==' } }] } },
      { turnComplete: true },
      { heard: 'content' },
    ]);
    const heard: number[] = [];
    call.onAudio = (samples) => heard.push(...samples);
    for await (const event of call) if (event.turnComplete) call.close();
    expect(heard).toEqual([1, 2, 3, 0x504, 0x600, 7, 8]);
  });

  test('gives speech with the rate of its media type, and leaves out audio that is not raw', async () => {
    const said = (mimeType: string) => ({ content: { parts: [{ inlineData: { mimeType, data: 'AQACAA==' } }] } });
    const { call } = await open([
      { content: { parts: [...said('audio/pcm;rate=16000').content.parts, ...said('audio/mpeg').content.parts] } },
      said('audio/pcm;rate=48000'),
      { turnComplete: true },
      { heard: 'content' },
    ]);
    const heard: number[][] = [];
    call.onAudio = (samples, sampleRate) => heard.push([sampleRate, ...samples]);
    for await (const event of call) if (event.turnComplete) call.close();
    expect(heard).toEqual([
      [16_000, 1, 2],
      [48_000, 1, 2],
    ]);
  });

  test('throws the error of its listener for speech', async () => {
    const { call } = await open([{ content: { parts: [{ inlineData: speech }] } }, { heard: 'content' }]);
    call.onAudio = () => {
      throw new RangeError('the device is gone');
    };
    const reading = (async () => {
      for await (const event of call) void event;
    })();
    await expect(reading).rejects.toThrow('the device is gone');
  });

  test('is not opened, and throws the reason, when the server refuses it', async () => {
    const { call } = await open([], { appName: 'unknown' });
    let isOpened = false;
    void call.opened.then(() => (isOpened = true));
    const reading = (async () => {
      for await (const _ of call);
    })();
    await expect(reading).rejects.toMatchObject({
      code: expect.stringMatching(/SERVER_RESPONSE|CONNECTION_LOST/) as string,
    });
    expect(isOpened).toBe(false);
  });

  test('is not opened when another run has its session', async () => {
    const { call, runner } = await open([{ heard: 'content' }]);
    await call.opened;
    const other = new LiveCall({ ...callOf(runner), onBusy: 'reject' });
    let isOpened = false;
    void other.opened.then(() => (isOpened = true));
    const reading = (async () => {
      for await (const _ of other);
    })();
    await expect(reading).rejects.toMatchObject({ serverCode: 'SESSION_BUSY' });
    expect(isOpened).toBe(false);
    call.close();
  });

  test('offers the protocol of the server beside a token', async () => {
    const { call } = await open([{ heard: 'content' }], { protocols: ['bearer.x'] });
    await call.opened;
    call.close();
    for await (const _ of call);
  });

  test('that is closed before it is open ends without an error, for every reader', async () => {
    const { call } = await open([{ heard: 'content' }]);
    const read = async (): Promise<void> => {
      for await (const _ of call);
    };
    const reading = [read(), read()];
    call.close();
    await Promise.all([...reading, read()]);
  });

  test('refuses speech that is not of 16-bit samples', async () => {
    const { call } = await open([{ heard: 'content' }]);
    expect(() => call.sendAudio(new Float32Array(4) as never)).toThrow('sendAudio: expected an Int16Array');
    call.close();
  });

  test('names the server if nobody answers', async () => {
    const { call } = await open([]);
    call.close();
    const url = server?.url ?? '';
    await server?.shutDown();
    const late = new LiveCall({ baseUrl: url, appName: 'voice', userId: 'me', sessionId: 'first' });
    const waiting = (async () => {
      for await (const _ of late);
    })();
    await expect(waiting).rejects.toMatchObject({
      code: 'CONNECTION_LOST',
      message: `no answer from ${url.replace('http', 'ws')}/run_live; does the server run, and has it the option live: liveEndpoint()?`,
    });
  });

  test('yields the texts and answers of its client, so that its conversation is the one of the session', async () => {
    const refund = new FunctionTool({
      name: 'refund',
      description: 'Refunds.',
      requireConfirmation: true,
      execute: () => ({ refunded: true }),
    });
    const { call, runner } = await open(
      [
        { heard: 'content' },
        { content: { parts: [{ functionCall: { id: 'c1', name: 'refund', args: {} } }] } },
        { heard: /refunded/ },
        { outputTranscription: { text: 'Refunded.', finished: true } },
        { turnComplete: true },
        { heard: 'content' },
      ],
      {},
      [refund],
    );
    await call.opened;
    call.sendContent('Refund please');
    let conversation = emptyConversation;
    for await (const event of call) {
      conversation = reduceEvents(conversation, [event]);
      const [request] = conversation.requests;
      const asks = event.longRunningToolIds?.includes(request?.id ?? '');
      if (asks && request) call.sendContent([answerPart(request, { kind: 'confirmation', confirmed: true })]);
      if (event.turnComplete) call.close();
    }
    const { baseUrl = '', WebSocket: _, ...key } = callOf(runner);
    const stored = await new EventloomClient({ baseUrl }).session(key).get();
    const shown = ({ messages, requests }: typeof conversation) => ({
      requests,
      messages: messages.map(({ author, parts }) => [
        author,
        ...parts.map((part) => ('status' in part ? part.status : part)),
      ]),
    });
    expect(shown(conversation)).toEqual({
      requests: [],
      messages: [
        ['user', { type: 'text', text: 'Refund please' }],
        ['speaker', 'completed'],
        ['speaker', { type: 'text', text: 'Refunded.' }],
      ],
    });
    expect(shown(reduceEvents(emptyConversation, stored.events))).toEqual(shown(conversation));
  });

  test('ends when its reader leaves', async () => {
    const { call } = await open([{ heard: 'content' }, { turnComplete: true }, { heard: 'content' }]);
    await call.opened;
    call.sendContent('Hi');
    for await (const event of call) if (event.turnComplete) break;
    expect(() => call.sendContent('Hi')).toThrow('the call is not open');
  });
});

describe('a call whose server is silent', () => {
  /** A connection whose network is gone: it opens, takes frames, and reports nothing. */
  class SilentSocket extends EventTarget {
    readyState = 0;
    readonly sent: unknown[] = [];
    constructor() {
      super();
      sockets.push(this);
    }
    open(): void {
      this.readyState = 1;
      this.dispatchEvent(new Event('open'));
    }
    send(frame: unknown): void {
      this.sent.push(frame);
    }
    close(): void {
      this.readyState = 2;
    }
  }
  const sockets: SilentSocket[] = [];
  const openCall = () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const options = { baseUrl: 'http://localhost', appName: 'voice', userId: 'me', sessionId: 'first' };
    const call = new LiveCall({ ...options, WebSocket: SilentSocket as unknown as typeof WebSocket });
    const socket = sockets.at(-1);
    const reading = (async () => {
      for await (const _ of call);
      return 'ended';
    })();
    socket?.open();
    return { call, socket, reading };
  };

  test('is lost after 45 seconds without a frame', async () => {
    const { socket, reading } = openCall();
    const lost = expect(reading).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
    await vi.advanceTimersByTimeAsync(44_000);
    socket?.dispatchEvent(new MessageEvent('message', { data: '{"ping":1}' }));
    await vi.advanceTimersByTimeAsync(44_000);
    expect(socket?.readyState).toBe(1);
    await vi.advanceTimersByTimeAsync(1000);
    await lost;
    expect(socket?.readyState).toBe(2);
  });

  test('sends and plays nothing after its end, and ends without an error after 2 seconds', async () => {
    const { call, socket, reading } = openCall();
    const played = vi.fn<(samples: Int16Array) => void>();
    call.onAudio = played;
    call.close();
    call.close();
    call.sendAudio(new Int16Array(2));
    socket?.dispatchEvent(new MessageEvent('message', { data: new ArrayBuffer(2) }));
    expect(socket?.sent).toEqual(['{"close":true}']);
    expect(played).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(2000);
    expect(await reading).toBe('ended');
    expect(socket?.readyState).toBe(2);
  });
});

test.each([
  [{ base: 'http://localhost' }, 'LiveCall: has no option "base"; did you mean "baseUrl"?'],
  [{ baseUrl: 'localhost' }, "write baseUrl: 'http://localhost:8000'"],
])('a call refuses %j', (options, message) => {
  expect(() => new LiveCall({ appName: 'voice', userId: 'me', sessionId: 'first', ...options })).toThrow(message);
});

test.each([
  [undefined, 'undefined'],
  ['voice', '"voice"'],
])('a call refuses %j in place of its options', (options, got) => {
  expect(() => new LiveCall(options as never)).toThrow(
    `LiveCall: expected an object, got ${got}; write new LiveCall({ appName, userId, sessionId })`,
  );
});
