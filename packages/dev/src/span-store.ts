import {
  type ActiveOperation,
  type Content,
  type Instrumentation,
  type LlmRequest,
  type LlmResponse,
  type Operation,
  type OperationEnd,
  type Platform,
  type SessionKey,
  toError,
} from '@eventloom/core';
import { checkOptions, integer, OperationRecord, type OptionRules, secretRedactor } from '@eventloom/core/internal';

/** A span of a run: an operation with its beginning, its end and its parent. */
export interface StoredSpan {
  /** Id of the run, as 32 hexadecimal digits. */
  readonly traceId: string;
  /** Id of the span, as 16 hexadecimal digits. */
  readonly spanId: string;
  readonly parentSpanId?: string;
  /** Name of the operation: `invoke_workflow {app}`, `invoke_agent {agent}`, `chat {model}` or `execute_tool {tool}`. */
  readonly name: string;
  readonly kind: Operation['kind'];
  /** Beginning of the operation, in milliseconds since the epoch. */
  readonly startMs: number;
  /** End of the operation, in milliseconds since the epoch. Absent while it is in progress. */
  readonly endMs?: number;
  /** `left`: it was closed early, because its reader stopped reading or the run was aborted. */
  readonly status: 'running' | 'ok' | 'left' | 'error';
  /**
   * Names as in the GenAI semantic conventions of OpenTelemetry. Content is JSON. A failure has `error.type`,
   * `error.message` and, one per line, the errors that caused it in `error.cause`; text that looks like a key is left
   * out of them.
   */
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
}

/** Options of a `SpanStore`. */
export interface SpanStoreOptions {
  /** Maximum number of spans of a session; the oldest are dropped. Default 2,000. */
  readonly maxSpansPerSession?: number | undefined;
  /**
   * Maximum size of all spans, in bytes of their JSON. The spans of the sessions without activity for longest are dropped. Default 16
   * MiB.
   */
  readonly maxBytes?: number | undefined;
  /** Time for which a span is kept after its beginning, in milliseconds. Default 3,600,000: one hour. */
  readonly maxAgeMs?: number | undefined;
  /**
   * Maximum length of one attribute, in characters; longer text is truncated. 0 keeps no messages, arguments, results and texts of errors.
   * Default 65,536.
   */
  readonly maxContentLength?: number | undefined;
}

const OPTIONS: OptionRules<SpanStoreOptions> = {
  maxSpansPerSession: integer(1),
  maxBytes: integer(0),
  maxAgeMs: integer(0),
  maxContentLength: integer(0),
};

/** The bytes of a span without its attributes. */
const SPAN_BYTES = 300;

/** The spans of one session, oldest first. */
interface SessionSpans {
  readonly key: string;
  readonly spans: KeptSpan[];
  bytes: number;
}

/**
 * Keeps the spans of the latest runs in memory, for pages of developers: it needs no OpenTelemetry. The number of spans, their size and
 * their age are limited. Set it as `instrumentation` of the runners, and pass it to `dev`, whose routes read it.
 *
 * @example
 * import { dev, SpanStore } from '@eventloom/dev';
 * import { createServer } from '@eventloom/server';
 * import { InMemoryRunner, LlmAgent } from 'eventloom';
 *
 * const spans = new SpanStore();
 * const agent = new LlmAgent({ name: 'helper', model: 'gemini-flash-latest' });
 * const runner = new InMemoryRunner({ agent, instrumentation: spans });
 * const server = createServer({ runners: [runner], protocols: [dev({ spans })] });
 */
export class SpanStore implements Instrumentation {
  readonly #maxSpans: number;
  readonly #maxBytes: number;
  readonly #maxAgeMs: number;
  readonly #maxContent: number;
  /** Sessions by key, the one that was unused for the longest time first. */
  readonly #sessions = new Map<string, SessionSpans>();
  /** The session that was used last. */
  #latest: SessionSpans | undefined;
  #bytes = 0;
  /** The clock of the latest run. */
  #platform: Platform | undefined;

  /** @throws ConfigurationError for an unknown option or one of the wrong kind */
  constructor(options: SpanStoreOptions = {}) {
    checkOptions('SpanStore', OPTIONS, options);
    const { maxSpansPerSession = 2000, maxBytes = 16 * 1024 * 1024, maxAgeMs = 3_600_000 } = options;
    this.#maxSpans = maxSpansPerSession;
    this.#maxBytes = maxBytes;
    this.#maxAgeMs = maxAgeMs;
    this.#maxContent = options.maxContentLength ?? 65_536;
  }

  /** Size of all kept spans, in bytes of their JSON. */
  get bytes(): number {
    return this.#bytes;
  }

  start(operation: Operation, parent: ActiveOperation | undefined): ActiveOperation {
    const around = parent instanceof KeptSpan ? parent : undefined;
    const span = new KeptSpan(operation, around, this, this.#maxContent);
    const kept = this.#use(span, around);
    kept.spans.push(span);
    span.session = kept;
    this.grow(span, span.bytes);
    if (kept.spans.length > this.#maxSpans) this.#drop(kept, 1);
    if (operation.kind === 'run') {
      this.#platform = span.platform;
      this.#forgetOld(span.startMs);
    }
    return span;
  }

  /** Returns the session of a span, moved to the end: it was used just now. */
  #use({ appName, userId, sessionId }: KeptSpan, around: KeptSpan | undefined): SessionSpans {
    const before = this.#latest;
    // By far the most frequent case: the span belongs to the latest session.
    if (before && before === around?.session && sessionId === around.sessionId) return before;
    const key = keyOf({ appName, userId, sessionId });
    const kept = this.#sessions.get(key) ?? { key, spans: [], bytes: 0 };
    if (kept !== before) {
      this.#sessions.delete(key);
      this.#sessions.set(key, kept);
      this.#latest = kept;
    }
    return kept;
  }

  /** Returns the spans of a session, in the order in which they started. */
  list(key: SessionKey): StoredSpan[] {
    if (this.#platform) this.#forgetOld(this.#platform.now());
    return this.#sessions.get(keyOf(key))?.spans.map((span) => span.toStored()) ?? [];
  }

  /** Returns the sessions of a user that have spans, the latest first. */
  sessionsOf({ appName, userId }: Pick<SessionKey, 'appName' | 'userId'>): SessionKey[] {
    return [...this.#sessions.keys()]
      .map(fromKey)
      .filter((key) => key.appName === appName && key.userId === userId)
      .reverse();
  }

  /** Drops the spans of a session. */
  forget(key: SessionKey): void {
    this.#forget(keyOf(key));
  }

  #forget(key: string): void {
    const kept = this.#sessions.get(key);
    if (kept) this.#drop(kept, kept.spans.length);
    if (kept === this.#latest) this.#latest = undefined;
    this.#sessions.delete(key);
  }

  /**
   * Adds the bytes by which a span grew, and drops spans over the limit: idle sessions first, then the older half of its own.
   * @internal
   */
  grow({ session: kept }: { readonly session: SessionSpans | undefined }, bytes: number): void {
    // The span was dropped.
    if (!kept) return;
    kept.bytes += bytes;
    this.#bytes += bytes;
    if (this.#bytes <= this.#maxBytes) return;
    for (const [key, { spans }] of this.#sessions) {
      if (this.#bytes <= this.#maxBytes) return;
      if (key === kept.key)
        while (this.#bytes > this.#maxBytes && spans.length > 0) this.#drop(kept, Math.ceil(spans.length / 2));
      else this.#forget(key);
    }
  }

  #drop(kept: SessionSpans, count: number): void {
    for (const span of kept.spans.splice(0, count)) {
      span.session = undefined;
      kept.bytes -= span.bytes;
      this.#bytes -= span.bytes;
    }
  }

  #forgetOld(nowMs: number): void {
    for (const [key, kept] of this.#sessions) {
      const fresh = kept.spans.findIndex(({ startMs }) => nowMs - startMs <= this.#maxAgeMs);
      if (fresh < 0) this.#forget(key);
      else if (fresh > 0) this.#drop(kept, fresh);
      // Later sessions were used later.
      else break;
    }
  }
}

function keyOf({ appName, userId, sessionId }: SessionKey): string {
  return JSON.stringify([appName, userId, sessionId]);
}

function fromKey(key: string): SessionKey {
  const [appName = '', userId = '', sessionId = ''] = JSON.parse(key) as string[];
  return { appName, userId, sessionId };
}

/** A span in a store. It refers to the messages, which are converted to JSON only when they are read. */
class KeptSpan extends OperationRecord {
  /** The session that keeps the span; undefined before and afterwards. */
  session: SessionSpans | undefined;
  bytes = SPAN_BYTES;
  readonly #store: SpanStore;
  readonly #maxContent: number;
  #request: KeptRequest | undefined;
  #response: KeptContent | undefined;
  #args: KeptContent | undefined;
  #result: KeptContent | undefined;
  #errorMessage: string | undefined;
  #errorCause: string | undefined;
  /** The contents of the latest request of this agent, with their sizes: those of the next begin with the same ones. */
  #measured: MeasuredContents | undefined;

  constructor(operation: Operation, parent: KeptSpan | undefined, store: SpanStore, maxContent: number) {
    super(operation, parent);
    this.#store = store;
    this.#maxContent = maxContent;
    if (maxContent === 0) return;
    if (operation.kind === 'tool') this.#args = this.#keep(operation.args);
    else if (operation.kind === 'model') this.#request = this.#keepRequest(operation.request, parent);
  }

  override response(response: LlmResponse): void {
    super.response(response);
    if (response.partial === true || this.#maxContent === 0) return;
    const before = this.bytes;
    this.bytes -= this.#response?.bytes ?? 0;
    this.#response = this.#keep(response);
    if (response.errorMessage !== undefined) this.#keepMessage(response.errorMessage);
    this.#store.grow(this, this.bytes - before);
  }

  override end(end: OperationEnd): void {
    super.end(end);
    this.#measured = undefined;
    if (this.#maxContent === 0) return;
    const before = this.bytes;
    if (end.status === 'error') {
      const { message } = end.error;
      this.#keepMessage(message);
      const causes = causesOf(end.error).filter((cause) => !message.includes(cause.message));
      if (causes.length > 0)
        this.#errorCause = this.#keepError(causes.map((cause) => `${cause.name}: ${cause.message}`).join('\n'));
    } else if (end.status === 'ok' && end.result !== undefined) this.#result = this.#keep(end.result);
    this.#store.grow(this, this.bytes - before);
  }

  toStored(): StoredSpan {
    const parentSpanId = this.parent?.spanId;
    return {
      traceId: this.traceId,
      spanId: this.spanId,
      ...(parentSpanId === undefined ? {} : { parentSpanId }),
      name: this.name,
      kind: this.kind,
      startMs: this.startMs,
      ...(this.endMs === undefined ? {} : { endMs: this.endMs }),
      status: this.status,
      attributes: this.#attributes(),
    };
  }

  #attributes(): StoredSpan['attributes'] {
    const { kind, firstChunkMs } = this;
    const { input, output, cached } = this.tokens;
    const isRun = kind === 'run';
    const isNode = kind === 'node';
    const all: Record<string, string | number | boolean | undefined> = {
      'gen_ai.conversation.id': this.sessionId,
      'eventloom.invocation_id': this.invocationId,
      'eventloom.resumed': this.isResumed || undefined,
      'gen_ai.agent.name': isRun ? undefined : this.agentName,
      'eventloom.execution_id': isRun ? undefined : this.executionId,
      'gen_ai.tool.name': kind === 'tool' ? this.subject : undefined,
      'eventloom.node.name': isNode ? this.subject : undefined,
      'gen_ai.tool.call.id': this.callId,
      'gen_ai.tool.call.arguments': this.#args && jsonOf(this.#args),
      'gen_ai.request.model': kind === 'model' ? this.subject : undefined,
      'eventloom.live': this.isLive || undefined,
      'eventloom.request': this.#request && requestJson(this.subject, this.#request),
      'gen_ai.response.time_to_first_chunk': firstChunkMs === undefined ? undefined : firstChunkMs / 1000,
      'gen_ai.response.model': this.responseModel,
      'gen_ai.usage.input_tokens': input,
      'gen_ai.usage.cache_read.input_tokens': cached,
      'gen_ai.usage.output_tokens': output,
      'eventloom.response': this.#response && jsonOf(this.#response),
      [isNode ? 'eventloom.node.output' : 'gen_ai.tool.call.result']: this.#result && jsonOf(this.#result),
      'error.type': this.errorType,
      'error.message': this.#errorMessage,
      'error.cause': this.#errorCause,
    };
    return Object.fromEntries(
      Object.entries(all).filter(([, value]) => value !== undefined),
    ) as StoredSpan['attributes'];
  }

  #keepMessage(message: string): void {
    this.bytes -= (this.#errorMessage?.length ?? 0) * 2;
    this.#errorMessage = this.#keepError(message);
  }

  /** Returns a text of an error to keep. Services quote the request in it, keys included. */
  #keepError(text: string): string {
    const kept = redact(text).slice(0, this.#maxContent);
    this.bytes += kept.length * 2;
    return kept;
  }

  #keep(value: unknown): KeptContent {
    const content = keepContent(value, this.#maxContent);
    this.bytes += content.bytes;
    return content;
  }

  /** Keeps the newest messages that fit beside the options, which have the declarations of the tools. */
  #keepRequest({ contents, config }: LlmRequest, agent: KeptSpan | undefined): KeptRequest {
    const options = this.#keep(config);
    const known = agent ? agent.#measured : undefined;
    const sizes: number[] = Array.from({ length: contents.length });
    let room = this.#maxContent - options.bytes / 2;
    let from = contents.length;
    while (from > 0) {
      const at = from - 1;
      const content = contents[at];
      const size = (known?.contents[at] === content ? known?.sizes[at] : undefined) ?? sizeOf(content, room);
      if (!(size <= room)) break;
      sizes[at] = size;
      room -= size;
      this.bytes += size * 2;
      from = at;
    }
    // A copy, because the model gets the other list.
    const kept = { contents: from === 0 ? contents.slice() : contents.slice(from), leftOut: from, config: options };
    if (agent) agent.#measured = from === 0 ? { contents: kept.contents, sizes } : undefined;
    return kept;
  }
}

const redact = secretRedactor(undefined);

/** Maximum number of causes of an error, because causes may form a circle. */
const MAX_CAUSES = 5;

/** Returns the cause of an error, the cause of that one, and so on. */
function causesOf(error: Error): Error[] {
  const causes: Error[] = [];
  let { cause } = error;
  while (cause !== undefined && causes.length < MAX_CAUSES) {
    causes.push(toError(cause));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return causes;
}

interface MeasuredContents {
  readonly contents: readonly Content[];
  readonly sizes: readonly number[];
}

/** A request of a model. */
interface KeptRequest {
  readonly contents: readonly Content[];
  /** Number of older messages that are not kept. */
  readonly leftOut: number;
  readonly config: KeptContent;
}

/** A value that is converted to JSON when it is read, or its JSON. */
type KeptContent = { readonly bytes: number } & ({ readonly value: unknown } | { readonly json: string });

/**
 * Keeps plain data by reference, because events share it unchanged. Other values are kept as JSON, and values that are
 * too long as a note.
 */
function keepContent(value: unknown, maxContent: number): KeptContent {
  const characters = sizeOf(value, maxContent);
  if (characters <= maxContent) return { bytes: characters * 2, value };
  const json = Number.isNaN(characters) ? toJson(value) : undefined;
  const isShort = json !== undefined && json.length <= maxContent;
  const kept = isShort ? json : JSON.stringify(`more than ${maxContent} characters left out`);
  return { bytes: kept.length * 2, json: kept };
}

function jsonOf(kept: KeptContent): string {
  return 'json' in kept ? kept.json : toJson(kept.value);
}

function requestJson(model: string, { contents, leftOut, config }: KeptRequest): string {
  const older = leftOut === 0 ? '' : `,"olderContentsLeftOut":${leftOut}`;
  return `{"model":${JSON.stringify(model)}${older},"contents":${toJson(contents)},"config":${jsonOf(config)}}`;
}

/** Returns the result of `charactersOf`; NaN also for a value whose properties throw. */
function sizeOf(value: unknown, most: number): number {
  try {
    return charactersOf(value, most, 0);
  } catch {
    return Number.NaN;
  }
}

/** Deeper values are written as JSON at once, which throws for those that are too deep. */
const MAX_DEPTH = 100;

/**
 * Returns the approximate number of characters of the JSON of a value, at least one for each value and key. Stops above
 * `most`. NaN for a value that is not plain data, because its JSON may be smaller than the memory that it takes.
 */
function charactersOf(value: unknown, most: number, depth: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object') return typeof value === 'function' || typeof value === 'symbol' ? Number.NaN : 8;
  if (value === null) return 4;
  if (depth > MAX_DEPTH) return Number.NaN;
  let characters = 2;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && characters <= most; at++)
      characters += 1 + charactersOf(value[at], most - characters, depth + 1);
    return characters;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return Number.NaN;
  const record = value as Readonly<Record<string, unknown>>;
  for (const key in record) {
    if (!(characters <= most)) break;
    characters += key.length + 4 + charactersOf(record[key], most - characters, depth + 1);
  }
  return characters;
}

/** The attributes that hold messages, arguments and results. */
const CONTENT: ReadonlySet<string> = new Set([
  'eventloom.request',
  'eventloom.response',
  'gen_ai.tool.call.arguments',
  'gen_ai.tool.call.result',
]);

/** Returns a span without messages, arguments and results. */
export function withoutContent(span: StoredSpan): StoredSpan {
  const attributes = Object.entries(span.attributes).filter(([name]) => !CONTENT.has(name));
  return { ...span, attributes: Object.fromEntries(attributes) };
}

/** Returns a value as JSON. A tool may take and return anything. */
function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch (error) {
    return JSON.stringify(String(error));
  }
}
