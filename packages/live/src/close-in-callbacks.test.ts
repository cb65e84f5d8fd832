import { InMemoryArtifactService } from '@eventloom/artifacts';
import { BaseAgent, BasePlugin, type Event, type InvocationContext, LiveConnectionError } from '@eventloom/core';
import { LlmAgent, type LlmAgentConfig, BaseEventsSummarizer } from '@eventloom/llm-agent';
import { SequentialAgent } from '@eventloom/multi-agent';
import { Runner } from '@eventloom/runner';
import { fixedPlatform, Gate, ScriptedLiveModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { readAll } from './fixtures/live-turns.ts';
import { live } from './live.ts';
import { LiveRequestQueue } from './live-request-queue.ts';
import { liveScenario, type LiveScenarioOptions } from './fixtures/live-scenario.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
/** Time that a callback has after the client left: during a conversation, for saved audio, and around a conversation. */
const GRACE_MS = { short: 4000, saving: 30_000, long: 60_000 };

/** A function that never settles, and reports its call. */
function endless(asked: Gate): () => Promise<never> {
  return async () => {
    void asked.pass();
    return new Promise<never>(() => undefined);
  };
}

interface Parts {
  readonly agent?: Partial<LlmAgentConfig>;
  readonly runner?: LiveScenarioOptions;
}

type Hook =
  | 'onUserMessageCallback'
  | 'onEventCallback'
  | 'beforeRunCallback'
  | 'afterRunCallback'
  | 'beforeAgentCallback';

/** A plugin of which one callback never settles. */
function plugin(hook: Hook, asked: Gate): Parts {
  class EndlessPlugin extends BasePlugin {}
  Object.defineProperty(EndlessPlugin.prototype, hook, { value: endless(asked) });
  return { runner: { plugins: [new EndlessPlugin('endless')] } };
}

/** A custom agent that never ends. */
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
  const audio = { inlineData: { data: 'AAAA', mimeType: 'audio/pcm' } };
  const model = new ScriptedLiveModel([
    [{ heard: 'content' }, { content: { role: 'model', parts: [audio] } }, { turnComplete: true }],
  ]);
  const runConfig = { saveLiveBlob: wired?.artifactService !== undefined };
  const played = await liveScenario({ model, ...(agent && { agent }), runConfig, ...wired });
  played.queue.sendContent({ role: 'user', parts: [{ text: 'hi' }] });
  return { ...played, asked };
}

/** Returns true if the promise settles without time passing. */
async function settled(work: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  void work.then(() => (isSettled = true));
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
  return isSettled;
}

/** Closes the queue when the function that never settles is called, or at once if it is called at the end, and waits for the time-out. */
async function hangUp({ parts, grace, when }: Unsettled) {
  const { asked, platform, queue, stream, sessionService } = await setup(parts);
  const reading = readAll(stream);
  if (when === 'atOnce') queue.close();
  await asked.reached;
  queue.close();
  // All work that needs no time has settled; other work of the application gets some time.
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
  const graceMs = GRACE_MS[grace ?? 'short'];
  platform.advance(graceMs - 1);
  await expect(settled(reading)).resolves.toBe(false);
  platform.advance(1);
  return { events: await reading, platform, sessionService };
}

interface Unsettled {
  readonly what: string;
  readonly parts: (asked: Gate) => Parts;
  /** Default `short`. */
  readonly grace?: 'saving' | 'long';
  /** Only for functions that are called at the end of a run. */
  readonly when?: 'atOnce';
}

/** A summarizer that never settles. */
function endlessSummarizer(asked: Gate): BaseEventsSummarizer {
  class EndlessSummarizer extends BaseEventsSummarizer {
    override maybeSummarizeEvents = endless(asked);
  }
  return new EndlessSummarizer();
}

/** Calls that give control away, and a callback that never settles before one is run. */
function handingOver(name: string, asked: Gate): Parts {
  const call = { functionCall: { id: 'c1', name, args: { agent_name: 'other' } } };
  const model = new ScriptedLiveModel([[{ heard: 'content' }, { content: { role: 'model', parts: [call] } }]]);
  const beforeToolCallback = endless(asked);
  if (name === 'transfer_to_agent') {
    const other = new LlmAgent({ name: 'other', model: new ScriptedLiveModel([[]]) });
    return { agent: { model, beforeToolCallback, subAgents: [other] } };
  }
  const bot = new LlmAgent({ name: 'bot', model, beforeToolCallback });
  return { runner: { agent: new SequentialAgent({ name: 'line', subAgents: [bot] }) } };
}

/** A model with connections of which one method never settles. */
function stuckModel(part: 'connect' | 'close' | 'sendContent', asked: Gate): ScriptedLiveModel {
  class StuckModel extends ScriptedLiveModel {
    override async connect(...args: Parameters<ScriptedLiveModel['connect']>) {
      if (part === 'connect') return endless(asked)();
      const connection = await super.connect(...args);
      if (part === 'close') void asked.pass();
      Object.defineProperty(connection, part, { value: endless(asked) });
      return connection;
    }
  }
  return new StuckModel([[{ heard: 'content' }]]);
}

const unsettled: readonly Unsettled[] = [
  { what: 'an instruction', parts: (asked) => ({ agent: { instruction: endless(asked) } }) },
  { what: 'beforeModelCallback', parts: (asked) => ({ agent: { beforeModelCallback: endless(asked) } }) },
  { what: 'afterModelCallback', parts: (asked) => ({ agent: { afterModelCallback: endless(asked) } }) },
  { what: 'onUserMessageCallback', parts: (asked) => plugin('onUserMessageCallback', asked) },
  {
    what: 'saveArtifact',
    parts: (asked) => ({ runner: { artifactService: new EndlessArtifactService(asked) } }),
    grace: 'saving',
  },
  { what: 'a callback of a hand-over', parts: (asked) => handingOver('transfer_to_agent', asked) },
  { what: 'a callback of task_completed', parts: (asked) => handingOver('task_completed', asked) },
  { what: 'connect', parts: (asked) => ({ agent: { model: stuckModel('connect', asked) } }), grace: 'long' },
  { what: 'close', parts: (asked) => ({ agent: { model: stuckModel('close', asked) } }), grace: 'long' },
  { what: 'sendContent', parts: (asked) => ({ agent: { model: stuckModel('sendContent', asked) } }), grace: 'long' },
  {
    what: 'beforeAgentCallback',
    parts: (asked) => ({ agent: { beforeAgentCallback: endless(asked) } }),
    grace: 'long',
  },
  { what: 'beforeAgentCallback of a plugin', parts: (asked) => plugin('beforeAgentCallback', asked), grace: 'long' },
  { what: 'beforeRunCallback', parts: (asked) => plugin('beforeRunCallback', asked), grace: 'long' },
  { what: 'onEventCallback', parts: (asked) => plugin('onEventCallback', asked), grace: 'long' },
  {
    what: 'a summarizer',
    parts: (asked) => ({
      runner: { eventsCompaction: { summarizer: endlessSummarizer(asked), compactionInterval: 1 } },
    }),
    grace: 'long',
    when: 'atOnce',
  },
  { what: 'an agent', parts: (asked) => ({ runner: { agent: new EndlessAgent(asked) } }), grace: 'long' },
  {
    what: 'afterAgentCallback',
    parts: (asked) => ({ agent: { afterAgentCallback: endless(asked) } }),
    grace: 'long',
    when: 'atOnce',
  },
  { what: 'afterRunCallback', parts: (asked) => plugin('afterRunCallback', asked), grace: 'long', when: 'atOnce' },
];

test.each(unsettled)('closing the queue ends the run without an error where this never settles: $what', async (one) => {
  const { events } = await hangUp(one);
  expect(events.flatMap(({ errorCode = [] }) => errorCode)).toEqual(
    one.what === 'saveArtifact' ? ['AUDIO_NOT_SAVED'] : [],
  );
});

test.each(unsettled)(
  'code that never settles is reported to the platform, and the session is unlocked: $what',
  async (one) => {
    const { platform, sessionService } = await hangUp(one);
    await expect(platform.drain()).rejects.toThrow(/did not settle within (4|30|60) seconds after the end of the call/);
    const agent = new LlmAgent({ name: 'next', model: new ScriptedLiveModel([[{ heard: 'content' }, 'Hello']]) });
    const liveRequestQueue = new LiveRequestQueue();
    liveRequestQueue.sendContent({ role: 'user', parts: [{ text: 'again' }] });
    liveRequestQueue.close();
    const next = new Runner({ appName: 'app', live: live(), agent, sessionService, platform });
    const runConfig = { onBusy: 'reject' } as const;
    const stored = await readAll(next.runLive({ userId: 'u', sessionId: 's', liveRequestQueue, runConfig }));
    expect(stored[0]?.content?.parts).toEqual([{ text: 'again' }]);
  },
);

test('code that settles within the time-out after a hang-up delivers its event', async () => {
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
  platform.advance(GRACE_MS.short - 1);
  ending.open();
  const events = await reading;
  expect(events.some(({ content }) => content?.parts?.[0]?.text === 'hi')).toBe(true);
  await platform.drain();
});

test('text that cannot be sent after a hang-up is stored after one more attempt, with an error event', async () => {
  const lost = new LiveConnectionError('lost', { closeCode: 1006, isRetryable: true, errorCode: 'UNAVAILABLE' });
  const fixed = fixedPlatform();
  const attempt = new Gate();
  class SlowModel extends ScriptedLiveModel {
    override async connect(...args: Parameters<ScriptedLiveModel['connect']>) {
      // Time of an attempt at a service that does not answer: each attempt restarts the time limit of the run.
      await attempt.pass();
      fixed.advance(GRACE_MS.long - 1);
      await Promise.resolve();
      return super.connect(...args);
    }
  }
  const model = new SlowModel([lost, lost, lost]);
  const { queue, stream, platform, sessionService } = await setup(() => ({
    agent: { model },
    runner: { platform: fixed },
  }));
  const reading = readAll(stream);
  await attempt.reached;
  queue.sendRealtime({ data: 'AAAA', mimeType: 'audio/pcm' });
  queue.sendContent({ role: 'user', parts: [{ text: 'are you there?' }] });
  queue.close();
  attempt.open();
  const summarize = ({ errorCode, content }: Event) => errorCode ?? content?.parts?.[0]?.text;
  expect((await reading).map(summarize)).toEqual(['hi', 'are you there?', 'UNAVAILABLE']);
  expect(model.attempts).toBe(2);
  expect((await sessionService.getSession(KEY))?.events.map(summarize)).toEqual([
    'hi',
    'are you there?',
    'UNAVAILABLE',
  ]);
  await platform.drain();
});

test('closing the queue of a run that waits for its session ends the run, unless requests are queued', async () => {
  const { model, startLive } = await liveScenario({
    model: [[], [{ heard: 'content' }, 'Hello', { turnComplete: true }]],
  });
  const call = (): { queue: LiveRequestQueue; reading: Promise<Event[]> } => {
    const queue = new LiveRequestQueue();
    return { queue, reading: readAll(startLive(queue)) };
  };
  const first = call();
  await model.connection(0);
  const silent = call();
  const talking = call();
  talking.queue.sendContent({ role: 'user', parts: [{ text: 'hi' }] });
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  silent.queue.close();
  talking.queue.close();
  expect(await silent.reading).toEqual([]);
  await expect(settled(talking.reading)).resolves.toBe(false);
  first.queue.close();
  await first.reading;
  expect((await talking.reading)[0]?.content?.parts).toEqual([{ text: 'hi' }]);
});
