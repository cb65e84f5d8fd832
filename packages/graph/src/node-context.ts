import {
  type BaseAgent,
  type BaseTool,
  CallbackContext,
  ConfigurationError,
  copyJson,
  type InputRequest,
  type InputRequestParams,
  InvalidEventError,
  type JsonValue,
  type NodeEvent,
  toInputRequest,
} from '@eventloom/core';
import { type InferSchema, type SchemaLike, ValueSchema } from '@eventloom/tools';
import { NodeError } from './errors/node-error.ts';
import type { GraphNode } from './graph-node.ts';
import { NodeInterrupt } from './node-interrupt.ts';
import type { NodeRun } from './node-run.ts';

/** Tells two runs of one node by the same node apart. */
export interface RunNodeOptions {
  /** Unique among the runs of nodes of this name. Default: their number, in the order in which they are called. */
  readonly key?: string;
}

/** What the function of a node works with, one for each attempt. */
export class NodeContext<State = Readonly<Record<string, unknown>>, Updates = Readonly<Record<string, never>>> {
  /** The route that is taken from here, where the node's edges are routes. */
  route: string | undefined;
  /** Which attempt this is, from 1. */
  readonly attempt: number;
  /** Fires when the run is aborted, when the node has no more time, and when nobody wants its result any more. */
  readonly abortSignal: AbortSignal;
  readonly #run: NodeRun;
  #callbackContext: CallbackContext | undefined;
  /** What was written, in order. For whoever runs the node. */
  readonly updates: (readonly [string, JsonValue])[] = [];
  /** What is to be asked. For whoever runs the node. */
  readonly asked: InputRequest[] = [];
  /** True when the node cannot go on before somebody answers. */
  isWaiting = false;
  /** Nodes under way that this one runs. */
  readonly inner: Promise<unknown>[] = [];
  readonly #counts = new Map<string, number>();
  readonly #called = new Set<string>();

  constructor(run: NodeRun, attempt: number, abortSignal: AbortSignal) {
    this.#run = run;
    this.attempt = attempt;
    this.abortSignal = abortSignal;
  }

  get nodeName(): string {
    return this.#run.node.name;
  }

  /** The step, from 1. */
  get step(): number {
    return this.#run.step;
  }

  /** The channels as the step found them. What this node writes does not show in it. */
  get state(): State {
    // The plan's channels say what is in it.
    return this.#run.state as State;
  }

  /** Artifacts, memory, the session's other state, and actions of the node's event: a hand-over, for one, which ends the graph. */
  get callbackContext(): CallbackContext {
    return (this.#callbackContext ??= new CallbackContext({ invocationContext: this.#run.context }));
  }

  /**
   * Writes channels when the node is done, each through its reducer. A channel may be written several times.
   * @throws ConfigurationError for a channel that the node does not say it `writes`
   * @throws InvalidEventError for what is not JSON
   */
  update(updates: Updates): void {
    for (const [name, value] of Object.entries(updates as Readonly<Record<string, unknown>>)) {
      if (!this.#run.writes.has(name)) {
        throw new ConfigurationError(
          `node "${this.nodeName}": does not say that it writes "${name}"; add it to the node's \`writes\``,
        );
      }
      this.updates.push([name, toJson(`update: ${name}`, value)]);
    }
  }

  /**
   * Tells readers of the run something of the app's own, at once; it is stored nowhere. Resolves to true when it was taken and to
   * false when nobody reads any more, and never rejects; up to 1,000 may wait.
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

  /** As `emitCustom`, how far the node is. @throws InvalidEventError at the call, for a number that is not from 0 to 100 */
  emitProgress(progress: number, message?: string): Promise<boolean> {
    if (typeof progress !== 'number' || !(progress >= 0 && progress <= 100))
      throw new InvalidEventError('emitProgress: progress must be a number from 0 to 100');
    return this.#emit('progress', 'progress', message === undefined ? { progress } : { progress, message });
  }

  /** As `emitCustom`, text as it comes. @throws InvalidEventError at the call, for what is no text */
  emitText(text: string): Promise<boolean> {
    if (typeof text !== 'string') throw new InvalidEventError('emitText: must be text');
    return this.#emit('text', 'text', { message: text });
  }

  #emit(category: NodeEvent['category'], eventType: string, said: Partial<NodeEvent>): Promise<boolean> {
    return this.#run.emit({ eventType, category, ...said });
  }

  /**
   * Asks a person: resolves to the answer, to what the schema makes of it, with its defaults. While there is none it rejects, and so the node stops; whatever it
   * does about that, its run waits. When the others of the step are done the run of the graph pauses, and with the answer the node is run again from its
   * beginning. So each question of a node needs a `key` of its own; several that are asked before the first is awaited are asked at once.
   * @throws ConfigurationError in a run that cannot be resumed, for a schema that JSON Schema cannot say, and for what is not JSON
   */
  requestInput<const S extends SchemaLike>(
    params: InputRequestParams & { readonly responseSchema: S },
  ): Promise<InferSchema<S>>;
  requestInput(params?: InputRequestParams): Promise<unknown>;
  async requestInput(params: InputRequestParams = {}): Promise<unknown> {
    const request = toInputRequest(`node "${this.nodeName}": requestInput`, params);
    const question = this.#run.questionOf(request.key);
    if (question?.answer !== undefined) return this.#answer(question.answer['result'], params.responseSchema);
    if (!this.#run.context.isResumable) {
      throw new ConfigurationError(
        `node "${this.nodeName}": only a run that can be resumed can ask people; run it with \`resumable: true\``,
      );
    }
    this.isWaiting = true;
    if (!question && !this.asked.some(({ key }) => key === request.key)) this.asked.push(request);
    throw new NodeInterrupt(`node "${this.nodeName}" waits for an answer`);
  }

  /** @throws NodeError for an answer that only the schema itself refuses, not its JSON Schema */
  async #answer(given: unknown, schema: object | undefined): Promise<unknown> {
    if (!schema) return given;
    const checked = await new ValueSchema(schema as SchemaLike, `node "${this.nodeName}": requestInput`).check(given);
    if ('value' in checked) return checked.value;
    throw new NodeError(this.nodeName, `the answer does not fit: ${checked.issues.join('; ')}`);
  }

  /**
   * Runs another node, which need not be in the graph, and resolves to its output. The run has an event of its own: when this node is run
   * again, because it failed, asked or was cut off, what is done is not done again. So it must call the same nodes in the same order each time,
   * or give each a `key`. Several can be run at once.
   * @throws NodeError when the node failed for good, and ConfigurationError for a key that was given already
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
    const count = this.#counts.get(node.name) ?? 0;
    this.#counts.set(node.name, count + 1);
    const given = toJson(`runNode "${node.name}": the input`, input === undefined ? null : input);
    const key = options.key ?? String(count);
    const named = `${node.name}-${key}`;
    if (this.#called.has(named))
      throw new ConfigurationError(`node "${this.nodeName}": runs "${node.name}" twice with the key "${key}"`);
    this.#called.add(named);
    const running = this.#run.runInner(node, given, key);
    this.inner.push(running.catch(() => undefined));
    const outcome = await running;
    if (outcome.isWaiting) {
      this.isWaiting = true;
      throw new NodeInterrupt(`node "${node.name}", which "${this.nodeName}" runs, waits for an answer`);
    }
    return outcome.output;
  }
}

/** A copy that nobody else changes. @throws InvalidEventError */
function toJson(what: string, value: unknown): JsonValue {
  const copied = copyJson(value, { toJson: true });
  if ('value' in copied) return copied.value;
  const { path, reason } = copied.fault;
  throw new InvalidEventError(`${what}${path === '' ? '' : ` at ${path}`} ${reason}; it must be JSON`, { path });
}
