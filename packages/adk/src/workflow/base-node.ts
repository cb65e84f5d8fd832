import {
  BaseAgent,
  ConfigurationError,
  type Content,
  createEvent,
  type Event,
  type InvocationContext,
  type JsonValue,
  type Part,
  toError,
} from '@eventloom/core';
import { describeKind, isRecord, type OptionRules, SCHEMA_RULE, sealJson, wrongOption } from '@eventloom/core/internal';
import { type SchemaLike, ValueSchema } from '@eventloom/tools';
import { describeOwnOrAdk, refuseUncalled } from '../class-checks.ts';
import { NodeSchemaValidationError } from '../errors.ts';
import { type AdkNodeContext, asTaskResult } from './node-context.ts';
import { isRequestInput, requestInputEvent } from './request-input.ts';
import { type PreparedRetryConfig, prepareRetryConfig, type AdkRetryConfig } from './retry.ts';

/** Options of every node of a workflow. */
export interface BaseNodeConfig {
  /** Unique among the nodes of a workflow: letters, digits, `_`, `$` and `-`. */
  name: string;
  /** Shown to models when the node is a tool. Default: empty. */
  description?: string | undefined;
  /**
   * True runs a node that asked a person again when the answer came; false makes the answer its output. A node whose
   * `context.runNode` asked runs again in both cases, and gets the answer from there. Default false.
   */
  rerunOnResume?: boolean | undefined;
  /** True lets nodes after this one run only if it has an output or a route. Default false. */
  waitForOutput?: boolean | undefined;
  /** Default: a failed node fails the workflow. */
  retryConfig?: AdkRetryConfig | undefined;
  /** Time limit of one attempt, in seconds. Default: none. */
  timeout?: number | undefined;
  inputSchema?: SchemaLike | undefined;
  outputSchema?: SchemaLike | undefined;
  /**
   * Schema of an object whose properties are the keys that `context.state` may write. Keys with a prefix are not
   * checked. Default: that of the outer node.
   */
  stateSchema?: SchemaLike | undefined;
  /**
   * Agents in the node see only events with the same scope and events without one. `true` makes a scope for each run.
   * Default: that of the outer node.
   */
  isolationScope?: string | true | undefined;
}

export const NODE_OPTIONS: OptionRules<BaseNodeConfig> = {
  name: { is: 'text', write: "'join'" },
  description: 'text',
  rerunOnResume: 'flag',
  waitForOutput: 'flag',
  retryConfig: 'object',
  timeout: { is: 'number', wanted: 'a number of seconds above 0', write: '30' },
  inputSchema: SCHEMA_RULE,
  outputSchema: SCHEMA_RULE,
  stateSchema: SCHEMA_RULE,
  isolationScope: { is: 'text or flag', wanted: 'a string or true', write: 'true' },
};

/** The event of a value that a node yielded, or nothing. */
export type NodeEventResult = Event | null | undefined | Promise<Event | null | undefined>;

/** Methods that the ADK calls, and what a class of the program writes in place of each. */
const UNCALLED = {
  validateInput: 'inputSchema in the options of the node',
  validateOutput: 'outputSchema in the options of the node',
};

/**
 * Base of the nodes of a workflow. A subclass implements `runImpl`, which yields events, values (the last one is the output), a
 * `RequestInput`, or nothing.
 *
 * @example
 * class Shout extends BaseNode<string, string> {
 *   protected override async *runImpl(_context: NodeContext, input: string): AsyncGenerator<string, void, void> {
 *     yield input.toUpperCase();
 *   }
 * }
 */
export abstract class BaseNode<TInput = unknown, _TOutput = unknown> extends BaseAgent {
  readonly rerunOnResume: boolean;
  readonly waitForOutput: boolean;
  readonly retryConfig: AdkRetryConfig | undefined;
  readonly preparedRetryConfig: PreparedRetryConfig | undefined;
  readonly timeout: number | undefined;
  readonly outputSchema: SchemaLike | undefined;
  readonly stateSchema: SchemaLike | undefined;
  readonly isolationScope: string | true | undefined;
  readonly #inputSchema: SchemaLike | undefined;
  readonly #input: ValueSchema | undefined;
  readonly #output: ValueSchema | undefined;

  /** @throws ConfigurationError for an invalid name, schema or time limit */
  constructor(config: BaseNodeConfig) {
    if (!isRecord(config))
      throw new ConfigurationError(
        `${new.target.name}: expected an object of options, got ${describeKind(config)}; write new ${new.target.name}({ name: 'join' })`,
      );
    super({ name: config.name, description: config.description ?? '' });
    const { timeout, retryConfig, inputSchema, outputSchema } = config;
    const owner = `node "${this.name}"`;
    refuseUncalled(owner, this, UNCALLED);
    checkTimeout(owner, timeout);
    this.rerunOnResume = config.rerunOnResume ?? false;
    this.waitForOutput = config.waitForOutput ?? false;
    this.retryConfig = retryConfig;
    this.preparedRetryConfig = retryConfig && prepareRetryConfig(retryConfig);
    this.timeout = timeout;
    this.#inputSchema = inputSchema;
    this.outputSchema = outputSchema;
    this.stateSchema = config.stateSchema;
    this.isolationScope = config.isolationScope;
    this.#input = inputSchema && new ValueSchema(inputSchema, `${owner}: inputSchema`);
    this.#output = outputSchema && new ValueSchema(outputSchema, `${owner}: outputSchema`);
  }

  get '~eventloom.adk-node'(): true {
    return true;
  }

  override get inputSchema(): SchemaLike | undefined {
    return this.#inputSchema;
  }

  /** True for a node that runs once all nodes with an edge to it are done. */
  get requiresAllPredecessors(): boolean {
    return false;
  }

  /** True for a node that is done once an event of it has an output or a route; false for one that may go on. @internal */
  get endsWithOutput(): boolean {
    return true;
  }

  /** True for a node that continues its calls when it runs again, and waits again for those that are open. @internal */
  get continuesCalls(): boolean {
    return false;
  }

  /** Does the work of the node. */
  protected abstract runImpl(context: AdkNodeContext, input: TInput): AsyncGenerator<unknown, void, void>;

  /** Runs the node and yields its events. Values are checked against the schemas. @throws NodeSchemaValidationError */
  async *run(context: AdkNodeContext, input: TInput): AsyncGenerator<Event, void, void> {
    // The schema of the node guarantees the type of its input.
    const checked = (await this.#check('input', this.#input, input)) as TInput;
    for await (const item of this.runImpl(context, checked)) {
      const event = isRequestInput(item) ? requestInputEvent(item) : await this.toEvent(context, item);
      if (event) yield event;
    }
  }

  /** Makes the event of a value that the node yielded: of an event, the event itself; of nothing, none. */
  protected toEvent(context: AdkNodeContext, item: unknown): NodeEventResult {
    return this.#toEvent(context, item);
  }

  async #toEvent(context: AdkNodeContext, item: unknown): Promise<Event | undefined> {
    if (item === null || item === undefined) return undefined;
    if (!isEvent(item)) {
      const output = await this.checkOutput(item);
      return createEvent({ author: this.name, content: this.#contentOf(output), output: this.#seal(output) });
    }
    if (item.output === undefined) return item;
    if (isAnswerOfAgent(item)) return withoutOutput(item, context);
    const checked: Event = { ...item, output: this.#seal(await this.checkOutput(item.output)) };
    const { progress } = context.invocationContext;
    if (progress.isCommitted(item)) progress.noteCommitted(checked);
    return checked;
  }

  /** Returns an output as the event stores it. @throws ConfigurationError for a value in it that JSON would lose */
  #seal(output: unknown): JsonValue | undefined {
    if (output === undefined) return undefined;
    const sealed = sealJson(output);
    if ('value' in sealed) return sealed.value;
    const { path, reason } = sealed.fault;
    throw new ConfigurationError(
      `node "${this.name}": output${path && `.${path}`} ${reason}; return plain objects, lists, texts and numbers`,
    );
  }

  /** Returns an output as a content. @throws ConfigurationError for an output that has no JSON, such as a circular object */
  #contentOf(output: unknown): Content {
    try {
      return contentOf(output);
    } catch (cause) {
      const [reason = ''] = toError(cause).message.split('\n');
      throw new ConfigurationError(
        `node "${this.name}": returned an output that has no JSON (${reason}); return plain objects, lists, texts and numbers`,
        { cause },
      );
    }
  }

  /** Returns the output as its schema parses it. @throws NodeSchemaValidationError, and ConfigurationError for a context */
  protected async checkOutput(output: unknown): Promise<unknown> {
    if (typeof output === 'object' && output !== null && 'runNode' in output && 'invocationContext' in output)
      throw new ConfigurationError(`node "${this.name}" returned a context; return (await context.runNode(…)).output`);
    return this.#check('output', this.#output, output);
  }

  async #check(direction: 'input' | 'output', schema: ValueSchema | undefined, value: unknown): Promise<unknown> {
    if (!schema || isContent(value)) return value;
    const checked = await schema.check(value);
    if ('value' in checked) return checked.value;
    throw new NodeSchemaValidationError({
      nodeName: this.name,
      direction,
      cause: new Error(checked.issues.join('; ')),
    });
  }

  /** @throws ConfigurationError: only a workflow runs by itself */
  protected override runAsyncImpl(_context: InvocationContext): AsyncGenerator<Event, void, void> {
    throw new ConfigurationError(
      `node "${this.name}": cannot run by itself; write new Workflow({ name, edges: [['START', ${this.name}]] })`,
    );
  }
}

/** Checks the time limit of a node. @throws ConfigurationError for a number that is not one of seconds, or too high for a timer */
export function checkTimeout(owner: string, timeout: number | undefined): void {
  if (timeout !== undefined && !(timeout > 0 && timeout * 1000 < 2 ** 31))
    throw wrongOption(owner, 'timeout', 'a number of seconds above 0, at most 24 days', timeout, '30');
}

/** Returns true for a node of a workflow, including one of another loaded copy of this package. */
export function isBaseNode(value: unknown): value is BaseNode {
  return typeof value === 'object' && value !== null && '~eventloom.adk-node' in value;
}

/** Returns true for a value with the shape of a `Content`. */
export function isContent(value: unknown): value is Content {
  return isRecord(value) && Array.isArray(value['parts']);
}

/** Returns true for an event, such as `createEvent` makes. */
function isEvent(value: unknown): value is Event {
  return (
    isRecord(value) && typeof value['invocationId'] === 'string' && 'author' in value && isRecord(value['actions'])
  );
}

/** Returns true for an event whose output an agent gave with its answer because of its `mode`, and no node of the agent yielded. */
function isAnswerOfAgent({ executionId, nodeInfo }: Event): boolean {
  return executionId !== undefined && nodeInfo?.messageAsOutput === true && nodeInfo.path === undefined;
}

/**
 * Returns the event of an agent that is not the node's own. The result of a task keeps its output, which the agent that
 * handed over the task reads.
 */
function withoutOutput(event: Event, { isolationScope }: AdkNodeContext): Event {
  if (event.isolationScope !== isolationScope) return asTaskResult(event);
  const { output: _, nodeInfo: { messageAsOutput: __, ...nodeInfo } = {}, ...said } = event;
  return { ...said, nodeInfo };
}

/** Makes the content that shows a value to people: a text or its JSON. */
export function contentOf(value: unknown): Content {
  if (isContent(value)) return value;
  const items = Array.isArray(value) && value.length > 0 ? value : [value];
  const parts = items.map(toPart);
  return parts.every((part) => part !== undefined)
    ? { role: 'model', parts }
    : { role: 'model', parts: [textPart(value)] };
}

/** The names of the fields that make an object a `Part`. */
const PAYLOADS = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
];

function toPart(value: unknown): Part | undefined {
  if (typeof value === 'string') return { text: value };
  // An object with a payload is a part; the commit of the event checks the rest.
  return isRecord(value) && PAYLOADS.some((payload) => payload in value) ? (value as Part) : undefined;
}

function textPart(value: unknown): Part {
  return { text: typeof value === 'object' ? JSON.stringify(value) : String(value as string | number | boolean) };
}

class StartNode extends BaseNode {
  // eslint-disable-next-line require-yield
  protected override async *runImpl(): AsyncGenerator<never, void, void> {
    throw new ConfigurationError('START: only marks where a workflow begins; it cannot run');
  }
}

/** The beginning of every `Workflow`, for programs that were written for `@google/adk`; `'START'` in an edge is the same. */
export const START: BaseNode = /* @__PURE__ */ new StartNode({ name: '__START__' });

/** Describes a value in an error message: a node by its name, another value by its kind. */
export function describeNodeOrKind(value: unknown): string {
  return isBaseNode(value) ? `the node "${value.name}"` : describeOwnOrAdk(value);
}
