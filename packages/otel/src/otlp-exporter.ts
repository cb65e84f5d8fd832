import {
  type ActiveOperation,
  ConfigurationError,
  type Instrumentation,
  type Operation,
  type OperationEnd,
  type Platform,
  type TraceHeaders,
} from '@eventloom/core';
import {
  checkOptions,
  describeKind,
  integer,
  isRecord,
  type OptionRules,
  reportTo,
  tryParseJson,
} from '@eventloom/core/internal';
import type { Attributes } from '@opentelemetry/api';
import { SpanExportError } from './errors.ts';
import { toRequestJson } from './otlp-json.ts';
import { type ModelPrice, SpanRecord, type SpanSettings } from './span-record.ts';
import { type RemoteSpan, remoteSpanOf } from './trace-context.ts';

/** Options of an `OtlpExporter`. */
export interface OtlpExporterOptions {
  /** Address to which spans are posted, for example `http://localhost:4318/v1/traces`. */
  readonly url: string;
  /** Headers of the requests, for example with a key of the service. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Name of the program, as `service.name`. Default `eventloom`. */
  readonly serviceName?: string | undefined;
  /** Further attributes of the program, for example `service.version`. */
  readonly resource?: Readonly<Record<string, string | number | boolean>> | undefined;
  /**
   * True writes messages, system instructions, arguments and results of tools, and the texts of errors into the spans. They may contain
   * personal data. Default false.
   */
  readonly captureContent?: boolean | undefined;
  /** Maximum length of one attribute with content, in characters. The oldest messages are left out first. Default 32,768. */
  readonly maxContentLength?: number | undefined;
  /** True writes the id of the user into the spans, as `user.id`. Default false. */
  readonly captureUserId?: boolean | undefined;
  /** Prices by model name. With prices, the cost of each call is in its span, as `eventloom.cost`. Default: no costs. */
  readonly prices?: Readonly<Record<string, ModelPrice>> | undefined;
  /** Maximum number of spans that wait or are being sent; further spans are dropped, counted and reported. Default 2,048. */
  readonly maxQueueSize?: number | undefined;
  /** Maximum number of spans in one request. That many waiting spans are sent at once. Default 512. */
  readonly maxBatchSize?: number | undefined;
  /** Maximum time that a span waits for others, in milliseconds. Default 5,000. */
  readonly delayMs?: number | undefined;
  /** Maximum time of one request, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Sends a request. Default: the global `fetch`. On Workers it may be that of a service binding. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
}

const OPTIONS: OptionRules<OtlpExporterOptions> = {
  url: 'text',
  headers: 'object',
  serviceName: 'text',
  resource: 'object',
  captureContent: 'flag',
  maxContentLength: integer(0),
  captureUserId: 'flag',
  prices: 'object',
  maxQueueSize: integer(1),
  maxBatchSize: integer(1),
  delayMs: integer(0),
  timeoutMs: integer(1),
  fetch: 'function',
};

const HINTS = { endpoint: "write url: 'http://localhost:4318/v1/traces'" };

/** Numbers of spans of an exporter so far. */
export interface ExportedSpans {
  /** Spans that the collector accepted. */
  readonly exported: number;
  /** Spans that did not fit into the queue. */
  readonly dropped: number;
  /** Spans that the collector refused, or that did not reach it. */
  readonly failed: number;
  /** Spans that wait or are being sent. */
  readonly queued: number;
}

/** Maximum number of requests for one batch. Each wait between them is twice as long as the previous one. */
const MAX_ATTEMPTS = 5;
const FIRST_WAIT_MS = 1000;
/** Maximum wait before the next attempt, even if the collector asks for a longer one. */
const MAX_WAIT_MS = 30_000;
/** Maximum size of a response that is read; a larger one is ignored. In bytes. */
const MAX_RESPONSE = 65_536;
/** Statuses after which the same request may succeed, by the specification of OTLP. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** A batch that is being sent. */
interface Delivery {
  readonly spans: readonly ExportedSpan[];
  readonly platform: Platform;
  /** The time at which the batch is delivered or given up at the latest, unless the runtime has ended the request that sent it. */
  readonly deadlineMs: number;
  /** Ends the wait before the next attempt; undefined while there is none. */
  hurry: (() => void) | undefined;
  done: Promise<void>;
}

/**
 * Sends the spans of runs to a collector by OTLP over HTTP, as JSON, in batches. It needs no SDK, and costs a turn a few microseconds,
 * because a span is encoded only when its batch is sent. Names and attributes are the same as with `openTelemetry`.
 *
 * A request that fails in the network, takes too long or is answered with status 429, 502, 503 or 504 is repeated; a batch is sent at most
 * five times. Spans that do not fit into the queue or cannot be delivered are counted, and reported to the platform as a `SpanExportError`;
 * runs are not affected. Call `close` before the program ends.
 *
 * It continues the trace of a `traceparent` header and passes its own on. It does not export traces that the other service does not record.
 * Metrics, and spans that a tool starts with the OpenTelemetry API, need an SDK and `openTelemetry`.
 *
 * @example
 * import { OtlpExporter } from '@eventloom/otel';
 * import { InMemoryRunner, LlmAgent } from 'eventloom';
 *
 * const exporter = new OtlpExporter({ url: 'http://localhost:4318/v1/traces', serviceName: 'travel' });
 * const agent = new LlmAgent({ name: 'helper', model: 'gemini-flash-latest' });
 * const runner = new InMemoryRunner({ agent, instrumentation: exporter });
 */
export class OtlpExporter implements Instrumentation {
  readonly #settings: SpanSettings;
  readonly #resource: Attributes;
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly #maxQueue: number;
  readonly #maxBatch: number;
  readonly #delayMs: number;
  readonly #timeoutMs: number;
  #queue: ExportedSpan[] = [];
  readonly #deliveries = new Set<Delivery>();
  /** Number of spans in the active deliveries. */
  #sending = 0;
  /** The time at which the timer that sends waiting spans was set; undefined if there is none. */
  #timerMs: number | undefined;
  #cancelTimer: (() => void) | undefined;
  #exported = 0;
  #dropped = 0;
  #failed = 0;
  /** Number of spans that were dropped since the last report. */
  #unreported = 0;
  /** Number of waiting calls of `flush`. */
  #flushes = 0;
  #isClosed = false;

  /** @throws ConfigurationError for an unknown option or one of the wrong kind, and for an address that is not http or https */
  constructor(options: OtlpExporterOptions) {
    checkOptions('OtlpExporter', OPTIONS, options, HINTS);
    const { captureContent = false, maxContentLength = 32_768, captureUserId = false, prices = {} } = options;
    this.#settings = { contentLength: captureContent ? maxContentLength : undefined, captureUserId, prices };
    this.#resource = { 'service.name': options.serviceName ?? 'eventloom', ...options.resource };
    this.#url = checkedUrl(options.url);
    this.#headers = { ...checkedHeaders(options.headers ?? {}), 'content-type': 'application/json' };
    this.#fetch = options.fetch ?? ((url, init) => fetch(url, init));
    this.#maxQueue = options.maxQueueSize ?? 2048;
    this.#maxBatch = options.maxBatchSize ?? 512;
    this.#delayMs = options.delayMs ?? 5000;
    this.#timeoutMs = options.timeoutMs ?? 10_000;
  }

  /** The number of spans that were sent, dropped and refused so far. */
  get spans(): ExportedSpans {
    return {
      exported: this.#exported,
      dropped: this.#dropped,
      failed: this.#failed,
      queued: this.#queue.length + this.#sending,
    };
  }

  start(operation: Operation, parent: ActiveOperation | undefined): ActiveOperation {
    return new ExportedSpan(operation, parent instanceof ExportedSpan ? parent : undefined, this.#settings, this);
  }

  /** Sends the waiting spans, and repeats failed requests without a wait. Resolves when each span is delivered or dropped. */
  async flush(): Promise<void> {
    this.#flushes++;
    try {
      for (const { hurry } of this.#deliveries) hurry?.();
      this.#sendAll();
      await Promise.all(Array.from(this.#deliveries, ({ done }) => done));
    } finally {
      this.#flushes--;
    }
  }

  /**
   * Sends the waiting spans, repeats failed requests once, and resolves after two time-outs (`timeoutMs`) at the latest. Later spans are
   * dropped. Call it when the runs have ended.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.flush();
  }

  /** Adds an ended span to the queue. @internal */
  take(span: ExportedSpan): void {
    const { platform } = span;
    if (this.#isClosed || this.#isFull()) {
      this.#dropped++;
      this.#unreported++;
      if (this.#isClosed) this.#reportDropped(platform);
      return;
    }
    this.#queue.push(span);
    if (this.#queue.length >= this.#maxBatch) this.#sendAll();
    else this.#wait(platform);
  }

  #isFull(): boolean {
    if (this.#queue.length + this.#sending < this.#maxQueue) return false;
    for (const delivery of this.#deliveries)
      if (delivery.platform.now() > delivery.deadlineMs)
        this.#settle(delivery, { fault: 'the request that sent them ended before the collector answered' });
    return this.#queue.length + this.#sending >= this.#maxQueue;
  }

  #wait(platform: Platform): void {
    const nowMs = platform.now();
    // A timer that did not fire belonged to a request that the runtime has ended.
    if (this.#timerMs !== undefined && nowMs - this.#timerMs <= this.#delayMs * 2) return;
    this.#timerMs = nowMs;
    this.#cancelTimer = platform.schedule(this.#delayMs, () => this.#sendAll(), { idle: true });
  }

  /** Sends the waiting spans, in batches. */
  #sendAll(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#timerMs = undefined;
    const waiting = this.#queue;
    this.#queue = [];
    for (let from = 0; from < waiting.length; from += this.#maxBatch) {
      const spans = waiting.slice(from, from + this.#maxBatch);
      const [first] = spans;
      if (first) this.#send(spans, first.platform);
    }
    const platform = waiting[0]?.platform;
    if (platform) this.#reportDropped(platform);
  }

  #reportDropped(platform: Platform): void {
    const count = this.#unreported;
    if (count === 0) return;
    this.#unreported = 0;
    const why = this.#isClosed ? 'the exporter is closed' : `${this.#maxQueue} spans waited for the collector`;
    reportTo(platform, new SpanExportError(`OtlpExporter: dropped ${count} spans, because ${why}`));
  }

  #send(spans: readonly ExportedSpan[], platform: Platform): void {
    const longestMs = MAX_ATTEMPTS * (this.#timeoutMs + MAX_WAIT_MS);
    const deadlineMs = platform.now() + longestMs;
    const delivery: Delivery = { spans, platform, deadlineMs, hurry: undefined, done: Promise.resolve() };
    this.#deliveries.add(delivery);
    this.#sending += spans.length;
    delivery.done = this.#deliver(delivery).then(
      (attempt) => this.#settle(delivery, attempt),
      (error: unknown) => this.#settle(delivery, { fault: String(error) }),
    );
    platform.background(delivery.done);
  }

  /** Counts the spans of an ended delivery, once. */
  #settle(delivery: Delivery, { fault, refused = 0, reason = '' }: Outcome): void {
    const { spans, platform } = delivery;
    if (!this.#deliveries.delete(delivery)) return;
    this.#sending -= spans.length;
    const failed = fault === undefined ? Math.min(refused, spans.length) : spans.length;
    this.#failed += failed;
    this.#exported += spans.length - failed;
    if (failed === 0) return;
    const what = fault === undefined ? 'were refused by the collector' : 'were not delivered';
    reportTo(platform, new SpanExportError(`OtlpExporter: ${failed} spans ${what}: ${fault ?? reason}`));
  }

  /** Sends a batch until the collector accepts it or further attempts are useless. */
  async #deliver(delivery: Delivery): Promise<Outcome> {
    const { spans, platform } = delivery;
    const body = toRequestJson(spans, this.#resource);
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(body, platform);
      // While the exporter closes, the last attempt follows immediately.
      if (outcome.retryMs === undefined || attempt === MAX_ATTEMPTS || (this.#isClosed && attempt > 1)) return outcome;
      const doubled = FIRST_WAIT_MS * 2 ** (attempt - 1);
      if (!this.#isClosed) await this.#pause(delivery, Math.min(Math.max(doubled, outcome.retryMs), MAX_WAIT_MS));
    }
  }

  #pause(delivery: Delivery, waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      // The timer keeps the program alive only while a flush waits.
      const cancel = delivery.platform.schedule(waitMs, resolve, { idle: this.#flushes === 0 });
      delivery.hurry = () => {
        cancel();
        resolve();
      };
    });
  }

  async #attempt(body: string, platform: Platform): Promise<Outcome> {
    const limit = new AbortController();
    const endInTime = (): void => limit.abort(new SpanExportError(`no answer within ${this.#timeoutMs} ms`));
    const cancel = platform.schedule(this.#timeoutMs, endInTime);
    try {
      const response = await this.#fetch(this.#url, {
        method: 'POST',
        headers: this.#headers,
        body,
        signal: limit.signal,
        // The headers may contain a key.
        redirect: 'manual',
      });
      const answer = await readAnswer(response);
      if (response.ok) return refusalIn(answer);
      const fault = `the collector answered with status ${response.status}`;
      return RETRYABLE.has(response.status) ? { fault, retryMs: waitOf(response, platform) } : { fault };
    } catch (error) {
      const reason: unknown = limit.signal.aborted ? limit.signal.reason : error;
      return { fault: reason instanceof Error ? reason.message : String(reason), retryMs: 0 };
    } finally {
      cancel();
    }
  }
}

/** The outcome of one request with a batch. */
interface Outcome {
  /** The reason why the collector did not accept the batch. */
  readonly fault?: string;
  /** Minimum wait before the same request may succeed, in milliseconds. Absent if it never can. */
  readonly retryMs?: number;
  /** Number of spans that the collector refused in an accepted batch. */
  readonly refused?: number;
  readonly reason?: string;
}

/** An operation with its span. */
class ExportedSpan extends SpanRecord {
  /** The span of another service that the run belongs to. */
  readonly remote: RemoteSpan | undefined;
  readonly #tracestate: string | undefined;
  readonly #isSampled: boolean;
  readonly #exporter: OtlpExporter;

  constructor(operation: Operation, parent: ExportedSpan | undefined, settings: SpanSettings, exporter: OtlpExporter) {
    const headers = operation.kind === 'run' ? operation.traceHeaders : undefined;
    const remote = parent || !headers ? undefined : remoteSpanOf(headers);
    super(operation, parent, settings, remote?.traceId);
    this.remote = remote;
    this.#tracestate = parent ? parent.#tracestate : remote?.tracestate;
    this.#isSampled = parent ? parent.#isSampled : remote?.traceFlags !== 0;
    this.#exporter = exporter;
  }

  traceHeaders(): TraceHeaders {
    const traceparent = `00-${this.traceId}-${this.spanId}-0${this.#isSampled ? 1 : 0}`;
    return this.#tracestate === undefined ? { traceparent } : { traceparent, tracestate: this.#tracestate };
  }

  override end(end: OperationEnd): void {
    super.end(end);
    if (this.#isSampled) this.#exporter.take(this);
  }
}

function checkedUrl(url: string): string {
  const parsed = URL.parse(url);
  if (parsed?.protocol === 'http:' || parsed?.protocol === 'https:') return url;
  throw new ConfigurationError(
    `OtlpExporter: url: expected an address of http or https, got ${JSON.stringify(url)}; write url: 'http://localhost:4318/v1/traces'`,
  );
}

/** Returns the text of a response; empty if it is too long. */
async function readAnswer({ body }: Response): Promise<string> {
  if (!body) return '';
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_RESPONSE) return '';
  }
  return text;
}

/** Returns the number of refused spans that a response states. The collector accepted the others, even if the response has a warning. */
function refusalIn(answer: string): Outcome {
  // Many collectors answer without a body.
  const parsed = tryParseJson(answer);
  const partial = isRecord(parsed) ? parsed['partialSuccess'] : undefined;
  if (!isRecord(partial)) return {};
  const { rejectedSpans, errorMessage } = partial;
  // OTLP writes 64-bit numbers as strings in JSON.
  const refused = Number(rejectedSpans ?? 0);
  const reason =
    typeof errorMessage === 'string' && errorMessage !== '' ? errorMessage.slice(0, 500) : 'no reason given';
  return Number.isInteger(refused) && refused > 0 ? { refused, reason } : {};
}

function checkedHeaders(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  const checked: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== 'string')
      throw new ConfigurationError(
        `OtlpExporter: headers: ${JSON.stringify(name)}: expected a string, got ${describeKind(value)}; write { ${JSON.stringify(name)}: '…' }`,
      );
    checked[name] = value;
  }
  return checked;
}

/** Returns the wait that a collector requests, in seconds or as a date. */
function waitOf({ headers }: Response, platform: Platform): number {
  const value = headers.get('retry-after');
  if (value === null) return 0;
  const seconds = Number(value);
  const waitMs = Number.isNaN(seconds) ? Date.parse(value) - platform.now() : seconds * 1000;
  return waitMs > 0 ? waitMs : 0;
}
