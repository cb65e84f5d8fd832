import {
  BaseLlm,
  type Content,
  type Event,
  type GetSessionConfig,
  type LlmRequest,
  type LlmResponse,
  type Part,
  type Platform,
} from '@eventloom/core';
import {
  LlmAgent,
  BaseEventsSummarizer,
  createCompactionEvent,
  type EventsCompactionConfig,
  type SummarizeEventsRequest,
} from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { KEY } from './fixtures/scenario.ts';
import { Runner } from './runner.ts';
import { seededRandom } from '../../testing/src/seeded-random.ts';

/** Returns distinct words for the texts, calls and responses of a content. */
function wordsOf(content: Content | undefined): string[] {
  return (content?.parts ?? []).flatMap(({ text, functionCall, functionResponse }: Part) => {
    if (functionCall) return [`call:${functionCall.id}`];
    // The interim response of a waiting call is not an answer.
    if (functionResponse?.response?.['status'] === 'pending') return [];
    if (functionResponse) return [`response:${functionResponse.id}:${String(functionResponse.response?.['n'])}`];
    return text?.split(' ') ?? [];
  });
}

class WordSummarizer extends BaseEventsSummarizer {
  override async maybeSummarizeEvents({ events }: SummarizeEventsRequest): Promise<Event | undefined> {
    const text = events.flatMap(({ content }) => wordsOf(content)).join(' ');
    return createCompactionEvent({ role: 'model', parts: [{ text }] });
  }
}

/** A model that answers with random text, or calls one of two tools. */
class RandomModel extends BaseLlm {
  readonly #upTo: (count: number) => number;
  request: LlmRequest | undefined;
  /** The first request of a run. */
  first: LlmRequest | undefined;
  /** True makes the model answer with the same text each time. */
  isAsked = false;
  #count = 0;

  constructor(upTo: (count: number) => number) {
    super({ model: 'random' });
    this.#upTo = upTo;
  }

  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void> {
    this.request = request;
    this.first ??= request;
    if (this.isAsked) return yield { content: { role: 'model', parts: [{ text: 'asked' }] } };
    const n = ++this.#count;
    const tool = ['look', 'wait', 'none', 'none', 'none'][this.#upTo(5)];
    const parts =
      tool === 'none' ? [{ text: `a${n}` }] : [{ functionCall: { id: `${tool}-${n}`, name: tool ?? '', args: {} } }];
    const usageMetadata = { promptTokenCount: request.contents.length };
    yield { content: { role: 'model', parts }, ...(this.#upTo(3) === 0 ? {} : { usageMetadata }) };
  }
}

/** A session with random operations by two processes whose clocks differ, and a model of its expected content. */
async function setUp(seed: number) {
  const random = seededRandom(seed);
  const upTo = (count: number): number => Math.floor(random() * count);
  const clocks = [fixedPlatform(), fixedPlatform({ now: Date.UTC(2026, 0, 1) - upTo(3) * 700 })] as const;
  const [platform, other] = clocks;
  const platforms: Platform[] = [
    platform,
    { ...other, newEventId: () => `b-${other.newEventId()}`, newUuid: () => `b-${other.newUuid()}` },
  ];
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const model = new RandomModel(upTo);
  const look = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => ({ n: 0 }) });
  const wait = new LongRunningFunctionTool({ name: 'wait', description: 'Waits.', execute: () => undefined });
  const agent = new LlmAgent({ name: 'bot', model, tools: [look, wait] });
  const window = { compactionInterval: 1 + upTo(4), overlapSize: upTo(3) };
  const tokens = { tokenThreshold: 3 + upTo(8), eventRetentionSize: upTo(6) };
  const summarizer = new WordSummarizer();
  const eventsCompaction: EventsCompactionConfig = [
    { summarizer, ...window },
    { summarizer, ...tokens },
    { summarizer, ...window, ...tokens },
  ][upTo(3)] as EventsCompactionConfig;
  const make = (clock: Platform) =>
    new Runner({ appName: 'app', agent, sessionService, platform: clock, eventsCompaction });
  const runners = platforms.map(make);

  const say = async (message: Content): Promise<void> => {
    for (const clock of clocks) clock.advance([0, 0, 1, 1000][upTo(4)] ?? 0);
    await (runners[upTo(2)] as Runner).run({ userId: 'u', sessionId: 's', newMessage: message });
  };
  /** Returns the contents that the model gets in a copy of the session, in a process that has no cache of it. */
  const ask = async (copy: string, getSessionConfig?: GetSessionConfig): Promise<Content[]> => {
    await sessionService.importSession({ records: sessionService.exportSession(KEY), sessionId: copy });
    model.isAsked = true;
    const newMessage = { parts: [{ text: 'asked' }] };
    await make(platform).run({ userId: 'u', sessionId: copy, newMessage, runConfig: { getSessionConfig } });
    model.isAsked = false;
    await sessionService.deleteSession({ ...KEY, sessionId: copy });
    return model.request?.contents ?? [];
  };
  const events = async (): Promise<Event[]> => (await sessionService.getSession(KEY))?.events ?? [];
  return { upTo, say, ask, events, runners, model, hasOverlap: (eventsCompaction.overlapSize ?? 0) > 0 };
}

/** Returns the words of a history without rewound events, and separately its summaries. A rewind that was itself rewound has no effect. */
function wordsThatCount(events: readonly Event[]): Set<string> {
  const at = events.findLastIndex(({ actions }) => actions.rewindBeforeInvocationId !== undefined);
  if (at < 0) {
    return new Set(events.flatMap(({ actions, content }) => (actions.compaction ? [] : wordsOf(content))));
  }
  const first = events.findIndex(({ invocationId }) => invocationId === events[at]?.actions.rewindBeforeInvocationId);
  return new Set([...wordsThatCount(events.slice(0, first)), ...wordsThatCount(events.slice(at + 1))]);
}

/** Returns the waiting calls among the effective words. */
function waiting(words: ReadonlySet<string>): string[] {
  const calls = [...words].filter((word) => word.startsWith('call:wait')).map((word) => word.slice('call:'.length));
  return calls.filter((id) => ![...words].some((word) => word.startsWith(`response:${id}:`)));
}

test.each(Array.from({ length: 60 }, (_, seed) => seed))(
  'after random compactions no event is lost or repeated, calls keep their responses, and cold and warm processes agree (%i)',
  async (seed) => {
    const { upTo, say, ask, events, runners, model, hasOverlap } = await setUp(seed);
    let answers = 0;
    for (let turn = 1; turn <= 30; turn++) {
      const label = `seed ${seed}, turn ${turn}`;
      const before = await events();
      const open = waiting(wordsThatCount(before));
      const begun = before.filter(({ author, actions }) => author === 'user' && !actions.compaction);
      const action = upTo(8);
      if (action === 0 && begun.length > 0) {
        const rewindBeforeInvocationId = begun[upTo(begun.length)]?.invocationId ?? '';
        await runners[upTo(2)]?.rewindAsync({ userId: 'u', sessionId: 's', rewindBeforeInvocationId });
        continue;
      }
      if (action < 3 && open.length > 0) {
        const functionResponse = { id: open[0] as string, name: 'wait', response: { n: ++answers } };
        await say({ parts: [{ functionResponse }] });
      } else {
        const unknowing = await ask(`before ${turn}`);
        model.first = undefined;
        await say({ parts: [{ text: `u${turn}` }] });
        const knowing: readonly Content[] = model.first?.['contents'] ?? [];
        expect(knowing.slice(0, -1), label).toEqual(unknowing.slice(0, -1));
      }
      const cold = await ask(`cold ${turn}`);
      expect(cold, label).toEqual(await ask(`whole ${turn}`, {}));

      const words = cold.flatMap(wordsOf).filter((word) => word !== 'asked');
      const wanted = wordsThatCount(await events());
      expect(new Set(words), label).toEqual(wanted);
      if (!hasOverlap) expect(words.length, label).toBe(wanted.size);

      for (const [index, { parts = [] }] of cold.entries()) {
        for (const { functionResponse, functionCall } of parts) {
          const previous = cold[index - 1]?.parts?.map((part) => part.functionCall?.id);
          if (functionResponse) expect(previous, label).toContain(functionResponse.id);
          const isOpen = functionCall && waiting(wanted).includes(functionCall.id ?? '');
          if (functionCall && !isOpen) expect(cold[index + 1]?.parts?.[0]?.functionResponse, label).toBeDefined();
        }
      }
    }
  },
  30_000,
);
