import {
  type BaseAgent,
  type BaseTool,
  type CallbackContext,
  ConfigurationError,
  InvalidEventError,
  type JsonValue,
  type NodeEvent,
} from '@eventloom/core';
import { copyJson, type InputRequestParams } from '@eventloom/core/internal';
import { type InferSchema, type SchemaLike, ValueSchema } from '@eventloom/tools';
import type { Attempt } from './attempt.ts';
import { AttemptCallbackContext } from './attempt-context.ts';
import { describeFault, frozen } from './json-values.ts';
import { NodeError } from './errors.ts';
import { checkRunnable, type GraphNode } from './graph-node.ts';

/** Tells two runs of one node by the same node apart. */
export interface RunNodeOptions {
  /** Unique among the runs of nodes of this name. Default: their number, in the order in which they are called. */
  readonly key?: string;
}

/** The context of a node's function, a new one for each attempt. */
export class NodeContext<State = Readonly<Record<string, unknown>>, Updates = Readonly<Record<string, never>>> {
  /** The route that is taken from here, where the node's edges are routes. */
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
   * Number of the attempt, from 1. An attempt that asks a person does not count as failed. Attempts that failed before
   * an answer, or before the process ended, count.
   */
  get attempt(): number {
    return this.#attempt.number;
  }

  /** Fires when the run is aborted, when the node has no more time, and when nobody wants its result any more. */
  get abortSignal(): AbortSignal {
    return this.#attempt.guard.signal;
  }

  /** The step, from 1. */
  get step(): number {
    return this.#attempt.run.step;
  }

  /** The channels as the step found them. What this node writes does not show in it. */
  get state(): State {
    // The plan's channels say what is in it.
    return this.#attempt.run.state as State;
  }

  /**
   * Artifacts, memory, the session's other state, and actions of the node's event: a hand-over, for one, which ends the graph. The state is
   * as the step found it, with what this attempt changed and what is stored of the nodes that it runs; what an attempt that failed changed is
   * gone. One that is run again in another process sees in it what others of its step stored. State and artifacts of an attempt that
   * is over cannot be written: that is a RunAbortedError.
   */
  get callbackContext(): CallbackContext {
    if (this.#callbackContext) return this.#callbackContext;
    const { context } = this.#attempt;
    return (this.#callbackContext = new AttemptCallbackContext(context, () => this.#attempt.check()));
  }

  /**
   * Writes channels when the node is done, each through its reducer. A channel may be written several times.
   * @throws ConfigurationError for a channel that the node does not say it `writes`
   * @throws InvalidEventError for what is not JSON
   * @throws RunAbortedError when this attempt is over
   */
  update(updates: Updates): void {
    this.#attempt.check();
    for (const [name, value] of Object.entries(updates as Readonly<Record<string, unknown>>)) {
      if (!this.#attempt.run.writes.has(name)) {
        throw new ConfigurationError(
          `node "${this.nodeName}": does not say that it writes "${name}"; add it to the node's \`writes\``,
        );
      }
      this.#attempt.updates.push([name, toJson(`update: ${name}`, value)]);
    }
  }

  /**
   * Tells readers of the run something of the app's own, at once; it is stored nowhere. Resolves to true when it was taken and to
   * false when nobody reads any more or this attempt is over, and never rejects; up to 1,000 may wait.
   * @throws InvalidEventError at the call, for a payload that is not JSON and an empty type
   * @throws ConfigurationError at the call, when too many wait
   */
  emitCustom(type: string, payload?: unknown): Promise<boolean> {
    if (typeof type !== 'string' || type === '')
      throw new InvalidEventError('emitCustom: the type must be a text that is not empty');
    return this.#emit(
      'custom',
      type,
      payload === undefined ? {} : { payload: toJson('emitCustom: the payload', payload) },
    );
  }

  /**
   * Reports the progress of the node, like `emitCustom`.
   * @throws InvalidEventError at the call, if the number is not between 0 and 100 or the message is not a string
   */
  emitProgress(progress: number, message?: string): Promise<boolean> {
    if (typeof progress !== 'number' || !(progress >= 0 && progress <= 100))
      throw new InvalidEventError('emitProgress: progress must be a number from 0 to 100');
    if (message !== undefined && typeof message !== 'string')
      throw new InvalidEventError('emitProgress: the message must be text');
    return this.#emit('progress', 'progress', message === undefined ? { progress } : { progress, message });
  }

  /** Streams a piece of text, like `emitCustom`. @throws InvalidEventError at the call, if it is not a string */
  emitText(text: string): Promise<boolean> {
    if (typeof text !== 'string') throw new InvalidEventError('emitText: must be text');
    return this.#emit('text', 'text', { message: text });
  }

  #emit(category: NodeEvent['category'], eventType: string, said: Partial<NodeEvent>): Promise<boolean> {
    const { isEnded, run } = this.#attempt;
    return isEnded ? Promise.resolve(false) : run.voice.emit({ eventType, category, ...said });
  }

  /**
   * Asks a person: resolves to the answer, to what the schema makes of it, with its defaults. While there is none it rejects, and so
   * the node stops; whatever it does about that, its run waits. When the others of the step are done the run of the graph pauses, and
   * with the answer the node is run again from its beginning. A question is known again by its `key`, by default its number among the
   * node's questions in the order in which they are asked. Several that are asked before the first is awaited are asked at once.
   * @throws ConfigurationError in a run that cannot be resumed, for a key that was given already, for a schema that JSON Schema cannot say, and
   * for what is not JSON
   * @throws RunAbortedError when this attempt is over
   */
  requestInput<const S extends SchemaLike>(
    params: InputRequestParams & { readonly responseSchema: S },
  ): Promise<InferSchema<S>>;
  requestInput(params?: InputRequestParams): Promise<unknown>;
  async requestInput(params: InputRequestParams = {}): Promise<unknown> {
    return this.#answer(await this.#attempt.ask(params), params.responseSchema);
  }

  /** @throws NodeError for an answer that only the schema itself refuses, not its JSON Schema */
  async #answer(given: unknown, schema: object | undefined): Promise<unknown> {
    if (!schema) return given;
    const checked = await new ValueSchema(schema as SchemaLike, `node "${this.nodeName}": requestInput`).check(given);
    if ('value' in checked) return checked.value;
    throw new NodeError(this.nodeName, `the answer does not fit: ${checked.issues.join('; ')}`);
  }

  /**
   * Runs another node, which need not be in the graph, and resolves to its output. The run has an event of its own: when this node is
   * run again, because it failed, asked or was cut off, what is done is not done again. A run is known again by its `key`, by default
   * its number among the runs of nodes of this name in the order of the calls: give keys where that order depends on time. Several can
   * be run at once. They stop when this node has no more time.
   * @throws NodeError when the node failed for good
   * @throws ConfigurationError for what is no node, agent or tool, for a key that was given already, and for a run that is done and was given
   * another input then
   * @throws RunAbortedError when this attempt is over
   */
  runNode<Input, Output>(
    node: GraphNode<Input, Output>,
    input: NoInfer<Input>,
    options?: RunNodeOptions,
  ): Promise<Output>;
  runNode(node: BaseAgent | BaseTool, input: unknown, options?: RunNodeOptions): Promise<unknown>;
  async runNode(
    node: GraphNode | BaseAgent | BaseTool,
    input: unknown,
    options: RunNodeOptions = {},
  ): Promise<unknown> {
    checkRunnable(`node "${this.nodeName}"`, node);
    const given = frozen(toJson(`runNode "${node.name}": the input`, input === undefined ? null : input));
    return this.#attempt.runNode(node, given, options.key);
  }
}

/** A copy that nobody else changes. @throws InvalidEventError */
function toJson(what: string, value: unknown): JsonValue {
  const copied = copyJson(value, { toJson: true });
  if ('value' in copied) return copied.value;
  throw new InvalidEventError(`${what} ${describeFault(copied.fault)}; it must be JSON`, { path: copied.fault.path });
}
