import {
  BaseLlm,
  type BaseLlmConnection,
  type Event,
  FunctionTool,
  InMemoryRunner,
  LiveRequestQueue,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  type RunConfig,
} from '@google/adk';
import { type Blob, type Content, createUserContent, Modality } from '@google/genai';
import type { Program } from '../stage.ts';

const audio = (data: string): Content => ({
  role: 'model',
  parts: [{ inlineData: { mimeType: 'audio/pcm;rate=24000', data } }],
});

/** The responses of the model, in the shapes of a conversation by voice. */
const replies: readonly LlmResponse[] = [
  { inputTranscription: { text: 'How is ', finished: false } },
  { inputTranscription: { text: 'the weather?', finished: true } },
  { content: { role: 'model', parts: [{ functionCall: { id: 'call-1', name: 'look_outside', args: {} } }] } },
  { content: audio('AAAA') },
  { outputTranscription: { text: 'It is ', finished: false } },
  { content: audio('BBBB') },
  { outputTranscription: { text: 'sunny.', finished: true } },
  { turnComplete: true },
  { content: { role: 'model', parts: [{ text: 'And tom' }] }, partial: true },
  { interrupted: true },
  { turnComplete: true },
];

/** A connection that notes what it is sent, and answers the first message with all replies. It waits for the result of a call. */
class Connection implements BaseLlmConnection {
  readonly sent: string[];
  readonly #begin = Promise.withResolvers<void>();
  readonly #answered = Promise.withResolvers<void>();
  readonly #end = Promise.withResolvers<void>();

  constructor(sent: string[]) {
    this.sent = sent;
  }

  async sendHistory(history: Content[]): Promise<void> {
    if (history.length > 0) this.sent.push(`history of ${history.length}`);
  }

  async sendContent({ role, parts = [] }: Content): Promise<void> {
    const texts = parts.map(({ text, functionResponse }) => text ?? JSON.stringify(functionResponse?.response));
    this.sent.push(`${role}: ${texts.join(', ')}`);
    this.#begin.resolve();
    if (parts.some(({ functionResponse }) => functionResponse)) this.#answered.resolve();
  }

  async sendRealtime(blob: Blob): Promise<void> {
    this.sent.push(`blob ${blob.mimeType}`);
  }

  async sendActivityStart(): Promise<void> {
    this.sent.push('activity start');
  }

  async sendActivityEnd(): Promise<void> {
    this.sent.push('activity end');
  }

  async *receive(): AsyncGenerator<LlmResponse, void, void> {
    await this.#begin.promise;
    for (const reply of replies) {
      yield reply;
      if (reply.content?.parts?.some(({ functionCall }) => functionCall)) await this.#answered.promise;
    }
    await this.#end.promise;
  }

  async close(): Promise<void> {
    this.#end.resolve();
  }
}

class VoiceModel extends BaseLlm {
  readonly sent: string[] = [];

  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
    yield { content: { role: 'model', parts: [{ text: 'I only speak.' }] } };
  }

  override async connect(_request: LlmRequest): Promise<BaseLlmConnection> {
    return new Connection(this.sent);
  }
}

/** Shows the events as a page does: transcriptions and texts in bubbles, audio to a player. */
class Page {
  readonly shown: string[] = [];

  show({ content, turnComplete, interrupted, inputTranscription, outputTranscription }: Event): void {
    if (turnComplete) return void this.shown.push('the turn is complete');
    if (interrupted) return void this.shown.push('interrupted');
    if (inputTranscription?.text) this.shown.push(`user: ${inputTranscription.text} ${inputTranscription.finished}`);
    if (outputTranscription?.text)
      this.shown.push(`model: ${outputTranscription.text} ${outputTranscription.finished}`);
    for (const { text, inlineData } of content?.parts ?? []) {
      if (inlineData?.mimeType?.startsWith('audio/pcm')) this.shown.push(`play ${inlineData.data}`);
      if (text) this.shown.push(`text: ${text}`);
    }
  }
}

const lookOutside = new FunctionTool({
  name: 'look_outside',
  description: 'Looks outside.',
  execute: () => ({ weather: 'sunny' }),
});

const program: Program = {
  replies: [],
  async main(tell) {
    const model = new VoiceModel({ model: 'voice' });
    const agent = new LlmAgent({ name: 'speaker', model, instruction: 'Speak.', tools: [lookOutside] });
    const runner = new InMemoryRunner({ agent, appName: 'talks' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'talks', userId: 'ann' });
    const liveRequestQueue = new LiveRequestQueue();
    const runConfig: RunConfig = {
      responseModalities: [Modality.AUDIO],
      inputAudioTranscription: {},
      outputAudioTranscription: {},
    };
    liveRequestQueue.sendActivityStart();
    liveRequestQueue.sendRealtime({ mimeType: 'audio/pcm;rate=16000', data: 'CCCC' });
    liveRequestQueue.sendRealtime({ mimeType: 'image/jpeg', data: 'DDDD' });
    liveRequestQueue.sendActivityEnd();
    liveRequestQueue.sendContent(createUserContent('Hello.'));
    const page = new Page();
    let turns = 0;
    for await (const event of runner.runLive({ userId: 'ann', sessionId, liveRequestQueue, runConfig })) {
      tell(event);
      page.show(event);
      turns += event.turnComplete ? 1 : 0;
      if (turns === 2) liveRequestQueue.close();
    }
    tell(page.shown);
    tell(model.sent);
    const session = await runner.sessionService.getSession({ appName: 'talks', userId: 'ann', sessionId });
    tell({ stored: session?.events.map(({ author, content }) => `${author}: ${content?.parts?.[0]?.text}`) });
  },
};
export default program;
