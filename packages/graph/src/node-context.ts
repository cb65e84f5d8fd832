import {
  type BaseAgent,
  type BaseTool,
  type CallbackContext,
  ConfigurationError,
  InvalidEventError,
  type JsonValue,
  type NodeEvent,
} from '@eventloom/core';
import { describeKind, copyJson, type InputRequestParams } from '@eventloom/core/internal';
import { type InferSchema, type SchemaLike, ValueSchema } from '@eventloom/tools';
import type { Attempt } from './attempt.ts';
import { AttemptCallbackContext } from './attempt-context.ts';
import { describeFault, frozen } from './json-values.ts';
import { NodeError } from './errors.ts';
import { checkRunnable, type GraphNode } from './graph-node.ts';

/** Options of `NodeContext.runNode`. */
export interface RunNodeOptions {
  /** Identifies the run among the runs of nodes with the same name; must be unique. Default: the number of the call, from 0. */
  readonly key?: string;
}

/** The context that a node's function gets. Each attempt has a new one. */
export class NodeContext<State = Readonly<Record<string, unknown>>, Updates = Readonly<Record<string, never>>> {
  /** The route to take after this node. Set it in a node with `addRoutes`. Default: undefined, which takes the `DEFAULT_ROUTE`. */
  route: string | undefined;
  readonly #attempt: Attempt;
  #callbackContext: CallbackContext | undefined;

  constructor(attempt: Attempt) {
    this.#attempt = attempt;
  }

  get nodeName(): string {
    return this.#attempt.run.node.name;
  }

  /**
   * Number of the attempt, from 1. Failed attempts count, even those before an answer or in an earlier process. An attempt that stopped
   * with a question to a person does not count.
   */
  get attempt(): number {
    return this.#attempt.number;
  }

  /** Aborted when the run is aborted, the attempt times out, or the result is no longer needed. */
  get abortSignal(): AbortSignal {
    return this.#attempt.guard.signal;
  }

  /** Number of the current step, from 1. */
  get step(): number {
    return this.#attempt.run.step;
  }

  /** The channel values at the beginning of the step. Writes of this node are not visible here. */
  get state(): State {
    // The types of the plan's channels guarantee this type.
    return this.#attempt.run.state as State;
  }

  /**
   * Gives access to artifacts, memory, the session's state, and the actions of the node's event, such as a transfer, which ends the graph.
   *
   * The state is that of the beginning of the step, with the changes of this attempt and the stored changes of the
   * nodes that it runs. Changes of a failed attempt are discarded. An attempt that is repeated in another process also
   * sees changes that other nodes of the step stored. Writing state or artifacts after the attempt has ended throws a
   * RunAbortedError.
   */
  get callbackContext(): CallbackContext {
    if (this.#callbackContext) return this.#callbackContext;
    const { context } = this.#attempt;
    return (this.#callbackContext = new AttemptCallbackContext(context, () => this.#attempt.check()));
  }

  /**
   * Writes channels. The writes take effect when the node is done, in order, each through the channel's reducer. A
   * channel may be written several times.
   * @throws ConfigurationError for a channel that is not in the node's `writes`
   * @throws InvalidEventError for a value that is not JSON
   * @throws RunAbortedError if this attempt has ended
   */
  update(updates: Updates): void {
    this.#attempt.check();
    for (const [name, value] of Object.entries(updates as Readonly<Record<string, unknown>>)) {
      if (!this.#attempt.run.writes.has(name)) {
        throw new ConfigurationError(
          `node "${this.nodeName}": cannot write the channel "${name}"; write writes: ['${name}'] in the node's options`,
        );
      }
      this.#attempt.updates.push([name, toJson(`update: ${name}`, value)]);
    }
  }

  /**
   * Streams an event of the app to the readers of the run immediately. The event is not stored. Resolves to true when
   * it was read, and to false if the stream has no reader or this attempt has ended; never rejects. At most 1,000
   * events may wait to be read.
   * @throws InvalidEventError synchronously, for a payload that is not JSON and for an empty type
   * @throws ConfigurationError synchronously, if too many events wait
   */
  emitCustom(type: string, payload?: unknown): Promise<boolean> {
    if (typeof type !== 'string' || type === '')
      throw new InvalidEventError(
        `emitCustom: type: expected a non-empty string, got ${describeKind(type)}; write emitCustom('found', payload)`,
      );
    return this.#emit(
      'custom',
      type,
      payload === undefined ? {} : { payload: toJson('emitCustom: the payload', payload) },
    );
  }

  /**
   * Streams the progress of the node, in the way of `emitCustom`.
   * @param progress percentage from 0 to 100
   * @throws InvalidEventError synchronously, if the number is not between 0 and 100 or the message is not a string
   */
  emitProgress(progress: number, message?: string): Promise<boolean> {
    if (typeof progress !== 'number' || !(progress >= 0 && progress <= 100))
      throw new InvalidEventError(
        `emitProgress: progress: expected a number from 0 to 100, got ${describeKind(progress)}`,
      );
    if (message !== undefined && typeof message !== 'string')
      throw new InvalidEventError(`emitProgress: message: expected a string, got ${describeKind(message)}`);
    return this.#emit('progress', 'progress', message === undefined ? { progress } : { progress, message });
  }

  /** Streams a piece of text, in the way of `emitCustom`. @throws InvalidEventError synchronously, if it is not a string */
  emitText(text: string): Promise<boolean> {
    if (typeof text !== 'string')
      throw new InvalidEventError(`emitText: text: expected a string, got ${describeKind(text)}`);
    return this.#emit('text', 'text', { message: text });
  }

  #emit(category: NodeEvent['category'], eventType: string, said: Partial<NodeEvent>): Promise<boolean> {
    const { isEnded, run } = this.#attempt;
    return isEnded ? Promise.resolve(false) : run.events.emit({ eventType, category, ...said });
  }

  /**
   * Asks a person for input and resolves to the answer, parsed by `responseSchema` if there is one.
   *
   * Without an answer it rejects, which stops the function; the node waits even if the function catches the error. When
   * the other nodes of the step are done, the run pauses. With the answer, the function runs again from its beginning.
   * A question is identified by its `key`, by default its number among the node's questions. Questions that are asked
   * before the first is awaited are sent together.
   * @throws ConfigurationError in a run that is not resumable, for a key that was used already, for a schema that JSON
   * Schema cannot express, and for parameters that are not JSON
   * @throws RunAbortedError if this attempt has ended
   */
  requestInput<const S extends SchemaLike>(
    params: InputRequestParams & { readonly responseSchema: S },
  ): Promise<InferSchema<S>>;
  requestInput(params?: InputRequestParams): Promise<unknown>;
  requestInput(params: InputRequestParams = {}): Promise<unknown> {
    return handled(this.#requestInput(params));
  }

  async #requestInput(params: InputRequestParams): Promise<unknown> {
    return this.#answer(await this.#attempt.ask(params), params.responseSchema);
  }

  /** Parses an answer with the schema, which may refuse more than its JSON Schema. @throws NodeError for an answer that it refuses */
  async #answer(given: unknown, schema: object | undefined): Promise<unknown> {
    if (!schema) return given;
    const checked = await new ValueSchema(schema as SchemaLike, `node "${this.nodeName}": requestInput`).check(given);
    if ('value' in checked) return checked.value;
    throw new NodeError(this.nodeName, `the answer does not match the schema: ${checked.issues.join('; ')}`);
  }

  /**
   * Runs another node, which need not be part of the graph, and resolves to its output. Several nodes can run
   * concurrently; they stop when this node times out. This node is done when they are, also those that it does not
   * await. If one fails after the function has returned, its error goes to `platform.background`.
   *
   * The completed run is stored as an event. If this node runs again (because it failed, asked a person or was
   * interrupted), a completed run is not repeated but its stored output returned. A run is identified by its `key`, by
   * default its number among the runs of nodes with this name. Give keys if the order of the calls varies.
   * @throws NodeError if the last attempt of the node failed
   * @throws ConfigurationError for a value that is not a node, agent or tool, for a key that was used already, and for
   * a completed run that had another input
   * @throws RunAbortedError if this attempt has ended
   */
  runNode<Input, Output>(
    node: GraphNode<Input, Output>,
    input: NoInfer<Input>,
    options?: RunNodeOptions,
  ): Promise<Output>;
  runNode(node: BaseAgent | BaseTool, input: unknown, options?: RunNodeOptions): Promise<unknown>;
  runNode(node: GraphNode | BaseAgent | BaseTool, input: unknown, options: RunNodeOptions = {}): Promise<unknown> {
    return handled(this.#runNode(node, input, options));
  }

  async #runNode(node: GraphNode | BaseAgent | BaseTool, input: unknown, options: RunNodeOptions): Promise<unknown> {
    checkRunnable(`node "${this.nodeName}"`, node);
    const given = frozen(toJson(`runNode "${node.name}": the input`, input === undefined ? null : input));
    return this.#attempt.runNode(node, given, options.key);
  }
}

/** Returns the promise itself. A node may end before it awaits the promise, whose rejection would then end the process. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** Copies a value. @throws InvalidEventError for a value that is not JSON */
function toJson(what: string, value: unknown): JsonValue {
  const copied = copyJson(value);
  if ('value' in copied) return copied.value;
  throw new InvalidEventError(`${what} ${describeFault(copied.fault)}; write JSON`, { path: copied.fault.path });
}
