import { InMemoryArtifactService } from '@eventloom/artifacts';
import { BasePlugin, type Event } from '@eventloom/core';
import { LiveRequestQueue, LlmAgent, type LlmAgentConfig } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, ScriptedLiveModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { Runner } from '../runner.ts';
import type { RunnerConfig } from '../runner-config.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const GRACE_MS = 4000;

/** Never settles, and says when it was asked. */
function endless(asked: Gate): () => Promise<never> {
  return async () => {
    void asked.pass();
    return new Promise<never>(() => undefined);
  };
}

interface Parts {
  readonly agent?: Partial<LlmAgentConfig>;
  readonly runner?: Partial<RunnerConfig>;
}

class EndlessPlugin extends BasePlugin {
  readonly #asked: Gate;

  constructor(asked: Gate) {
    super('endless');
    this.#asked = asked;
  }

  override onUserMessageCallback(): Promise<undefined> {
    return endless(this.#asked)();
  }
}

class EndlessArtifactService extends InMemoryArtifactService {
  readonly #asked: Gate;

  constructor(asked: Gate) {
    super({ platform: fixedPlatform() });
    this.#asked = asked;
  }

  override saveArtifact(): Promise<number> {
    return endless(this.#asked)();
  }
}

async function setup(parts: (asked: Gate) => Parts) {
  const asked = new Gate();
  const { agent, runner: wired } = parts(asked);
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const audio = { inlineData: { data: 'AAAA', mimeType: 'audio/pcm' } };
  const model = new ScriptedLiveModel([
    [{ heard: 'content' }, { content: { role: 'model', parts: [audio] } }, { turnComplete: true }],
  ]);
  const runner = new Runner({
    appName: 'app',
    agent: new LlmAgent({ name: 'bot', model, ...agent }),
    sessionService,
    platform,
    ...wired,
  });
  const queue = new LiveRequestQueue();
  queue.sendContent({ role: 'user', parts: [{ text: 'hi' }] });
  const runConfig = { saveLiveBlob: wired?.artifactService !== undefined };
  const stream = runner.runLive({ userId: 'u', sessionId: 's', liveRequestQueue: queue, runConfig });
  return { asked, platform, queue, stream };
}

async function readAll(stream: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

test.each<[string, (asked: Gate) => Parts]>([
  ['an instruction', (asked) => ({ agent: { instruction: endless(asked) } })],
  ['beforeModelCallback', (asked) => ({ agent: { beforeModelCallback: endless(asked) } })],
  ['afterModelCallback', (asked) => ({ agent: { afterModelCallback: endless(asked) } })],
  ['onUserMessageCallback', (asked) => ({ runner: { plugins: [new EndlessPlugin(asked)] } })],
  ['saveArtifact', (asked) => ({ runner: { artifactService: new EndlessArtifactService(asked) } })],
])('a queue that is closed ends the run in peace where this never settles: %s', async (what, parts) => {
  const { asked, platform, queue, stream } = await setup(parts);
  const reading = readAll(stream);
  await asked.reached;
  queue.close();
  // All that can be done is done; the others of the application get some time.
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
  platform.advance(GRACE_MS);
  const events = await reading;
  expect(events.flatMap(({ errorCode = [] }) => errorCode)).toEqual(what === 'saveArtifact' ? ['AUDIO_NOT_SAVED'] : []);
});
