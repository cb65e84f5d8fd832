import type { AbortGuard } from '../context/abort-guard.ts';
import type { InvocationContext } from '../context/invocation-context.ts';
import type { ToolContext } from '../context/tool-context.ts';
import { RunAbortedError, toError } from '../errors.ts';
import type { BaseLlm } from '../model/base-llm.ts';
import type { LlmRequest } from '../model/llm-request.ts';
import type { LlmResponse } from '../model/llm-response.ts';
import { type Platform, reportTo } from '../platform/platform.ts';
import type { MaybePromise } from '../session/maybe-promise.ts';

/** A part of a run that has a beginning and an end. */
export type Operation =
  /** A whole run, once its session is locked. `resumed` is true for a resumed run. `traceHeaders` are those of the run's parameters. */
  | {
      readonly kind: 'run';
      readonly context: InvocationContext;
      readonly resumed: boolean;
      readonly traceHeaders?: TraceHeaders | undefined;
    }
  /** One execution of an agent. */
  | { readonly kind: 'agent'; readonly context: InvocationContext }
  /** One request to a model, or one live connection to it (`live`). */
  | {
      readonly kind: 'model';
      readonly context: InvocationContext;
      readonly model: BaseLlm;
      readonly request: LlmRequest;
      readonly live: boolean;
    }
  /** One tool call with its callbacks, including calls of a tool that does not exist. */
  | {
      readonly kind: 'tool';
      readonly context: ToolContext;
      readonly name: string;
      readonly args: Readonly<Record<string, unknown>>;
    }
  /** One attempt of a node of a graph or a workflow. The agent, the tool or the nodes that it runs are inside it. */
  | { readonly kind: 'node'; readonly context: InvocationContext; readonly name: string };

/**
 * Headers that join the traces of two services, by their names in lower case: `traceparent`, and `tracestate` if there is one, as in
 * W3C Trace Context.
 */
export type TraceHeaders = Readonly<Record<string, string>>;

/**
 * The outcome of an operation. `left`: it was closed early, because its reader stopped reading or the run was aborted. `result` is what a
 * tool call gives the model, if it has a response yet, or the output of a node.
 */
export type OperationEnd =
  | { readonly status: 'ok'; readonly result?: unknown }
  | { readonly status: 'left' }
  | { readonly status: 'error'; readonly error: Error };

/**
 * Observes runs, agents, model calls, tool calls and nodes of graphs, for traces, metrics and logs. Set as
 * `instrumentation` of a runner. It cannot change a run; plugins can. A run without instrumentation has no overhead.
 */
export interface Instrumentation {
  /**
   * Called when an operation starts, in the asynchronous context of its parent. Returns undefined for an operation that is not observed.
   * An error is reported to the platform, and the operation is not observed.
   * @param parent the innermost observed operation around this one, as this instrumentation returned it; undefined for a run. Correct also
   *   where the platform has no asynchronous contexts
   */
  start(operation: Operation, parent: ActiveOperation | undefined): ActiveOperation | undefined;
}

/** An operation that is being observed. */
export interface ActiveOperation {
  /**
   * Runs one step of the operation, as `context.with` of OpenTelemetry does, and returns what the step returns. Called for each step of a
   * generator, so that a span that is started inside a tool is a child of the tool's span. Must call the step exactly once. Absent: the
   * steps run as they do without instrumentation, which costs less.
   */
  run?<T>(step: () => T): T;
  /** Called for each response of a model, chunks included. Errors are reported to the platform. */
  response?(response: LlmResponse): void;
  /** Returns the headers that a tool adds to its requests, so that the other service continues the trace. Absent: there are none. */
  traceHeaders?(): TraceHeaders;
  /**
   * Called exactly once, also after an error and after the reader stopped reading. After an abort, an operation may end
   * before those within it. Errors are reported to the platform.
   */
  end(end: OperationEnd): void;
}

/** Starts the operations of a run. An operation is kept by the context that it observes, and found there as the parent of others. */
export class RunOperations {
  readonly #instrumentation: Instrumentation;
  readonly #platform: Platform;

  constructor(instrumentation: Instrumentation, platform: Platform) {
    this.#instrumentation = instrumentation;
    this.#platform = platform;
  }

  /** Starts an operation. Returns undefined if it is not observed. */
  start(operation: Operation): ObservedOperation | undefined {
    const active = startOf(this.#instrumentation, this.#platform, operation, parentOf(operation)?.active);
    if (!active) return undefined;
    const observed = new ObservedOperation(active, this.#platform);
    if (operation.kind !== 'model') operation.context.operation = observed;
    return observed;
  }
}

/** Returns the innermost operation around this one that has not ended; the run if all have. */
function parentOf(operation: Operation): ObservedOperation | undefined {
  const { kind } = operation;
  const place = kind === 'tool' ? operation.context.invocationContext : operation.context;
  let parent: ObservedOperation | undefined;
  // An agent that transferred control has ended: its parent is then the parent of the target.
  for (let at = kind === 'model' || kind === 'tool' ? place : place.parent; at; at = at.parent) {
    parent = at.operation ?? parent;
    if (parent && !parent.isEnded) return parent;
  }
  return parent;
}

const NO_HEADERS: TraceHeaders = Object.freeze({});

function startOf(
  instrumentation: Instrumentation,
  platform: Platform,
  operation: Operation,
  parent: ActiveOperation | undefined,
): ActiveOperation | undefined {
  try {
    return instrumentation.start(operation, parent);
  } catch (error) {
    reportTo(platform, error);
    return undefined;
  }
}

const SUCCEEDED: OperationEnd = Object.freeze({ status: 'ok' });
const LEFT: OperationEnd = Object.freeze({ status: 'left' });

/** An operation in progress. Ends once, and keeps errors of the instrumentation away from the run. */
export class ObservedOperation {
  readonly active: ActiveOperation;
  readonly #platform: Platform;
  /** The abort that ends the operation. */
  #abort: AbortGuard | undefined;
  #isEnded = false;
  #failure: { readonly thrown: unknown } | undefined;

  constructor(active: ActiveOperation, platform: Platform) {
    this.active = active;
    this.#platform = platform;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Ends the operation as `left` when a guard fires, even if its work and its reader ignore that. */
  endOnAbort(abort: AbortGuard): void {
    if (abort.signal.aborted) return this.leave();
    this.#abort = abort;
    abort.watch(this);
  }

  /** Runs one step inside the operation. */
  run<T>(step: () => T): T {
    return this.active.run ? this.active.run(step) : step();
  }

  response(response: LlmResponse): void {
    try {
      this.active.response?.(response);
    } catch (error) {
      reportTo(this.#platform, error);
    }
  }

  /** Returns the headers that continue the trace of the operation; none if it has ended. */
  traceHeaders(): TraceHeaders {
    if (this.#isEnded) return NO_HEADERS;
    try {
      return this.active.traceHeaders?.() ?? NO_HEADERS;
    } catch (error) {
      reportTo(this.#platform, error);
      return NO_HEADERS;
    }
  }

  succeed(): void {
    this.end(SUCCEEDED);
  }

  /** Ends the operation as `left`, unless it has ended. */
  leave(): void {
    this.end(LEFT);
  }

  /** Ends the operation with the error that it threw; as `left` if that is a RunAbortedError. */
  fail(thrown: unknown): void {
    this.end(RunAbortedError.isInstance(thrown) ? LEFT : { status: 'error', error: toError(thrown) });
  }

  /** Makes `around` end the operation as failed even though its function returns, for a tool's error that becomes a response. */
  failWith(thrown: unknown): void {
    this.#failure = { thrown };
  }

  /**
   * Runs a function to its end inside the operation, and ends the operation with its outcome. Does not wait for a
   * result that is returned at once.
   * @param resultOf returns the `result` of the operation
   */
  around<T>(work: () => Promise<T>, resultOf?: (returned: T) => unknown): Promise<T>;
  around<T>(work: () => MaybePromise<T>, resultOf?: (returned: T) => unknown): MaybePromise<T>;
  around<T>(work: () => MaybePromise<T>, resultOf?: (returned: T) => unknown): MaybePromise<T> {
    try {
      const returned = this.run(work);
      if (returned instanceof Promise)
        return returned.then(
          (result) => this.#finish(result, resultOf),
          (error: unknown) => this.#rethrow(error),
        );
      return this.#finish(returned, resultOf);
    } catch (error) {
      return this.#rethrow(error);
    }
  }

  #finish<T>(result: T, resultOf: ((returned: T) => unknown) | undefined): T {
    if (this.#failure) this.fail(this.#failure.thrown);
    else this.end({ status: 'ok', result: resultOf?.(result) });
    return result;
  }

  #rethrow(error: unknown): never {
    this.fail(error);
    throw error;
  }

  end(end: OperationEnd): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#abort?.unwatch(this);
    try {
      this.active.end(end);
    } catch (error) {
      reportTo(this.#platform, error);
    }
  }
}

/**
 * Opens a generator inside an operation, and runs its steps there. The operation ends when the guard fires, or when opening fails; the
 * reader of the generator ends it otherwise. Returns the generator itself if the instrumentation runs no steps.
 */
export function openInside<T>(
  operation: ObservedOperation,
  abort: AbortGuard,
  open: () => AsyncGenerator<T, void, void>,
): AsyncGenerator<T, void, void> {
  // Also applies at a yield, because the reader may be stuck in a callback and never request the next value.
  operation.endOnAbort(abort);
  try {
    const inner = operation.run(open);
    return operation.active.run ? new InnerGenerator(operation, inner) : inner;
  } catch (error) {
    operation.fail(error);
    throw error;
  }
}

/** Runs the steps of a generator inside an operation. */
class InnerGenerator<T> implements AsyncGenerator<T, void, void> {
  readonly #operation: ObservedOperation;
  readonly #inner: AsyncGenerator<T, void, void>;

  constructor(operation: ObservedOperation, inner: AsyncGenerator<T, void, void>) {
    this.#operation = operation;
    this.#inner = inner;
  }

  next(): Promise<IteratorResult<T, void>> {
    return this.#operation.run(() => this.#inner.next());
  }

  return(): Promise<IteratorResult<T, void>> {
    return this.#operation.run(() => this.#inner.return());
  }

  throw(error: unknown): Promise<IteratorResult<T, void>> {
    return this.#operation.run(() => this.#inner.throw(error));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}

/**
 * Combines several instrumentations: each operation is nested in all of them, the first one outermost. An error of one is reported to the
 * platform and does not affect the others. Returns undefined for an empty list.
 */
export function combineInstrumentation(
  all: readonly Instrumentation[],
  platform: Platform,
): Instrumentation | undefined {
  if (all.length <= 1) return all[0];
  return {
    start(operation, parent) {
      const around = parent instanceof CombinedOperation ? parent.innermost : [];
      const own = all.map((each, index) => {
        const active = startOf(each, platform, operation, around[index]?.active);
        return active && new ObservedOperation(active, platform);
      });
      const active = own.filter((each) => each !== undefined);
      if (active.length === 0) return undefined;
      return new CombinedOperation(
        active,
        own.map((each, index) => each ?? around[index]),
      );
    },
  };
}

class CombinedOperation implements ActiveOperation {
  /** The innermost operation that each instrumentation observes: this one, or one around it. */
  readonly innermost: readonly (ObservedOperation | undefined)[];
  readonly #own: readonly ObservedOperation[];

  constructor(own: readonly ObservedOperation[], innermost: readonly (ObservedOperation | undefined)[]) {
    this.#own = own;
    this.innermost = innermost;
  }

  run<T>(step: () => T): T {
    return this.#own.reduceRight<() => T>((inner, each) => () => each.run(inner), step)();
  }

  response(response: LlmResponse): void {
    for (const each of this.#own) each.response(response);
  }

  traceHeaders(): TraceHeaders {
    return Object.assign({}, ...this.#own.map(({ active }) => active.traceHeaders?.())) as TraceHeaders;
  }

  end(end: OperationEnd): void {
    for (const each of this.#own.toReversed()) each.end(end);
  }
}

/** Later versions than 00 may have further fields. */
const TRACEPARENT = /^(?:00(?=.{53}$)|(?!00|ff)[\da-f]{2})-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}(?:-.*)?$/;
const MAX_TRACEPARENT = 512;
/** Longest `tracestate` that is passed on, as W3C Trace Context recommends. */
const MAX_TRACESTATE = 512;

/** Reads the trace headers of a request: a valid `traceparent` with its `tracestate`; undefined for a request without one. */
export function readTraceHeaders(headers: Headers): TraceHeaders | undefined {
  const traceparent = headers.get('traceparent');
  if (traceparent === null || traceparent.length > MAX_TRACEPARENT || !TRACEPARENT.test(traceparent)) return undefined;
  const tracestate = headers.get('tracestate');
  return tracestate === null || tracestate.length > MAX_TRACESTATE ? { traceparent } : { traceparent, tracestate };
}
