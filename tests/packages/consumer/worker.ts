/** A Worker over the packed packages, with models that need no key. */
import { type CloudflareBindings, createCloudflareServer } from '@eventloom/cloudflare';
import {
  BaseLlm,
  type BaseLlmConnection,
  type Blob,
  type LiveLlmResponse,
  type LlmRequest,
  type LlmResponse,
} from '@eventloom/core';
import { live } from '@eventloom/live';
import { liveEndpoint } from '@eventloom/live/server';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { FunctionTool } from '@eventloom/tools';

interface Env extends CloudflareBindings {
  /** Receives each step of the app `work`, which continues after the response. */
  readonly WATCHER?: string;
}

class Echo extends BaseLlm {
  constructor() {
    super({ model: 'echo' });
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    if (contents.at(-1)?.parts?.[0]?.text === 'wait') await new Promise(() => undefined);
    yield { content: { role: 'model', parts: [{ text: 'hello' }] } };
  }
}

/** A connection that repeats the audio that it receives. */
class Parrot implements BaseLlmConnection {
  readonly #heard: Blob[] = [];
  #wake = Promise.withResolvers<void>();
  #isClosed = false;

  async sendHistory(): Promise<void> {}
  async sendContent(): Promise<void> {}
  async sendToolResponses(): Promise<void> {}
  async sendActivityStart(): Promise<void> {}
  async sendActivityEnd(): Promise<void> {}

  async sendRealtime(blob: Blob): Promise<void> {
    this.#heard.push(blob);
    this.#wake.resolve();
  }

  async *receive(): AsyncGenerator<LiveLlmResponse, void, void> {
    while (!this.#isClosed) {
      for (let inlineData = this.#heard.shift(); inlineData; inlineData = this.#heard.shift()) {
        yield { content: { role: 'model', parts: [{ inlineData }] } };
        yield { outputTranscription: { text: 'squawk' } };
        yield { turnComplete: true };
      }
      this.#wake = Promise.withResolvers();
      if (!this.#isClosed) await this.#wake.promise;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wake.resolve();
  }
}

class LiveEcho extends Echo {
  override connect(): Promise<BaseLlmConnection> {
    return Promise.resolve(new Parrot());
  }
}

/** A model that calls its tool, and then reports the result. */
class Worker extends BaseLlm {
  readonly #tell: (name: string, step: string) => Promise<void>;

  constructor(tell: (name: string, step: string) => Promise<void>) {
    super({ model: 'worker' });
    this.#tell = tell;
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const name = contents[0]?.parts?.[0]?.text ?? '';
    if (!contents.at(-1)?.parts?.[0]?.functionResponse) {
      yield { content: { role: 'model', parts: [{ functionCall: { name: 'work', args: { name } } }] } };
      return;
    }
    await this.#tell(name, 'answer');
    yield { content: { role: 'model', parts: [{ text: 'so ' }] }, partial: true };
    await this.#tell(name, 'stream');
    yield { content: { role: 'model', parts: [{ text: 'so it is done' }] } };
  }
}

function createWorker({ WATCHER = '' }: Env): LlmAgent {
  const tell = async (name: string, step: string): Promise<void> => {
    await (await fetch(`${WATCHER}/${name}/${step}`)).text();
  };
  const work = new FunctionTool({
    name: 'work',
    description: 'Works.',
    execute: async ({ name }) => {
      await tell(String(name), 'work');
      return { worked: true };
    },
  });
  return new LlmAgent({ name: 'worker', model: new Worker(tell), tools: [work] });
}

const server = createCloudflareServer<Env>({
  appNames: ['app', 'voice', 'shop'],
  live: liveEndpoint(),
  runners: (env, services) => [
    new Runner({ appName: 'app', agent: new LlmAgent({ name: 'echo', model: new Echo() }), ...services }),
    new Runner({
      appName: 'voice',
      agent: new LlmAgent({ name: 'parrot', model: new LiveEcho() }),
      live: live(),
      ...services,
    }),
    new Runner({ appName: 'shop', agent: createWorker(env), resumable: true, ...services }),
  ],
});

export const { UserObject, AppStateObject } = server;
export default server.handler;
