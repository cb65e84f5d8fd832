import {
  type BaseAgent,
  type BaseLlm,
  ConfigurationError,
  type Content,
  contentText,
  createEvent,
  type Event,
  createLlmRequest,
  ModelError,
} from '@eventloom/core';
import {
  checkModel,
  checkOptions,
  describeKind,
  integer,
  isRecord,
  type OptionRules,
  wrongOption,
} from '@eventloom/core/internal';
import {
  BaseEventsSummarizer,
  createCompactionEvent,
  type EventsCompactionConfig,
  isLlmAgent,
  type SingleBeforeModelCallback,
  type SummarizeEventsRequest,
} from '@eventloom/llm-agent';
import { refuseUncalled } from './class-checks.ts';

/** A summary in place of the events that it covers. */
export interface CompactedEvent extends Event {
  readonly isCompacted: true;
  /** Seconds since the epoch of the first event that it covers. */
  readonly startTime: number;
  readonly endTime: number;
  readonly compactedContent: string;
  readonly isScratchpad?: boolean;
}

/** Writes summaries. `LlmSummarizer` is one. */
export interface BaseSummarizer {
  summarize(events: Event[]): Promise<CompactedEvent>;
}

/** Shortens the conversation that a model reads. Only the compactors of this package can: sessions keep their events. */
export interface BaseContextCompactor {
  readonly '~eventloom.adk-compactor': 'session' | 'request';
}

/** Options of an `LlmSummarizer`. */
export interface LlmSummarizerOptions {
  readonly llm: BaseLlm;
  /** The text before the events. Default: a request for a summary, in English. */
  readonly prompt?: string | undefined;
}

const COUNT = integer(0);
const SUMMARIZER: OptionRules<LlmSummarizerOptions> = {
  llm: { is: 'object', wanted: 'a model object', write: "new Gemini({ model: 'gemini-flash-latest' })" },
  prompt: 'text',
};

const PROMPT =
  'Sum up the following conversation of a user and an agent, so that the agent can continue from the summary alone. Keep facts, numbers, names, decisions and what is still open. Write nothing but the summary.';

/**
 * Summarizes events with a model.
 *
 * @example
 * const summarizer = new LlmSummarizer({ llm: new Gemini({ model: 'gemini-flash-latest' }) });
 */
export class LlmSummarizer implements BaseSummarizer {
  readonly #llm: BaseLlm;
  readonly #prompt: string;

  /** @throws ConfigurationError for a value that is not a model */
  constructor(options: LlmSummarizerOptions) {
    checkOptions('LlmSummarizer', SUMMARIZER, options);
    const { llm, prompt } = options;
    checkModel('LlmSummarizer', 'llm', llm, 'a model object', "new Gemini({ model: 'gemini-flash-latest' })");
    this.#llm = llm;
    this.#prompt = prompt || PROMPT;
  }

  /**
   * Summarizes events of a conversation in one event.
   * @throws ConfigurationError without events
   * @throws ModelError if the model gives no summary
   */
  async summarize(events: readonly Event[]): Promise<CompactedEvent> {
    const [first] = events;
    const last = events.at(-1);
    if (!first || !last)
      throw new ConfigurationError('LlmSummarizer: there are no events to summarize; call it with at least one event');
    const shown = events.map((event, at) => `[Event ${at + 1} - Author: ${event.author}]\n${textOf(event)}`);
    const request = createLlmRequest();
    request.model = this.#llm.model;
    request.contents = [{ role: 'user', parts: [{ text: [this.#prompt, ...shown].join('\n\n') }] }];
    let text = '';
    for await (const { content, partial, errorCode, errorMessage } of this.#llm.generateContentAsync(request, false)) {
      if (errorCode !== undefined) throw new ModelError(`LlmSummarizer: ${errorMessage ?? errorCode}`, { errorCode });
      if (partial !== true) text += contentText(content);
    }
    if (text === '') throw new ModelError('LlmSummarizer: the model returned no summary', { errorCode: 'EMPTY' });
    return createCompactedEvent(first.timestamp, last.timestamp, text);
  }
}

function createCompactedEvent(startTime: number, endTime: number, compactedContent: string): CompactedEvent {
  const content = { role: 'model', parts: [{ text: compactedContent }] };
  return { ...createEvent({ author: 'system', content }), isCompacted: true, startTime, endTime, compactedContent };
}

/** The texts of an event, with the calls and responses of tools as JSON. */
function textOf({ content }: Event): string {
  const texts = (content?.parts ?? []).map(({ text, thought, functionCall, functionResponse }) => {
    if (text !== undefined) return thought === true ? '' : text;
    const callOrResponse = functionCall ?? functionResponse;
    return callOrResponse ? JSON.stringify(callOrResponse) : '';
  });
  return texts.filter((text) => text !== '').join('\n');
}

/** Options of a `TokenBasedContextCompactor`. */
export interface TokenBasedContextCompactorOptions {
  /** Minimum number of tokens of a model request at which the session is compacted. */
  readonly tokenThreshold: number;
  /** Number of the newest events that are not summarized. */
  readonly eventRetentionSize: number;
  readonly summarizer: BaseSummarizer;
}

const BY_TOKENS: OptionRules<TokenBasedContextCompactorOptions> = {
  tokenThreshold: 'number',
  eventRetentionSize: 'number',
  summarizer: { is: 'object', wanted: 'a summarizer', write: 'new LlmSummarizer({ llm })' },
};

/**
 * Replaces all but the newest events by one summary, when the requests of the model become too long. It works after a
 * run, for all agents of the session, and is the same as `eventsCompaction` of the runner with `tokenThreshold`.
 *
 * @example
 * const contextCompactors = [
 *   new TokenBasedContextCompactor({ tokenThreshold: 100_000, eventRetentionSize: 20, summarizer: new LlmSummarizer({ llm: model }) }),
 * ];
 */
export class TokenBasedContextCompactor implements BaseContextCompactor {
  readonly config: EventsCompactionConfig;

  /** @throws ConfigurationError for an invalid number or summarizer, when a runner is made */
  constructor(options: TokenBasedContextCompactorOptions) {
    checkOptions(new.target.name, BY_TOKENS, options);
    const { tokenThreshold, eventRetentionSize, summarizer } = options;
    if (typeof summarizer?.summarize !== 'function')
      throw new ConfigurationError(
        `${new.target.name}: summarizer: expected a summarizer, got ${describeKind(summarizer)}; write summarizer: new LlmSummarizer({ llm })`,
      );
    this.config = { tokenThreshold, eventRetentionSize, summarizer: new Summarizing(summarizer) };
  }

  get '~eventloom.adk-compactor'(): 'session' {
    return 'session';
  }
}

/** Options of an `AnchoredContextCompactor`. */
export type AnchoredContextCompactorOptions = TokenBasedContextCompactorOptions;

/** The same as `TokenBasedContextCompactor`: its summary replaces the earlier one, and so is the only one of the session. */
export class AnchoredContextCompactor extends TokenBasedContextCompactor {}

/** A summarizer of the ADK as one of the runner. */
class Summarizing extends BaseEventsSummarizer {
  readonly #summarizer: BaseSummarizer;

  constructor(summarizer: BaseSummarizer) {
    super();
    this.#summarizer = summarizer;
  }

  override async maybeSummarizeEvents({ events }: SummarizeEventsRequest): Promise<Event | undefined> {
    const { content, compactedContent } = await this.#summarizer.summarize([...events]);
    return createCompactionEvent(content ?? { role: 'model', parts: [{ text: compactedContent }] });
  }
}

/** Options of a `TruncatingContextCompactor`. */
export interface TruncatingContextCompactorOptions {
  /** Number of the newest messages that a model reads. */
  readonly threshold: number;
  /** Number of the first messages that it reads as well. Default 0. */
  readonly preserveLeadingEvents?: number | undefined;
}

const TRUNCATING: OptionRules<TruncatingContextCompactorOptions> = { threshold: COUNT, preserveLeadingEvents: COUNT };

/**
 * Leaves the middle of a long conversation out of model requests. The session keeps all events. A response of a tool is
 * never sent without its call, and no request begins with a call.
 *
 * @example
 * const contextCompactors = [new TruncatingContextCompactor({ threshold: 50, preserveLeadingEvents: 1 })];
 */
export class TruncatingContextCompactor implements BaseContextCompactor {
  readonly #threshold: number;
  readonly #leading: number;

  /** @throws ConfigurationError for a number that is not an integer of at least 0 */
  constructor(options: TruncatingContextCompactorOptions) {
    checkOptions('TruncatingContextCompactor', TRUNCATING, options);
    const { threshold, preserveLeadingEvents = 0 } = options;
    requireCount('TruncatingContextCompactor', 'threshold', threshold);
    this.#threshold = threshold;
    this.#leading = preserveLeadingEvents;
  }

  get '~eventloom.adk-compactor'(): 'request' {
    return 'request';
  }

  /** Returns the contents to send. */
  shorten(contents: readonly Content[]): Content[] {
    let start = contents.length - this.#threshold;
    if (start <= this.#leading) return [...contents];
    // A response whose call is left out is left out too.
    while (has('functionResponse', contents[start])) start++;
    // The response that the model is to read next stays, with its call, and with the message before it: models refuse
    // requests that begin with a call.
    if (start >= contents.length) {
      start = contents.length - 1;
      while (start > 0 && (contents[start]?.role !== 'user' || has('functionResponse', contents[start]))) start--;
    }
    let end = Math.min(this.#leading, start);
    while (end > 0 && end < start && has('functionCall', contents[end - 1])) end--;
    return [...contents.slice(0, end), ...contents.slice(start)];
  }
}

/** Options of a `TrajectoryThoughtPruningCompactor`. */
export interface TrajectoryThoughtPruningCompactorOptions {
  /** Number of the newest messages that keep their thoughts. */
  readonly eventRetentionSize: number;
}

const PRUNING: OptionRules<TrajectoryThoughtPruningCompactorOptions> = { eventRetentionSize: COUNT };

/** Leaves the thoughts of older messages out of model requests. The session keeps them. */
export class TrajectoryThoughtPruningCompactor implements BaseContextCompactor {
  readonly #retained: number;

  /** @throws ConfigurationError for a number that is not an integer of at least 0 */
  constructor(options: TrajectoryThoughtPruningCompactorOptions) {
    checkOptions('TrajectoryThoughtPruningCompactor', PRUNING, options);
    const { eventRetentionSize } = options;
    requireCount('TrajectoryThoughtPruningCompactor', 'eventRetentionSize', eventRetentionSize);
    this.#retained = eventRetentionSize;
  }

  get '~eventloom.adk-compactor'(): 'request' {
    return 'request';
  }

  /** Returns the contents to send. */
  shorten(contents: readonly Content[]): Content[] {
    const end = contents.length - this.#retained;
    return contents.flatMap((content, at) => {
      if (at >= end || !content.parts?.some(({ thought }) => thought)) return content;
      const parts = content.parts.filter(({ thought }) => !thought);
      return parts.length > 0 ? { ...content, parts } : [];
    });
  }
}

function requireCount(owner: string, option: string, value: unknown): void {
  if (value === undefined) throw wrongOption(owner, option, 'an integer of at least 0', value, '10');
}

function has(payload: 'functionCall' | 'functionResponse', content: Content | undefined): boolean {
  return content?.parts?.some((part) => part[payload]) === true;
}

const ADVICE = 'write TokenBasedContextCompactor, TruncatingContextCompactor, or beforeModelCallback';

/** Members that the ADK calls, and what a class of the program writes in place of each. */
const UNCALLED = {
  shouldCompact: 'beforeModelCallback in the options of the agent',
  compact: 'beforeModelCallback in the options of the agent',
};

/** Returns the callbacks of the compactors that shorten requests. @throws ConfigurationError for a compactor of another kind */
export function shorteningCallbacks(
  owner: string,
  compactors: readonly BaseContextCompactor[],
): SingleBeforeModelCallback[] {
  for (const each of compactors) {
    if (each?.['~eventloom.adk-compactor'] === undefined)
      throw new ConfigurationError(
        `${owner}: contextCompactors: sessions cannot be changed by a compactor of the program's own; ${ADVICE}`,
      );
    refuseUncalled(`${owner}: contextCompactors`, each, UNCALLED);
  }
  const shortening = compactors.filter(
    (each) => each instanceof TruncatingContextCompactor || each instanceof TrajectoryThoughtPruningCompactor,
  );
  if (shortening.length === 0) return [];
  return [
    ({ request }) => {
      for (const each of shortening) request.contents = each.shorten(request.contents);
      return undefined;
    },
  ];
}

/**
 * Returns the compaction that the agents of a tree configure; undefined if none does.
 * @throws ConfigurationError if two agents configure different ones
 */
export function compactionOf(root: BaseAgent): EventsCompactionConfig | undefined {
  const found = new Set<TokenBasedContextCompactor>();
  const seen = new Set<BaseAgent>([root]);
  for (const agent of seen) {
    if (isLlmAgent(agent) && 'contextCompactors' in agent && Array.isArray(agent.contextCompactors))
      for (const each of agent.contextCompactors) if (each instanceof TokenBasedContextCompactor) found.add(each);
    for (const other of [...agent.subAgents, ...agent.calledAgents]) seen.add(other);
  }
  const [first, second] = found;
  const same = (['tokenThreshold', 'eventRetentionSize'] as const).every(
    (option) => first?.config[option] === second?.config[option],
  );
  if (second && !same)
    throw new ConfigurationError(
      'contextCompactors: two agents of a session have different TokenBasedContextCompactors; give both the same one',
    );
  return first?.config;
}

/** Returns true for an event with a summary in place of other events. */
export function isCompactedEvent(event: Event): event is CompactedEvent {
  // Programs without types may ask about other values.
  if (!isRecord(event)) return false;
  return event.actions?.compaction !== undefined || ('isCompacted' in event && event.isCompacted === true);
}

/** Returns true for a summary that stays the only one of its session. */
export function isScratchpadEvent(event: Event): event is CompactedEvent & { isScratchpad: true } {
  return isCompactedEvent(event) && event.isScratchpad === true;
}
