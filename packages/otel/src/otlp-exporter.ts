import {
  type ActiveOperation,
  ConfigurationError,
  type Instrumentation,
  type Operation,
  type Platform,
} from '@eventloom/core';
import { checkOptions, describeKind, integer, type OptionRules, placeOf, reportTo } from '@eventloom/core/internal';
import { SpanExportError } from './errors.ts';
import { ExportedSpan, type SpanSink } from './exported-span.ts';
import { OtlpBatch } from './otlp-batch.ts';
import { PROTOBUF, readBytes, type RefusedSpans, readRefusal } from './otlp-response.ts';
import { RandomWords } from './random-words.ts';
import type { ModelPrice, SpanSettings } from './span-record.ts';

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
  /**
   * Maximum number of spans that wait or are being sent, if they have at most 32 MiB; further spans are dropped, counted and reported.
   * Default 8,192.
   */
  readonly maxQueueSize?: number | undefined;
  /**
   * Maximum number of spans in one request, at most `maxQueueSize`. That many waiting spans are sent at once, and fewer of more than 4 MiB.
   * Default 2,048, or a quarter of `maxQueueSize` if that is less.
   */
  readonly maxBatchSize?: number | undefined;
  /** Maximum time that a span waits for others, in milliseconds. Default 5,000. */
  readonly delayMs?: number | undefined;
  /** Maximum time of one request, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /**
   * Sends a request. Default: the global `fetch`. On Workers it may be that of a service binding. It must not use the bytes of the body
   * after its promise has settled: their memory is used again. Its `signal` aborts at the time-out, after which its answer is ignored.
   */
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
  /** Spans that the collector refused, that did not reach it, or that could not be written. */
  readonly failed: number;
  /** Spans that wait or are being sent. */
  readonly queued: number;
}

/** Maximum number of requests for one batch. Each wait between them is twice as long as the previous one. */
const MAX_ATTEMPTS = 5;
const FIRST_WAIT_MS = 1000;
/** Maximum wait before the next attempt, even if the collector asks for a longer one. */
const MAX_WAIT_MS = 30_000;
/** Number of bytes of waiting spans from which they are sent at once. Collectors limit the size of a request. */
const MAX_BATCH_BYTES = 4_194_304;
/** Number of bytes of spans that wait or are being sent from which further spans are dropped. Spans with content may be large. */
const MAX_QUEUE_BYTES = 8 * MAX_BATCH_BYTES;
/** Statuses after which the same request may succeed, by the specification of OTLP. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** A batch that is being sent. */
interface Delivery {
  readonly body: Uint8Array<ArrayBuffer>;
  /** Number of spans in it. */
  readonly size: number;
  readonly platform: Platform;
  /** The time at which the batch is delivered or given up at the latest, unless the runtime has ended the request that sent it. */
  readonly deadlineMs: number;
  /** Ends the wait before the next attempt; undefined while there is none. */
  hurry: (() => void) | undefined;
  /** True if an attempt ended before its `fetch`, which may still read the body. */
  isHeld: boolean;
  done: Promise<void>;
}

/**
 * Sends the spans of runs to a collector by OTLP over HTTP, as protobuf, in batches. It needs no SDK, and costs a turn less than one: a
 * span is written into the next request when it ends, and nothing of the run is kept. Names and attributes are the same as with
 * `openTelemetry`.
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
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly #maxQueue: number;
  readonly #maxBatch: number;
  readonly #delayMs: number;
  readonly #timeoutMs: number;
  /** Creates the ids, from the first span on. */
  #random: RandomWords | undefined;
  /** The waiting spans. */
  readonly #batch: OtlpBatch;
  /** The platform of the first of them, or of the first dropped one that is not reported. */
  #batchPlatform: Platform | undefined;
  readonly #deliveries = new Set<Delivery>();
  /** Number of spans in the active deliveries, and of their bytes. */
  #sending = 0;
  #sendingBytes = 0;
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
  /** Receives the ended spans: a public method would publish their class. */
  readonly #sink: SpanSink = { take: (span) => this.#take(span) };

  /** @throws ConfigurationError for an unknown option or one of the wrong kind, and for an address that is not http or https */
  constructor(options: OtlpExporterOptions) {
    checkOptions('OtlpExporter', OPTIONS, options, HINTS);
    const { captureContent = false, maxContentLength = 32_768, captureUserId = false, prices = {} } = options;
    this.#settings = { contentLength: captureContent ? maxContentLength : undefined, captureUserId, prices };
    this.#batch = new OtlpBatch({ 'service.name': options.serviceName ?? 'eventloom', ...options.resource });
    this.#url = checkedUrl(options.url);
    this.#headers = { ...checkedHeaders(options.headers ?? {}), 'content-type': PROTOBUF };
    this.#fetch = options.fetch ?? ((url, init) => fetch(url, init));
    this.#maxQueue = options.maxQueueSize ?? 8192;
    // A full queue must not consist of spans that only wait for others.
    this.#maxBatch = Math.min(options.maxBatchSize ?? Math.min(2048, Math.ceil(this.#maxQueue / 4)), this.#maxQueue);
    this.#delayMs = options.delayMs ?? 5000;
    this.#timeoutMs = options.timeoutMs ?? 10_000;
  }

  /** The number of spans that were sent, dropped and refused so far. */
  get spans(): ExportedSpans {
    return {
      exported: this.#exported,
      dropped: this.#dropped,
      failed: this.#failed,
      queued: this.#queued,
    };
  }

  start(operation: Operation, parent: ActiveOperation | undefined): ActiveOperation {
    this.#random ??= new RandomWords(placeOf(operation).platform.newUuid());
    const around = parent instanceof ExportedSpan ? parent : undefined;
    return new ExportedSpan(operation, around, this.#settings, this.#sink, this.#random);
  }

  /**
   * Sends the waiting spans, and repeats requests that have failed before without a wait. A request that fails during the flush is repeated
   * after the usual waits. Resolves when each span is delivered or dropped.
   */
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
    // Reports those that did not fit before.
    this.#sendAll();
    this.#isClosed = true;
    await this.flush();
  }

  /** Adds an ended span to the queue. */
  #take(span: ExportedSpan): void {
    const { platform } = span;
    this.#batchPlatform ??= platform;
    if (this.#isClosed || this.#isFull()) {
      this.#dropped++;
      this.#unreported++;
      if (this.#isClosed) this.#reportDropped(platform);
      return;
    }
    try {
      this.#batch.add(span);
    } catch (error) {
      this.#failed++;
      throw error;
    }
    if (this.#batch.size >= this.#maxBatch || this.#batch.bytes >= MAX_BATCH_BYTES) this.#sendAll();
    else this.#wait(platform, span.endMs ?? span.startMs);
  }

  #isFull(): boolean {
    if (this.#hasRoom) return false;
    for (const delivery of this.#deliveries)
      if (delivery.platform.now() > delivery.deadlineMs)
        this.#settle(delivery, { fault: 'the request that sent them ended before the collector answered' });
    return !this.#hasRoom;
  }

  get #hasRoom(): boolean {
    return this.#queued < this.#maxQueue && this.#batch.bytes + this.#sendingBytes < MAX_QUEUE_BYTES;
  }

  /** Number of spans that wait or are being sent. */
  get #queued(): number {
    return this.#batch.size + this.#sending;
  }

  #wait(platform: Platform, nowMs: number): void {
    // A timer that did not fire belonged to a request that the runtime has ended.
    if (this.#timerMs !== undefined && nowMs - this.#timerMs <= this.#delayMs * 2) return;
    this.#timerMs = nowMs;
    this.#cancelTimer = platform.schedule(this.#delayMs, () => this.#sendAll(), { idle: true });
  }

  /** Sends the waiting spans. */
  #sendAll(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#timerMs = undefined;
    const platform = this.#batchPlatform;
    if (!platform) return;
    this.#batchPlatform = undefined;
    const { size } = this.#batch;
    if (size > 0) this.#send(this.#batch.take(), size, platform);
    this.#reportDropped(platform);
  }

  #reportDropped(platform: Platform): void {
    const count = this.#unreported;
    if (count === 0) return;
    this.#unreported = 0;
    const why = this.#isClosed
      ? 'the exporter is closed'
      : `spans that waited for the collector filled the queue (maxQueueSize: ${this.#maxQueue}, and 32 MiB)`;
    reportTo(platform, new SpanExportError(`OtlpExporter: dropped ${count} spans, because ${why}`));
  }

  #send(body: Uint8Array<ArrayBuffer>, size: number, platform: Platform): void {
    const longestMs = MAX_ATTEMPTS * (this.#timeoutMs + MAX_WAIT_MS);
    const deadlineMs = platform.now() + longestMs;
    const done = Promise.resolve();
    const delivery: Delivery = { body, size, platform, deadlineMs, hurry: undefined, isHeld: false, done };
    this.#deliveries.add(delivery);
    this.#sending += size;
    this.#sendingBytes += body.length;
    delivery.done = this.#deliver(delivery).then(
      (attempt) => this.#settle(delivery, attempt),
      (error: unknown) => this.#settle(delivery, { fault: String(error) }),
    );
    platform.background(delivery.done);
  }

  /** Counts the spans of an ended delivery, once. */
  #settle(delivery: Delivery, { fault, refused }: Outcome): void {
    const { body, size, platform } = delivery;
    if (!this.#deliveries.delete(delivery)) return;
    this.#sending -= size;
    this.#sendingBytes -= body.length;
    const failed = fault === undefined ? Math.min(refused?.count ?? 0, size) : size;
    this.#failed += failed;
    this.#exported += size - failed;
    if (failed === 0) return;
    const what = fault === undefined ? 'were refused by the collector' : 'were not delivered';
    reportTo(platform, new SpanExportError(`OtlpExporter: ${failed} spans ${what}: ${fault ?? refused?.reason}`));
  }

  /** Sends a batch until the collector accepts it or further attempts are useless. */
  async #deliver(delivery: Delivery): Promise<Outcome> {
    try {
      for (let attempt = 1; ; attempt++) {
        const outcome = await this.#attempt(delivery);
        // While the exporter closes, the last attempt follows immediately.
        if (outcome.retryMs === undefined || attempt === MAX_ATTEMPTS || (this.#isClosed && attempt > 1))
          return outcome;
        const doubled = FIRST_WAIT_MS * 2 ** (attempt - 1);
        if (!this.#isClosed) await this.#pause(delivery, Math.min(Math.max(doubled, outcome.retryMs), MAX_WAIT_MS));
      }
    } finally {
      // `fetch` copies the bytes of a body when it is called, by its specification.
      if (!delivery.isHeld) this.#batch.release(delivery.body);
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

  /** Makes one request. Ends at its time-out also if `fetch` does not. */
  #attempt(delivery: Delivery): Promise<Outcome> {
    const { body, platform } = delivery;
    return new Promise((resolve) => {
      const limit = new AbortController();
      const cancel = platform.schedule(this.#timeoutMs, () => {
        delivery.isHeld = true;
        const fault = `no answer within ${this.#timeoutMs} ms`;
        resolve({ fault, retryMs: 0 });
        limit.abort(new SpanExportError(fault));
      });
      void this.#request(body, platform, limit.signal).then((outcome) => {
        cancel();
        resolve(outcome);
      });
    });
  }

  async #request(body: Uint8Array<ArrayBuffer>, platform: Platform, signal: AbortSignal): Promise<Outcome> {
    try {
      const response = await this.#fetch(this.#url, {
        method: 'POST',
        headers: this.#headers,
        body,
        signal,
        // The headers may contain a key.
        redirect: 'manual',
      });
      if (response.ok) return { refused: await readRefusal(response) };
      await readBytes(response);
      const fault = `the collector answered with status ${response.status}`;
      return RETRYABLE.has(response.status) ? { fault, retryMs: waitOf(response, platform) } : { fault };
    } catch (error) {
      return { fault: error instanceof Error ? error.message : String(error), retryMs: 0 };
    }
  }
}

/** The outcome of one request with a batch. */
interface Outcome {
  /** The reason why the collector did not accept the batch. */
  readonly fault?: string;
  /** Minimum wait before the same request may succeed, in milliseconds. Absent if it never can. */
  readonly retryMs?: number;
  /** The spans that the collector refused of an accepted batch. */
  readonly refused?: RefusedSpans | undefined;
}

function checkedUrl(url: string): string {
  const parsed = URL.parse(url);
  if (parsed?.protocol === 'http:' || parsed?.protocol === 'https:') return url;
  throw new ConfigurationError(
    `OtlpExporter: url: expected an address of http or https, got ${JSON.stringify(url)}; write url: 'http://localhost:4318/v1/traces'`,
  );
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
