import { InMemoryArtifactService } from '@eventloom/artifacts';
import { BaseAgent, type Event, type InvocationContext } from '@eventloom/core';
import { effectiveEvents } from '@eventloom/llm-agent/internal';
import {
  BaseEventsSummarizer,
  createCompactionEvent,
  type EventsCompactionConfig,
  type SummarizeEventsRequest,
} from '@eventloom/llm-agent';
import { fixedPlatform, userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { IDS, KEY, scenario } from './fixtures/scenario.ts';
import { Runner } from './runner.ts';
import { seededRandom } from '../../testing/src/seeded-random.ts';

const STATE_KEYS = ['a', 'b', '__proto__', 'user:a', 'app:a', 'temp:a'];
const FILENAMES = ['report', 'notes/day', 'user:photo'];

/** The expected session. A rewind restores the session's own state and artifacts, and does not change shared state. */
interface Model {
  own: ReadonlyMap<string, unknown>;
  readonly shared: Map<string, unknown>;
  artifacts: ReadonlyMap<string, string>;
  readonly userArtifacts: Map<string, string>;
  /** The texts of the effective events. */
  words: readonly string[];
}

/** The part of a model that a rewind restores. */
type Memory = Pick<Model, 'own' | 'artifacts' | 'words'>;

class WordSummarizer extends BaseEventsSummarizer {
  override async maybeSummarizeEvents({ events }: SummarizeEventsRequest): Promise<Event | undefined> {
    return createCompactionEvent({ role: 'model', parts: [{ text: events.flatMap(wordsOf).join(' ') }] });
  }
}

function wordsOf({ content }: Pick<Event, 'content'>): string[] {
  return content?.parts?.flatMap(({ text }) => text?.split(' ') ?? []).filter(Boolean) ?? [];
}

/** The changes of one turn. */
interface Turn {
  readonly word: string;
  readonly stateDelta: Record<string, unknown>;
  readonly removedState: string[];
  readonly saved: ReadonlyMap<string, string>;
}

/** An agent that takes one turn, and records the events and state it gets. */
class Acting extends BaseAgent {
  turn: Turn | undefined;
  seen: readonly string[] = [];

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    this.seen = effectiveEvents(context.session.events).flatMap((item) =>
      wordsOf('summary' in item ? { content: item.summary } : item),
    );
    const { turn } = this;
    if (!turn) return;
    const artifactDelta: Record<string, number> = {};
    for (const [filename, text] of turn.saved) {
      const version = await context.artifactService?.saveArtifact({ ...KEY, filename, artifact: { text } });
      artifactDelta[filename] = version ?? -1;
    }
    yield context.createEvent({
      author: 'bot',
      content: { role: 'model', parts: [{ text: `r-${turn.word}` }] },
      actions: { stateDelta: turn.stateDelta, removedState: turn.removedState, artifactDelta },
    });
  }
}

/** A session under random turns, and the model of it. */
async function setUp(seed: number) {
  const random = seededRandom(seed);
  const upTo = (count: number): number => Math.floor(random() * count);
  const pick = <T>(from: readonly T[]): T => from[upTo(from.length)] as T;
  const platform = fixedPlatform();
  const artifactService = new InMemoryArtifactService({ platform });
  const agent = new Acting({ name: 'bot' });
  const summarizer = new WordSummarizer();
  const eventsCompaction = pick<EventsCompactionConfig | undefined>([
    undefined,
    { summarizer, compactionInterval: 2 },
    { summarizer, compactionInterval: 2, overlapSize: 1 },
    { summarizer, tokenThreshold: 12, eventRetentionSize: upTo(5) },
  ]);
  const state = { a: 'given', 'user:b': 'given' };
  const { sessionService, restart } = await scenario({ agent, artifactService, platform, eventsCompaction, state });
  const make = () => restart().runner;
  const model: Model = {
    own: new Map([['a', 'given']]),
    shared: new Map([['user:b', 'given']]),
    artifacts: new Map(),
    userArtifacts: new Map(),
    words: [],
  };
  const runners = [make(), make()];
  /** Returns a runner that has the session in its cache, or a new one. */
  const runner = (): Runner => (upTo(3) === 0 ? make() : pick(runners));
  const hasOverlap = eventsCompaction?.overlapSize !== undefined;
  return { upTo, pick, platform, sessionService, artifactService, agent, model, runner, hasOverlap };
}

/** Applies a turn to the model. */
function apply(model: Model, { word, stateDelta, removedState, saved }: Turn): void {
  const own = new Map(model.own);
  const change = (key: string, act: (state: Map<string, unknown>) => void): void => {
    if (!key.startsWith('temp:')) act(key.includes(':') ? model.shared : own);
  };
  for (const [key, value] of Object.entries(stateDelta)) change(key, (state) => state.set(key, value));
  for (const key of removedState) change(key, (state) => state.delete(key));
  const artifacts = new Map(model.artifacts);
  for (const [filename, text] of saved)
    (filename.startsWith('user:') ? model.userArtifacts : artifacts).set(filename, text);
  Object.assign(model, { own, artifacts, words: [...model.words, word, `r-${word}`] });
}

async function play(seed: number): Promise<void> {
  const { upTo, pick, platform, sessionService, artifactService, agent, model, runner, hasOverlap } = await setUp(seed);
  const memories = new Map<string, Memory>();
  const randomTurn = (word: string): Turn => {
    const stateDelta: Record<string, unknown> = Object.create(null);
    for (let count = upTo(3); count > 0; count--) stateDelta[pick(STATE_KEYS)] = pick([null, word, { in: [word] }]);
    const removedState = upTo(3) === 0 ? [pick(STATE_KEYS)] : [];
    const saved = new Map(Array.from({ length: upTo(3) }, (_, index) => [pick(FILENAMES), `${word}.${index}`]));
    return { word, stateDelta, removedState, saved };
  };
  for (let step = 1; step <= 14; step++) {
    const label = `seed ${seed}, step ${step}`;
    platform.advance(pick([0, 1, 1000]));
    const action = upTo(10);
    if (action < 3 && memories.size > 0) {
      const [target, memory] = pick([...memories]);
      const now = { own: model.own, artifacts: model.artifacts, words: model.words };
      const event = await runner().rewindAsync({ ...IDS, rewindBeforeInvocationId: target });
      memories.set(event.invocationId, now);
      Object.assign(model, memory);
      // Artifacts that did not exist before the turn are deleted with all versions; nothing restores them.
      const gone = [...now.artifacts.keys()].filter((filename) => !memory.artifacts.has(filename));
      for (const [id, { artifacts, ...rest }] of memories)
        memories.set(id, {
          ...rest,
          artifacts: new Map([...artifacts].filter(([filename]) => !gone.includes(filename))),
        });
    } else if (action === 3) {
      const session = (await sessionService.getSession(KEY)) ?? expect.unreachable();
      const id = `elsewhere-${step}`;
      memories.set(id, { own: model.own, artifacts: model.artifacts, words: model.words });
      await sessionService.appendEvent({
        session,
        event: userEvent(id, { id, invocationId: id, timestamp: pick([1, 4e9]) }),
      });
      model.words = [...model.words, id];
    } else {
      const turn = randomTurn(`u${step}`);
      const memory = { own: model.own, artifacts: model.artifacts, words: model.words };
      agent.turn = turn;
      const stream = runner().runAsync({ ...IDS, newMessage: { parts: [{ text: turn.word }] } });
      for await (const _ of stream);
      memories.set(stream.invocationId, memory);
      // Overlapping windows have some texts twice.
      const seen = hasOverlap ? [...new Set(agent.seen)] : [...agent.seen];
      expect(seen.sort(), label).toEqual([...model.words, turn.word].sort());
      apply(model, turn);
    }
    const { state } = (await sessionService.getSession(KEY)) ?? expect.unreachable();
    expect(new Map(Object.entries(state)), label).toEqual(new Map([...model.own, ...model.shared]));
    const held = new Map<string, string | undefined>();
    for (const filename of await artifactService.listArtifactKeys(KEY))
      held.set(filename, (await artifactService.loadArtifact({ ...KEY, filename }))?.text);
    expect(held, label).toEqual(new Map([...model.artifacts, ...model.userArtifacts]));
  }
}

test.each(Array.from({ length: 10 }, (_, index) => index * 25))(
  'random messages, writes, artifacts, compactions and rewinds give the state, artifacts and contents of a simple model (seeds from %i)',
  async (first) => {
    for (let seed = first; seed < first + 25; seed++) await play(seed);
  },
);
