import { BaseLlm, type LlmRequest, type LlmResponse } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { ScriptedLiveModel } from '@eventloom/testing';
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
export function createAgent(): LlmAgent {
  return new LlmAgent({ name: 'helper', model: new Director(), tools });
}

/** Creates an agent for calls, which receives one piece of audio and speaks once. */
export function createSpeaker(): LlmAgent {
  const speech = { inlineData: { mimeType: 'audio/pcm;rate=24000', data: 'AAAA'.repeat(1000) } };
  const model = new ScriptedLiveModel([
    [
      { heard: 'blob' },
      { inputTranscription: { text: 'What color is the sky?', finished: true } },
      { content: { role: 'model', parts: [speech] } },
      { outputTranscription: { text: 'The sky is blue.', finished: true } },
      { turnComplete: true },
    ],
  ]);
  return new LlmAgent({ name: 'speaker', model });
}
