import {
  type Event,
  FunctionTool,
  Gemini,
  InMemorySessionService,
  LiveRequestQueue,
  LlmAgent,
  Runner,
} from '../index.ts';
import type { Content, RunConfig } from '../index.ts';
import { type LiveRecording, type LiveWireMessage, recordedLive } from '@eventloom/testing/fake-gemini';
import { expect, test } from 'vitest';
import { startGemini, stopGemini } from './fixtures/fake-server.ts';
import recordings from './live-recordings.json' with { type: 'json' };

type Name = keyof typeof recordings;

/**
 * The events that a reader of the run gets: those of the recording, and those after the client hangs up. Events that
 * begin with `~` are only streamed.
 */
const EVENTS: Readonly<Record<Name, readonly [recorded: readonly string[], atTheEnd?: string]>> = {
  'ML-Dev-handle-activity-start-and-end': [
    ['~bot: Yeah', "~bot: , I can hear you. What's up?"],
    "bot: Yeah, I can hear you. What's up?",
  ],
  'ML-Dev-should-receive-transcription-in-async-session-with-transcription-enabled': [
    [
      'user: Hello what should we talk about?',
      '~bot speaks: We',
      '~bot speaks:  could talk about anything you like. Perhaps you have a hobby or an interest you',
      "~bot speaks: 'd like to discuss, or maybe there's a topic you've been curious about lately.",
    ],
    "bot speaks: We could talk about anything you like. Perhaps you have a hobby or an interest you'd like to discuss, or maybe there's a topic you've been curious about lately.",
  ],
  'ML-Dev-should-reply-to-realtime-audio-input': [
    ['~bot: Yes', '~bot: , I can hear you clearly. How may I assist you?'],
    'bot: Yes, I can hear you clearly. How may I assist you?',
  ],
  'ML-Dev-should-reply-to-realtime-text-input': [
    ['user: Are you there Gemini?', "~bot: Yes, I'", '~bot: m here! How can I help you today?'],
    "bot: Yes, I'm here! How can I help you today?",
  ],
  'ML-Dev-should-respond-to-realtime-media-audio-input': [
    ['~bot: Yes', '~bot: , I can hear you clearly. How may I help you?'],
    'bot: Yes, I can hear you clearly. How may I help you?',
  ],
  'ML-Dev-should-return-error-for-invalid-input-in-async-session': [[]],
  'ML-Dev-should-send-content-dict-in-async-session': [
    ['user: Hello what should we talk about?', 'bot: 515+31=546', 'bot: end'],
  ],
  'ML-Dev-should-send-text-in-async-session': [
    ['user: Hello what should we talk about?', 'bot: 515+38=553', 'bot: end'],
  ],
  'ML-Dev-should-send-tool-response-with-function-responses': [
    ['bot: getStatus()', 'bot: getStatus={"mood":"happy"}', 'bot: end'],
  ],
  'ML-Dev-should-send-tool-response': [
    [
      'user: what is the weather in Redmond Washington',
      "bot: code print(default_api.get_current_weather(location='Redmond, WA'))",
      'bot: get_current_weather(Redmond, WA)',
      'bot: get_current_weather={"sky":"grey"}',
    ],
  ],
  'Vertex-should-initialize-session-with-publishers-prefix': [[]],
  'Vertex-should-initialize-session-without-prefix': [[]],
  'Vertex-should-receive-transcription-in-async-session-with-transcription-enabled': [
    ['user: Hello what should we talk about?', '~bot speaks: We'],
    'bot speaks: We',
  ],
  'Vertex-should-respond-to-realtime-media-audio-input': [
    ['~bot: Yes', '~bot: , I can hear you. How can I help you today?\n'],
    'bot: Yes, I can hear you. How can I help you today?\n',
  ],
  'Vertex-should-return-error-for-invalid-input-in-async-session': [
    ['bot: name()', 'bot: name={"response":{}}', '~bot: <audio/pcm>'],
  ],
  'Vertex-should-send-content-dict-in-async-session': [
    ['user: Hello what should we talk about?', '~bot: <audio/pcm>', '~bot: <audio/pcm>'],
  ],
  'Vertex-should-send-text-in-async-session': [
    ['user: Hello what should we talk about?', '~bot: <audio/pcm>', '~bot: <audio/pcm>'],
  ],
  'Vertex-should-send-tool-response-with-function-responses': [
    ['bot: getStatus()', 'bot: getStatus={"mood":"happy"}', '~bot: <audio/pcm>'],
  ],
  'Vertex-should-send-tool-response': [
    [
      'user: what is the weather in Redmond Washington',
      'bot: get_current_weather(Redmond, WA)',
      'bot: get_current_weather={"sky":"grey"}',
    ],
  ],
};

/** Summarizes an event in one line. */
function summarize(event: Event): string {
  const [part] = event.content?.parts ?? [];
  const { usageMetadata: usage, outputTranscription: speech } = event;
  const isStreamed = event.partial === true || part?.inlineData !== undefined;
  const who = `${isStreamed ? '~' : ''}${event.author}${speech ? ' speaks' : ''}: `;
  if (part?.executableCode) return `${who}code ${part.executableCode.code}`;
  if (part?.functionCall)
    return `${who}${part.functionCall.name}(${Object.values(part.functionCall.args ?? {}).join()})`;
  if (part?.functionResponse)
    return `${who}${part.functionResponse.name}=${JSON.stringify(part.functionResponse.response)}`;
  if (part?.inlineData) return `${who}<${part.inlineData.mimeType}>`;
  if (usage) return `${who}${usage.promptTokenCount}+${usage.candidatesTokenCount}=${usage.totalTokenCount}`;
  return `${who}${part?.text ?? speech?.text ?? (event.turnComplete ? 'end' : '')}`;
}

/**
 * A recording in which a call is added before a response without one, because a client can only answer a call. A recording that ends with a
 * response gets an end.
 */
function playable(frames: LiveRecording['frames']): LiveRecording {
  const at = frames.findIndex(({ msg }) => 'toolResponse' in msg);
  if (at < 0) return { frames };
  const answering = frames[at]?.msg['toolResponse'] as
    | { functionResponses: { id?: string; name: string }[] }
    | undefined;
  const functionCalls = answering?.functionResponses.map(({ id, name }) => ({ id, name, args: {} }));
  const call = { dir: 'server', msg: { toolCall: { functionCalls } } } as const;
  const end = { dir: 'server', msg: { serverContent: { turnComplete: true } } } as const;
  const rest = at === frames.length - 1 ? [...frames.slice(at), end] : frames.slice(at);
  return { frames: [...frames.slice(0, at), call, ...rest] };
}

/** Sends the messages of the recorded client. */
function say(queue: LiveRequestQueue, message: LiveWireMessage): void {
  const { clientContent, realtimeInput } = message as {
    clientContent?: { turns: Content[] };
    realtimeInput?: {
      text?: string;
      audio?: object;
      mediaChunks?: object[];
      activityStart?: object;
      activityEnd?: object;
    };
  };
  for (const content of clientContent?.turns ?? []) queue.sendContent(content);
  if (!realtimeInput) return;
  const { text, audio, mediaChunks = [], activityStart, activityEnd } = realtimeInput;
  if (text !== undefined) queue.sendContent({ role: 'user', parts: [{ text }] });
  for (const blob of audio ? [audio] : mediaChunks) queue.sendRealtime(blob);
  if (activityStart) queue.sendActivityStart();
  if (activityEnd) queue.sendActivityEnd();
}

/**
 * Returns the message as the service receives it: audio in its own field (the list is deprecated), and typed text as a
 * turn.
 */
function heard(message: LiveWireMessage): LiveWireMessage {
  const { mediaChunks, text, ...rest } = (message['realtimeInput'] ?? {}) as Record<string, unknown>;
  if (mediaChunks) return { realtimeInput: { ...rest, audio: (mediaChunks as object[])[0] } };
  if (text === undefined) return message;
  return { clientContent: { turns: [{ role: 'user', parts: [{ text }] }], turnComplete: true } };
}

const answers: Readonly<Record<string, object>> = {
  getStatus: { mood: 'happy' },
  name: { response: {} },
  get_current_weather: { sky: 'grey' },
};
const tools = Object.entries(answers).map(
  ([name, answer]) => new FunctionTool({ name, description: '', execute: () => answer }),
);

test('every recording has an expectation', () => {
  expect(Object.keys(EVENTS).toSorted()).toEqual(Object.keys(recordings).toSorted());
});

const cases = Object.keys(recordings).flatMap((name) => [
  ['binary', name as Name] as const,
  ['text', name as Name] as const,
]);

test.each(cases)(
  'in %s frames, a run over the recording %s yields the expected events and stores the whole ones',
  async (frames, name) => {
    const recording = playable(recordings[name].frames as LiveRecording['frames']);
    const setup = recording.frames[0]?.msg['setup'] as { model: string; generationConfig?: object } | undefined;
    const { model = '', generationConfig } = setup ?? {};
    const baseUrl = await startGemini(
      recordedLive({ frames: recording.frames.map(({ dir, msg }) => ({ dir, msg: heard(msg) })) }, { frames }),
    );
    const gemini = new Gemini({ model, apiKey: 'a-test-key', baseUrl, vertexai: model.startsWith('projects/') });
    const sessionService = new InMemorySessionService();
    const key = { appName: 'app', userId: 'u', sessionId: 's' };
    await sessionService.createSession(key);
    const runner = new Runner({
      appName: 'app',
      agent: new LlmAgent({ name: 'bot', model: gemini, tools }),
      sessionService,
    });
    const queue = new LiveRequestQueue();
    const runConfig = { ...(generationConfig as RunConfig), liveReconnect: false };
    const stream = runner.runLive({ userId: 'u', sessionId: 's', liveRequestQueue: queue, runConfig });

    const [expected, atTheEnd] = EVENTS[name];
    const said = recording.frames.slice(1).flatMap(({ dir, msg }) => (dir === 'client' ? [msg] : []));
    for (const message of said) say(queue, message);
    if (expected.length === 0) {
      // A run whose client closes its queue without a request opens no connection.
      queue.sendActivityEnd();
      queue.close();
    }
    const events: string[] = [];
    for await (const event of stream) if (events.push(summarize(event)) === expected.length) queue.close();
    const all = atTheEnd === undefined ? expected : [...expected, atTheEnd];
    expect(events).toEqual(all);

    const stored = (await sessionService.getSession(key))?.events ?? [];
    expect(stored.map(summarize)).toEqual(all.filter((each) => !each.startsWith('~')));
    const received = (await stopGemini())[0]?.received ?? [];
    expect(received.slice(0, said.length)).toEqual(said.map(heard));
  },
);
