import { InMemoryArtifactService } from '@eventloom/artifacts';
import { BaseAgent, BasePlugin, type Event, type InvocationContext } from '@eventloom/core';
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

type Hook =
  | 'onUserMessageCallback'
  | 'onEventCallback'
  | 'beforeRunCallback'
  | 'afterRunCallback'
  | 'beforeAgentCallback';

/** A plugin of which one callback never settles. */
function endlessPlugin(hook: Hook, asked: Gate): BasePlugin {
  class EndlessPlugin extends BasePlugin {}
  Object.defineProperty(EndlessPlugin.prototype, hook, { value: endless(asked) });
  return new EndlessPlugin('endless');
}

/** An agent of the application's that never comes to its end. */
class EndlessAgent extends BaseAgent {
  readonly #asked: Gate;

  constructor(asked: Gate) {
    super({ name: 'endless' });
    this.#asked = asked;
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return this.#wait(context);
  }

  protected override runLiveImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return this.#wait(context);
  }

  async *#wait(context: InvocationContext): AsyncGenerator<Event, void, void> {
    await endless(this.#asked)();
    yield context.createEvent();
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
  return { asked, platform, queue, stream, sessionService };
}

async function readAll(stream: AsyncIterable<Event>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

/** Closes the queue when what never settles is asked, or at once where it is asked at the end, and gives it its time. */
async function hangUp(parts: (asked: Gate) => Parts, when: 'asked' | 'atOnce' = 'asked') {
  const { asked, platform, queue, stream, sessionService } = await setup(parts);
  const reading = readAll(stream);
  if (when === 'atOnce') queue.close();
  await asked.reached;
  queue.close();
  // All that can be done is done; the others of the application get some time.
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
  const pendingTimers = platform.pendingTimers;
  platform.advance(GRACE_MS - 1);
  expect(platform.pendingTimers).toBe(pendingTimers);
  platform.advance(1);
  return { events: await reading, platform, sessionService };
}

interface Unsettled {
  readonly what: string;
  readonly parts: (asked: Gate) => Parts;
  /** For what is asked at the end of a run alone. */
  readonly when?: 'atOnce';
}

const unsettled: readonly Unsettled[] = [
  { what: 'an instruction', parts: (asked) => ({ agent: { instruction: endless(asked) } }) },
  { what: 'beforeModelCallback', parts: (asked) => ({ agent: { beforeModelCallback: endless(asked) } }) },
  { what: 'afterModelCallback', parts: (asked) => ({ agent: { afterModelCallback: endless(asked) } }) },
  {
    what: 'onUserMessageCallback',
    parts: (asked) => ({ runner: { plugins: [endlessPlugin('onUserMessageCallback', asked)] } }),
  },
  { what: 'saveArtifact', parts: (asked) => ({ runner: { artifactService: new EndlessArtifactService(asked) } }) },
  { what: 'beforeAgentCallback', parts: (asked) => ({ agent: { beforeAgentCallback: endless(asked) } }) },
  {
    what: 'beforeAgentCallback of a plugin',
    parts: (asked) => ({ runner: { plugins: [endlessPlugin('beforeAgentCallback', asked)] } }),
  },
  {
    what: 'beforeRunCallback',
    parts: (asked) => ({ runner: { plugins: [endlessPlugin('beforeRunCallback', asked)] } }),
  },
  { what: 'onEventCallback', parts: (asked) => ({ runner: { plugins: [endlessPlugin('onEventCallback', asked)] } }) },
  { what: 'an agent', parts: (asked) => ({ runner: { agent: new EndlessAgent(asked) } }) },
  { what: 'afterAgentCallback', parts: (asked) => ({ agent: { afterAgentCallback: endless(asked) } }), when: 'atOnce' },
  {
    what: 'afterRunCallback',
    parts: (asked) => ({ runner: { plugins: [endlessPlugin('afterRunCallback', asked)] } }),
    when: 'atOnce',
  },
];

test.each(unsettled)(
  'a queue that is closed ends the run in peace where this never settles: $what',
  async ({ what, parts, when }) => {
    const { events } = await hangUp(parts, when);
    expect(events.flatMap(({ errorCode = [] }) => errorCode)).toEqual(
      what === 'saveArtifact' ? ['AUDIO_NOT_SAVED'] : [],
    );
  },
);

test.each(unsettled)(
  'what was abandoned is told to the platform, and the session is free: $what',
  async ({ parts, when }) => {
    const { platform, sessionService } = await hangUp(parts, when);
    await expect(platform.drain()).rejects.toThrow(/did not settle within 4 seconds of the end of the call/);
    const agent = new LlmAgent({ name: 'next', model: new ScriptedLiveModel([[{ heard: 'content' }, 'Hello']]) });
    const liveRequestQueue = new LiveRequestQueue();
    liveRequestQueue.sendContent({ role: 'user', parts: [{ text: 'again' }] });
    liveRequestQueue.close();
    const next = new Runner({ appName: 'app', agent, sessionService, platform });
    const runConfig = { onBusy: 'reject' } as const;
    const stored = await readAll(next.runLive({ userId: 'u', sessionId: 's', liveRequestQueue, runConfig }));
    expect(stored[0]?.content?.parts).toEqual([{ text: 'again' }]);
  },
);

test('a conversation is not cut short by the time that it takes after the client hung up', async () => {
  const ending = new Gate();
  const { platform, queue, stream } = await setup(() => ({
    agent: {
      afterModelCallback: async () => {
        await ending.pass();
        return undefined;
      },
    },
  }));
  const reading = readAll(stream);
  await ending.reached;
  queue.close();
  platform.advance(GRACE_MS - 1);
  ending.open();
  const events = await reading;
  expect(events.some(({ content }) => content?.parts?.[0]?.text === 'hi')).toBe(true);
  await platform.drain();
});
