import { BaseLlm, type LiveLlmResponse, type LlmRequest, type LlmResponse } from '@eventloom/core';
import type { SpanStore } from '@eventloom/dev';
import { live } from '@eventloom/live';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner, type RunnerConfig } from '@eventloom/runner';
import { type LiveSent, ScriptedLiveModel } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';

/** A model without a key: the last message determines its reply. */
class Director extends BaseLlm {
  constructor() {
    super({ model: 'director' });
  }

  override async *generateContentAsync(
    { contents }: LlmRequest,
    stream?: boolean,
  ): AsyncGenerator<LlmResponse, void, void> {
    const [part] = contents.at(-1)?.parts?.slice(-1) ?? [];
    if (part?.functionResponse) {
      yield said(`The tool said ${JSON.stringify(part.functionResponse.response)}.`);
      return;
    }
    const text = part?.text ?? '';
    if (text === 'fail') throw new TypeError('the model is not available');
    if (text === 'cut') yield { ...said('It was a dark and'), finishReason: 'MAX_TOKENS', errorCode: 'MAX_TOKENS' };
    else if (text.startsWith('call ')) {
      yield { content: { role: 'model', parts: [{ functionCall: { name: text.slice('call '.length), args: {} } }] } };
    } else {
      if (stream) for (const chunk of ['You said: ', text]) yield { ...said(chunk), partial: true };
      yield said(`You said: ${text}`);
    }
  }
}

function said(text: string): LlmResponse {
  return { content: { role: 'model', parts: [{ text }] } };
}

const tools = [
  new FunctionTool({
    name: 'look',
    description: 'Looks, and remembers what it saw.',
    execute: (_args, { state }) => {
      state.set('seen', 'sky');
      return { color: 'blue' };
    },
  }),
  new FunctionTool({
    name: 'save',
    description: 'Saves a file.',
    execute: (_args, context) => context.saveArtifact('note.txt', { text: 'hello' }),
  }),
  new LongRunningFunctionTool({ name: 'wait', description: 'Is answered later.', execute: () => undefined }),
  new FunctionTool({
    name: 'order',
    description: 'Asks for a size.',
    execute: (_args, context) =>
      context.getInput('size') ??
      context.requestInput({
        key: 'size',
        message: 'Which size?',
        responseSchema: { type: 'object', properties: { size: { type: 'string' } }, required: ['size'] },
      }),
  }),
  new FunctionTool({ name: 'pay', description: 'Pays.', requireConfirmation: true, execute: () => ({ paid: true }) }),
];

/** Creates an agent that follows its message: "call look" (or another tool), "cut", "fail", or any other text, which it repeats. */
function createAgent(): LlmAgent {
  return new LlmAgent({ name: 'helper', model: new Director(), tools });
}

const speech = { inlineData: { mimeType: 'audio/pcm;rate=24000', data: 'AAAA'.repeat(1000) } };

/** Creates an agent for calls, which receives one piece of audio and speaks once. */
function createSpeaker(): LlmAgent {
  const model = new ScriptedLiveModel(({ config }) => [
    { heard: 'blob' },
    ...heard(config, 'What color is the sky?'),
    ...spoken(config, 'The sky is blue.'),
    { turnComplete: true },
  ]);
  return new LlmAgent({ name: 'speaker', model });
}

/**
 * Creates an agent for any number of calls. It turns on the camera after a typed message, describes a picture, and is
 * interrupted by speech.
 */
function createVideoSpeaker(): LlmAgent {
  const isBlob = (type: string) => (sent: LiveSent) => 'blob' in sent && sent.blob.mimeType?.startsWith(type) === true;
  const model = new ScriptedLiveModel(({ config }) => [
    { heard: 'content' },
    { content: { role: 'model', parts: [{ functionCall: { id: 'call-1', name: 'camera_toggle', args: {} } }] } },
    { heard: 'toolResponses' },
    ...spoken(config, 'The camera ', 'is on.'),
    { turnComplete: true },
    { heard: isBlob('image/') },
    ...spoken(config, 'I see ', 'a picture.'),
    { turnComplete: true },
    { heard: isBlob('audio/pcm') },
    ...heard(config, 'And ', 'now?'),
    ...spoken(config, 'Now I'),
    { interrupted: true },
  ]);
  const camera = new FunctionTool({
    name: 'camera_toggle',
    description: 'Turns the camera on or off.',
    execute: () => ({ message: 'Camera tool called successfully!' }),
  });
  return new LlmAgent({ name: 'video-speaker', model, tools: [camera] });
}

/** Returns the user's speech as text if the request asks for it. */
function heard({ inputAudioTranscription }: LlmRequest['config'], ...texts: string[]): LiveLlmResponse[] {
  return inputAudioTranscription ? texts.map((text) => ({ inputTranscription: { text } })) : [];
}

/** Returns speech of the model, and its text if the request asks for it. */
function spoken({ outputAudioTranscription }: LlmRequest['config'], ...texts: string[]): LiveLlmResponse[] {
  const transcriptions = outputAudioTranscription ? texts.map((text) => ({ outputTranscription: { text } })) : [];
  return [{ content: { role: 'model', parts: [speech] } }, ...transcriptions];
}

/** Creates the runners of the apps `plain` and `resumable`, with the same agent, and of `voice` and `bidi-demo` (resumable) for calls. */
export function createRunners(
  services: Pick<RunnerConfig, 'sessionService' | 'artifactService'>,
  spans: SpanStore,
): Runner[] {
  return [
    new Runner({ appName: 'plain', agent: createAgent(), instrumentation: spans, ...services }),
    new Runner({ appName: 'resumable', agent: createAgent(), resumable: true, instrumentation: spans, ...services }),
    new Runner({ appName: 'voice', agent: createSpeaker(), live: live(), ...services }),
    new Runner({
      appName: 'bidi-demo',
      agent: createVideoSpeaker(),
      resumable: true,
      live: live(),
      autoCreateSession: true,
      ...services,
    }),
  ];
}
