/**
 * The apps of the scenarios, in Node and in workerd. The test plays the model and opens the gates from its own process, at
 * the address `modelUrl`.
 */
import { BaseLlm, type LlmRequest, type LlmResponse } from '@eventloom/core';
import { InMemoryCredentialService } from '@eventloom/credentials';
import { StateGraph, END, START } from '@eventloom/graph';
import { live } from '@eventloom/live';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner, type RunnerConfig } from '@eventloom/runner';
import { ScriptedLiveModel } from '@eventloom/testing';
import { ask, login, look, pay, save } from './studio-tools.ts';

/** A line that the test sends: a response of the model, or its error. */
export type ModelLine = { readonly response: LlmResponse } | { readonly error: string };

class RemoteModel extends BaseLlm {
  readonly #url: string;

  constructor(url: string) {
    super({ model: 'scripted' });
    this.#url = url;
  }

  override async *generateContentAsync(
    _request: LlmRequest,
    stream = false,
    signal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void> {
    const { body } = await fetch(`${this.#url}/model?stream=${stream}`, { method: 'POST', signal: signal ?? null });
    let rest = '';
    for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const sent = JSON.parse(line) as ModelLine;
        if ('error' in sent) throw new TypeError(sent.error);
        yield sent.response;
      }
    }
  }
}

const speech = { inlineData: { mimeType: 'audio/pcm;rate=24000', data: btoa('\u0028\u0023'.repeat(48_000)) } };

/** Creates the runners of the apps `app` (an agent with all tools), `ways` (a graph) and `voice`. */
export function scenarioRunners(
  modelUrl: string,
  services: Pick<RunnerConfig, 'sessionService' | 'artifactService' | 'platform' | 'instrumentation'>,
): Runner[] {
  const pass = async (): Promise<never[]> => {
    await fetch(`${modelUrl}/gate`);
    return [];
  };
  const helper = new LlmAgent({
    name: 'helper',
    model: new RemoteModel(modelUrl),
    tools: [ask, login, look, pay, save],
  });
  const ways = new StateGraph({ name: 'ways' })
    .addNode('choose', (text: string) => text)
    .addNode('left', async () => void (await pass()))
    .addNode('right', () => undefined)
    .addEdge(START, 'choose')
    .addConditionalEdges('choose', (text) => (text === 'left' ? 'left' : 'right'), { left: 'left', right: 'right' })
    .addEdge('left', END)
    .addEdge('right', END)
    .compile();
  const model = new ScriptedLiveModel(() => [
    { heard: 'blob' },
    { inputTranscription: { text: 'What color?', finished: true } },
    { content: { role: 'model', parts: [speech] } },
    { outputTranscription: { text: 'The sky is blue.', finished: true } },
    pass,
    { interrupted: true },
    { turnComplete: true },
    { heard: 'content' },
  ]);
  const speaker = new LlmAgent({ name: 'speaker', model });
  // The lease of a killed server expires soon.
  const shared = { resumable: true, leaseTtlMs: 2000, credentialService: new InMemoryCredentialService(), ...services };
  return [
    new Runner({ ...shared, appName: 'app', agent: helper }),
    new Runner({ ...shared, appName: 'ways', agent: ways }),
    new Runner({ ...shared, appName: 'voice', agent: speaker, live: live() }),
  ];
}
