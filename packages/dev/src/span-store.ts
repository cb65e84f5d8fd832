import type {
  ActiveOperation,
  Instrumentation,
  InvocationContext,
  LlmResponse,
  Operation,
  OperationEnd,
  Platform,
  SessionKey,
} from '@eventloom/core';
import { checkOptions, integer, type OptionRules } from '@eventloom/core/internal';

/** A span of a run: what it did from when to when, and which span it is in. */
export interface StoredSpan {
  /** Id of the run, as 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly parentSpanId?: string;
  /** `invoke_workflow {app}`, `invoke_agent {agent}`, `chat {model}` or `execute_tool {tool}`. */
  readonly name: string;
  readonly kind: Operation['kind'];
  /** Milliseconds since the epoch. */
  readonly startMs: number;
  /** Absent while the operation runs. */
  readonly endMs?: number;
  /** `left`: it was closed early, because its reader stopped reading or the run was aborted. */
  readonly status: 'running' | 'ok' | 'left' | 'error';
  /** Names as in the GenAI semantic conventions of OpenTelemetry. Content is JSON. */
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
}

/** Options of a `SpanStore`. */
export interface SpanStoreOptions {
  /** Most spans of a session; the oldest are dropped. Default 2,000. */
  readonly maxSpansPerSession?: number | undefined;
  /** Most bytes of all spans, as their JSON would have. The sessions that are idle for longest are dropped. Default 16 MiB. */
  readonly maxBytes?: number | undefined;
  /** Longest time that a span is kept after its start, in milliseconds. Default one hour. */
  readonly maxAgeMs?: number | undefined;
  /** Longest text of one attribute, in characters; 0 keeps no messages, arguments and results. Default 65,536. */
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
 * Keeps the spans of the latest runs in memory, for pages of developers: it needs no OpenTelemetry. Bounded in spans, bytes and age. Set as
 * `instrumentation` of the runners, and given to `dev`, whose routes read it.
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
  /** The session that is idle for longest comes first. */
  readonly #sessions = new Map<string, SessionSpans>();
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

  /** The bytes of all spans that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  start(operation: Operation, parent: ActiveOperation | undefined): ActiveOperation {
    const place = operation.kind === 'tool' ? operation.context.invocationContext : operation.context;
    const { platform, appName, userId } = place;
    const span = new KeptSpan(operation, place, parent instanceof KeptSpan ? parent : undefined, this.#maxContent);
    const key = keyOf({ appName, userId, sessionId: place.invocation.session.id });
    const kept = this.#sessions.get(key) ?? { key, spans: [], bytes: 0 };
    // Moved to the end: the session was used just now.
    this.#sessions.delete(key);
    this.#sessions.set(key, kept);
    kept.spans.push(span);
    span.session = kept;
    this.#grow(kept, span.bytes);
    span.onGrowth = (bytes) => span.session && this.#grow(span.session, bytes);
    if (kept.spans.length > this.#maxSpans) this.#drop(kept, 1);
    this.#platform = platform;
    this.#forgetOld(platform.now());
    return span;
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
    this.#sessions.delete(key);
  }

  /** Counts bytes of a session, and drops what is over the limit: idle sessions first, then the older half of this one. */
  #grow(kept: SessionSpans, bytes: number): void {
    kept.bytes += bytes;
    this.#bytes += bytes;
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

/** An operation with its span. */
class KeptSpan implements ActiveOperation {
  readonly startMs: number;
  bytes: number;
  readonly #kind: Operation['kind'];
  readonly #name: string;
  readonly #isLive: boolean;
  readonly #traceId: string;
  readonly #spanId: string;
  readonly #parentSpanId: string | undefined;
  readonly #maxContent: number;
  readonly #attributes: Record<string, string | number | boolean> = {};
  /** The session that keeps the span; undefined before and afterwards. */
  session: SessionSpans | undefined;
  onGrowth: ((bytes: number) => void) | undefined;
  readonly #platform: Platform;
  #endMs: number | undefined;
  #firstMs: number | undefined;
  #status: StoredSpan['status'] = 'running';

  constructor(operation: Operation, place: InvocationContext, parent: KeptSpan | undefined, maxContent: number) {
    const { platform, invocationId, executionId, agent } = place;
    // Not the operation itself: its context would keep the whole session in memory.
    this.#kind = operation.kind;
    this.#name = nameOf(operation);
    this.#isLive = operation.kind === 'model' && operation.live;
    this.#maxContent = maxContent;
    this.#platform = platform;
    this.startMs = platform.now();
    this.#traceId = parent ? parent.#traceId : hexadecimal(platform.newUuid(), 32);
    this.#spanId = hexadecimal(platform.newUuid(), 16);
    this.#parentSpanId = parent && parent.#spanId;
    this.bytes = SPAN_BYTES;
    this.#set('gen_ai.conversation.id', place.invocation.session.id);
    this.#set('eventloom.invocation_id', invocationId);
    if (operation.kind === 'run') {
      if (operation.resumed) this.#set('eventloom.resumed', true);
      return;
    }
    this.#set('gen_ai.agent.name', agent.name);
    this.#set('eventloom.execution_id', executionId);
    if (operation.kind === 'tool') {
      this.#set('gen_ai.tool.name', operation.name);
      this.#set('gen_ai.tool.call.id', operation.context.functionCallId);
      this.#setContent('gen_ai.tool.call.arguments', operation.args);
    } else if (operation.kind === 'model') {
      const { request, model, live } = operation;
      this.#set('gen_ai.request.model', request.model ?? model.model);
      if (live) this.#set('eventloom.live', true);
      // Tools are objects with functions: their declarations are in the config.
      const { contents, config } = request;
      this.#setContent('eventloom.request', { model: request.model ?? model.model, contents, config });
    }
  }

  run<T>(step: () => T): T {
    return step();
  }

  response(response: LlmResponse): void {
    if (this.#firstMs === undefined) {
      this.#firstMs = this.#now() - this.startMs;
      this.#set('gen_ai.response.time_to_first_chunk', this.#firstMs / 1000);
    }
    if (response.partial === true) return;
    if (response.modelVersion !== undefined) this.#set('gen_ai.response.model', response.modelVersion);
    const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount, cachedContentTokenCount } =
      response.usageMetadata ?? {};
    this.#setTokens('gen_ai.usage.input_tokens', promptTokenCount);
    this.#setTokens('gen_ai.usage.cache_read.input_tokens', cachedContentTokenCount);
    if (candidatesTokenCount !== undefined)
      this.#setTokens('gen_ai.usage.output_tokens', candidatesTokenCount + (thoughtsTokenCount ?? 0));
    if (response.errorCode !== undefined) this.#set('error.type', response.errorCode);
    this.#setContent('eventloom.response', response);
  }

  end(end: OperationEnd): void {
    this.#endMs = this.#now();
    this.#status = end.status;
    if (end.status === 'ok') {
      if (end.result !== undefined) this.#setContent('gen_ai.tool.call.result', end.result);
      if ('error.type' in this.#attributes) this.#status = 'error';
    } else if (end.status === 'error') {
      const { error } = end;
      this.#set('error.type', 'code' in error && typeof error.code === 'string' ? error.code : error.name);
      if (this.#maxContent > 0) this.#set('error.message', error.message.slice(0, this.#maxContent));
    }
  }

  toStored(): StoredSpan {
    return {
      traceId: this.#traceId,
      spanId: this.#spanId,
      ...(this.#parentSpanId === undefined ? {} : { parentSpanId: this.#parentSpanId }),
      name: this.#name,
      kind: this.#kind,
      startMs: this.startMs,
      ...(this.#endMs === undefined ? {} : { endMs: this.#endMs }),
      status: this.#status,
      attributes: { ...this.#attributes },
    };
  }

  #now(): number {
    return this.#platform.now();
  }

  #set(name: string, value: string | number | boolean): void {
    const before = name in this.#attributes ? sizeOf(name, this.#attributes[name]) : 0;
    this.#attributes[name] = value;
    const growth = sizeOf(name, value) - before;
    this.bytes += growth;
    this.onGrowth?.(growth);
  }

  /** Sets a number of tokens. Over a live connection each turn is counted by itself. */
  #setTokens(name: string, count: number | undefined): void {
    if (count === undefined) return;
    const before = this.#isLive ? this.#attributes[name] : undefined;
    this.#set(name, typeof before === 'number' ? before + count : count);
  }

  #setContent(name: string, value: unknown): void {
    if (this.#maxContent === 0) return;
    const json = toJson(value);
    this.#set(name, json.length <= this.#maxContent ? json : JSON.stringify(`${json.length} characters left out`));
  }
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

function sizeOf(name: string, value: unknown): number {
  return name.length + (typeof value === 'string' ? value.length * 2 : 8);
}

function hexadecimal(uuid: string, digits: number): string {
  const found = uuid.replaceAll('-', '');
  // Version 7 begins with the time: the random digits are at the end.
  return found.slice(-digits).padStart(digits, '0');
}

function nameOf(operation: Operation): string {
  const { kind, context } = operation;
  if (kind === 'run') return `invoke_workflow ${context.appName}`;
  if (kind === 'agent') return `invoke_agent ${context.agent.name}`;
  return kind === 'model'
    ? `chat ${operation.request.model ?? operation.model.model}`
    : `execute_tool ${operation.name}`;
}
