import {
  BaseTool,
  ConfigurationError,
  type FunctionDeclaration,
  type ResponseScheduling,
  type RunAsyncToolRequest,
  type ToolContext,
} from '@eventloom/core';
import { checkKnown, isPromiseLike, type OptionNames, describeKind } from '@eventloom/core/internal';
import type { InferSchema, SchemaLike } from './schema/standard-schema.ts';
import { type SchemaCheck, ValueSchema } from './schema/value-schema.ts';
import { isGenerator, streamResult } from './stream-result.ts';

/** Types that a tool's `parameters` accept. */
export type ToolInputParameters = SchemaLike | undefined;

/** The argument of a tool's function: the value that its schema returns, or an empty object without a schema. */
export type ToolExecuteArgument<P extends ToolInputParameters> = P extends SchemaLike
  ? InferSchema<P>
  : Record<string, unknown>;

/**
 * The function behind a tool. Sync or async; work that keeps the processor busy blocks everything else meanwhile. A generator
 * function, async or not, is a streaming tool: see `ToolOptions.execute`.
 */
export type ToolExecuteFunction<P extends ToolInputParameters> = (
  args: ToolExecuteArgument<P>,
  toolContext: ToolContext,
) => unknown;

/** Says whether a person has to confirm a call. Asked with arguments that the schema let through, before each run of the tool. */
export type ConfirmationPredicate<P extends ToolInputParameters> = (
  args: ToolExecuteArgument<P>,
  toolContext: ToolContext,
) => boolean | Promise<boolean>;

/** Options of a function tool. */
export interface ToolOptions<P extends ToolInputParameters = undefined> {
  /** Default: the function's own name. */
  readonly name?: string;
  /** Tells the model what the tool does and when to use it. */
  readonly description: string;
  /** The arguments, an object: zod 4, any Standard Schema with a JSON schema, or JSON Schema. */
  readonly parameters?: P;
  /**
   * Each chunk that a generator yields, JSON, is streamed as it comes in a partial `tool.response` event, and the generator goes on
   * when it was taken. The result is what the generator returns; else a `FinalToolResult` that it yielded last; else all texts
   * joined, or the list of chunks when not all are texts. What it throws is told to the model with what came before as `output`.
   */
  readonly execute: ToolExecuteFunction<P>;
  readonly isLongRunning?: boolean;
  /**
   * To run a call twice does no more than to run it once. In a run that is resumed, a call that was cut off is run again; one of a
   * tool that is not idempotent is answered with `{error: 'interrupted'}`. Default false.
   */
  readonly idempotent?: boolean;
  /**
   * The tool listens to the client of a live run by `toolContext.inputStream`. Its model does not wait: it is told that the call is under
   * way, each chunk as it is yielded, and at last what the tool failed with, or what it returned beside its chunks; nothing more when the
   * run ends or the model calls `stop_streaming`. Default false.
   */
  readonly inputStream?: boolean;
  /**
   * In a live run the model goes on with the conversation while the call runs (`Behavior.NON_BLOCKING`), and hears each chunk that a
   * generator yields as it comes. For models that know such calls. Default false, or true with `responseScheduling`.
   */
  readonly nonBlocking?: boolean;
  /**
   * Tells the model of a live run how to take the responses. A single call can differ:
   * `toolContext.responseScheduling`.
   */
  readonly responseScheduling?: ResponseScheduling;
  /**
   * True, or a function that says so: the call waits until a person has confirmed it, and is answered as rejected when they do
   * not. Default false. What the tool does is done once for each confirmed call.
   */
  readonly requireConfirmation?: boolean | ConfirmationPredicate<P>;
}

const OPTIONS: OptionNames<ToolOptions> = {
  name: true,
  description: true,
  parameters: true,
  execute: true,
  isLongRunning: true,
  idempotent: true,
  inputStream: true,
  nonBlocking: true,
  responseScheduling: true,
  requireConfirmation: true,
};
const WRITE_PARAMETERS = 'write parameters: z.object({ … }), or a JSON Schema';
const HINTS = {
  func: 'did you mean "execute"?',
  fn: 'did you mean "execute"?',
  function: 'did you mean "execute"?',
  handler: 'did you mean "execute"?',
  callback: 'did you mean "execute"?',
  run: 'did you mean "execute"?',
  inputSchema: WRITE_PARAMETERS,
  schema: WRITE_PARAMETERS,
  args: WRITE_PARAMETERS,
  outputSchema: 'leave it out: a result may be any JSON value',
  needsApproval: 'did you mean "requireConfirmation"?',
};

/**
 * A function that a model can call. Arguments are checked against the schema before the function runs; what is wrong with them is
 * told to the model, which can then call again.
 */
export class FunctionTool<P extends ToolInputParameters = undefined> extends BaseTool {
  readonly #execute: ToolExecuteFunction<P>;
  readonly #parameters: ValueSchema | undefined;
  readonly #requireConfirmation: boolean | ConfirmationPredicate<P>;
  #declaration: FunctionDeclaration | undefined;

  /** @throws ConfigurationError for a missing name or function, a schema of no known kind, or an option this version does not have */
  constructor(options: ToolOptions<P>) {
    const name = options?.name ?? options?.execute?.name;
    const owner = name ? `tool "${name}"` : new.target.name;
    checkKnown(owner, OPTIONS, options, HINTS);
    // The name that a function gets from its option.
    if (options.name === undefined && (!name || name === 'execute'))
      throw new ConfigurationError(
        `${new.target.name}: name is missing; write name: 'get_weather', by which the model calls the tool, or give execute a named function`,
      );
    const { parameters, execute, requireConfirmation: _, ...base } = options;
    super({ ...base, name });
    if (typeof execute !== 'function')
      throw new ConfigurationError(
        `${owner}: execute must be a function of the arguments, as in execute: ({ city }) => …, is ${describeKind(execute)}`,
      );
    const { requireConfirmation = false } = options;
    if (typeof requireConfirmation !== 'boolean' && typeof requireConfirmation !== 'function')
      throw new ConfigurationError(`${owner}: requireConfirmation must be true, false or a function`);
    this.#execute = execute;
    this.#requireConfirmation = requireConfirmation;
    this.#parameters = parameters === undefined ? undefined : new ValueSchema(parameters, owner);
  }

  get '~eventloom.function-tool'(): true {
    return true;
  }

  override _getDeclaration(): FunctionDeclaration {
    return (this.#declaration ??= {
      name: this.name,
      description: this.description,
      ...(this.#parameters ? { parametersJsonSchema: this.#parameters.json } : {}),
    });
  }

  override runAsync({ args, toolContext }: RunAsyncToolRequest): unknown {
    const checked = this.#parameters ? this.#parameters.check(args) : { value: args };
    return checked instanceof Promise
      ? checked.then((settled) => this.#run(settled, toolContext))
      : this.#run(checked, toolContext);
  }

  #run(checked: SchemaCheck, toolContext: ToolContext): unknown {
    if ('issues' in checked) {
      return { error: `the arguments of ${this.name} are not valid: ${checked.issues.join('; ')}` };
    }
    const args = checked.value as ToolExecuteArgument<P>;
    return this.#requireConfirmation === false && !this.hasInputStream
      ? this.#call(args, toolContext)
      : this.#callOnceAllowed(args, toolContext);
  }

  async #callOnceAllowed(args: ToolExecuteArgument<P>, toolContext: ToolContext): Promise<unknown> {
    const rule = this.#requireConfirmation;
    if (rule !== false && !(await isConfirmed(rule, args, toolContext, this.name))) return undefined;
    if (this.hasInputStream) await toolContext.began();
    return this.#call(args, toolContext);
  }

  #call(args: ToolExecuteArgument<P>, toolContext: ToolContext): unknown {
    try {
      const result = this.#execute(args, toolContext);
      if (isPromiseLike(result)) return readLater(result, toolContext);
      return isGenerator(result) ? streamResult(result, toolContext) : result;
    } catch (error) {
      // A failure rejects, whether the function is asynchronous or not.
      return Promise.reject(error);
    }
  }
}

async function readLater(pending: PromiseLike<unknown>, toolContext: ToolContext): Promise<unknown> {
  const result = await pending;
  return isGenerator(result) ? streamResult(result, toolContext) : result;
}

/** True for function tools, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isFunctionTool(value: unknown): value is FunctionTool<ToolInputParameters> {
  return typeof value === 'object' && value !== null && '~eventloom.function-tool' in value;
}

/** Types of a tool's `requireConfirmation`. A function is called with checked arguments before each run of the tool. */
export type ConfirmationRule<A> = boolean | ((args: A, toolContext: ToolContext) => boolean | Promise<boolean>);

/** True when a call may run now: nobody has to confirm it, or somebody did. Otherwise a person is asked, and the call waits. */
export async function isConfirmed<A>(
  rule: ConfirmationRule<A>,
  args: A,
  toolContext: ToolContext,
  toolName: string,
): Promise<boolean> {
  if (rule === false || toolContext.toolConfirmation?.confirmed === true) return true;
  if (typeof rule === 'function' && !(await rule(args, toolContext))) return true;
  toolContext.requestConfirmation({ hint: `Please approve or reject the call of ${toolName}.` });
  return false;
}

const NOTE =
  'The result comes later. After one call, also when its answer is a pending status, do not call this tool again for the same thing.';

/**
 * A tool whose result comes later. Its function starts the work and may return a first status, or undefined for none yet; the
 * result is sent to the agent as a function response, with the call's id, in a later message. Until then the agent waits.
 */
export class LongRunningFunctionTool<P extends ToolInputParameters = undefined> extends FunctionTool<P> {
  #declaration: FunctionDeclaration | undefined;

  constructor(options: Omit<ToolOptions<P>, 'isLongRunning'>) {
    super({ ...options, isLongRunning: true });
  }

  override _getDeclaration(): FunctionDeclaration {
    return (this.#declaration ??= { ...super._getDeclaration(), description: `${this.description}\n\n${NOTE}`.trim() });
  }
}
