import {
  BaseTool,
  ConfigurationError,
  type FunctionDeclaration,
  InvalidRequestError,
  type ResponseScheduling,
  type RunAsyncToolRequest,
  type ToolContext,
} from '@eventloom/core';
import { checkOptions, isPromiseLike, type OptionRules, TIMEOUT, wrongOption } from '@eventloom/core/internal';
import type { InferSchema, SchemaLike } from './schema/standard-schema.ts';
import { type SchemaCheck, ValueSchema } from './schema/value-schema.ts';
import { type Chunks, streamResult } from './stream-result.ts';

/** Types that a tool's `parameters` accept. */
export type ToolInputParameters = SchemaLike | undefined;

/** The argument of a tool's function: the value that its schema returns, or an empty object without a schema. */
export type ToolExecuteArgument<P extends ToolInputParameters> = P extends SchemaLike
  ? InferSchema<P>
  : Record<string, unknown>;

/**
 * The function of a tool, sync or async. CPU-bound work in it blocks the whole process. A generator function makes a streaming tool: see
 * `ToolOptions.execute`.
 */
export type ToolExecuteFunction<P extends ToolInputParameters> = (
  args: ToolExecuteArgument<P>,
  toolContext: ToolContext,
) => unknown;

/** Returns true if a person has to confirm the call. Called with checked arguments before each run of the tool. */
export type ConfirmationPredicate<P extends ToolInputParameters> = (
  args: ToolExecuteArgument<P>,
  toolContext: ToolContext,
) => boolean | Promise<boolean>;

/** Options of a `FunctionTool`. */
export interface ToolOptions<P extends ToolInputParameters = undefined> {
  /**
   * The name by which the model calls the tool: letters, digits, `_`, `.`, `:` and `-`, at most 128 characters, starting with a letter
   * or `_`. Default: the name of the function given as `execute`.
   */
  readonly name?: string;
  /** Describes to the model what the tool does and when to use it. */
  readonly description: string;
  /**
   * Schema of the arguments, which must describe an object: `z.object({ city: z.string() })` of zod 3 or 4, a schema of another library
   * that can be converted to JSON Schema, a `Schema` of `@google/genai`, or a JSON Schema. The model sees it, and `execute` gets arguments
   * that match it. Default: the tool takes no arguments.
   */
  readonly parameters?: P;
  /**
   * The function itself, sync or async. It gets the checked arguments and a `ToolContext`, and returns the result for
   * the model: what `JSON.stringify` makes of an object, and any other value as `{ result: value }`. If the function
   * throws, the run continues, and the model gets `{ error: message }`; also for a result that would lose its content
   * in JSON, such as a `Response`, an `Error`, a `Map` or NaN.
   *
   * A generator function shows progress: each JSON value that it yields is streamed immediately, in a partial event of the kind
   * `tool.response`. The result for the model is the value that it returns, otherwise a `FinalToolResult` that it yields last, otherwise
   * the joined texts or the list of the yielded values.
   */
  readonly execute: ToolExecuteFunction<P>;
  /**
   * True if the result comes later, in a message of the client. `execute` starts the work and returns a first status, or undefined for
   * none. See `LongRunningFunctionTool`, which sets it. Default false.
   */
  readonly isLongRunning?: boolean;
  /**
   * True if running a call twice has the same effect as running it once, as for a search. If the process ends during a call and the run is
   * resumed, an idempotent tool runs again. For another tool the model gets `{ error: 'interrupted' }`, because the call may or may not
   * have had its effect. Default false.
   */
  readonly idempotent?: boolean;
  /**
   * Maximum time of a call in milliseconds; at most 24 days. Then `toolContext.abortSignal` fires, what the tool
   * returns later is ignored, and the model gets a ToolTimeoutError as `{ error }`, as if the tool had thrown it. The
   * time for which a person is asked does not count. Default: no limit.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * For live runs (voice, video): true gives the tool a copy of the client's input during the call, as `toolContext.inputStream`, for
   * example to watch the camera. The model does not wait for such a call: it gets each chunk that `execute` yields, and finally the result,
   * until the run ends or the model calls `stop_streaming`. Default false. Other runs ignore it.
   */
  readonly inputStream?: boolean;
  /**
   * For live runs (voice): true lets the model continue to speak while the tool runs, if the model supports it (`NON_BLOCKING` in the
   * Gemini API). Default false, or true with `responseScheduling`. Other runs ignore it.
   */
  readonly nonBlocking?: boolean;
  /**
   * For live runs: determines when the model speaks about a response of the tool. A call can override it with
   * `toolContext.responseScheduling`. Default: the model decides.
   */
  readonly responseScheduling?: ResponseScheduling;
  /**
   * True asks a person before each call; a function decides for each call by its arguments. The run ends with a function call named
   * `adk_request_confirmation`. The client answers it in its next message, and then the tool runs. If the person says no, the tool
   * does not run, and the model gets an error. Default false.
   */
  readonly requireConfirmation?: boolean | ConfirmationPredicate<P>;
}

const EXECUTE = { is: 'function', wanted: 'a function of the arguments', write: '({ city }) => ({ … })' } as const;
const OPTIONS: OptionRules<ToolOptions> = {
  name: { is: 'text', write: "'get_weather'" },
  description: { is: 'text', write: "'Returns the weather of a city.'" },
  // The type of the schema depends on its library; `ValueSchema` refuses other values.
  parameters: 'any',
  execute: EXECUTE,
  isLongRunning: 'flag',
  idempotent: 'flag',
  timeoutMs: TIMEOUT,
  inputStream: 'flag',
  nonBlocking: 'flag',
  responseScheduling: { is: 'text', oneOf: ['SILENT', 'WHEN_IDLE', 'INTERRUPT'] },
  requireConfirmation: { is: 'flag or function', wanted: 'true, false or a function', write: 'true' },
};
const WRITE_PARAMETERS = 'write parameters: z.object({ … }), or a JSON Schema';
const HINTS = {
  func: 'did you mean "execute"?',
  fn: 'did you mean "execute"?',
  function: 'did you mean "execute"?',
  handler: 'did you mean "execute"?',
  callback: 'did you mean "execute"?',
  run: 'did you mean "execute"?',
  params: WRITE_PARAMETERS,
  inputSchema: WRITE_PARAMETERS,
  timeout: 'did you mean "timeoutMs"?',
  schema: WRITE_PARAMETERS,
  args: WRITE_PARAMETERS,
  outputSchema: 'leave it out: a result may be any JSON value',
  needsApproval: 'did you mean "requireConfirmation"?',
};

/**
 * A tool made from a function. The model decides when to call it, and gets the function's result. The arguments are checked against
 * `parameters` before the function runs. If they do not match, the function does not run, and the model gets the problems as `{ error }`
 * and can call again.
 *
 * @example
 * const getWeather = new FunctionTool({
 *   name: 'get_weather',
 *   description: 'Returns the weather of a city.',
 *   parameters: z.object({ city: z.string() }),
 *   execute: async ({ city }, toolContext) => {
 *     toolContext.state.set('lastCity', city);
 *     return { city, temperature: 21 };
 *   },
 * });
 */
export class FunctionTool<P extends ToolInputParameters = undefined> extends BaseTool {
  readonly #execute: ToolExecuteFunction<P>;
  readonly #parameters: ValueSchema | undefined;
  readonly #requireConfirmation: boolean | ConfirmationPredicate<P>;
  #declaration: FunctionDeclaration | undefined;

  /** @throws ConfigurationError for a missing name, description or function, an unsupported schema, and an unknown option */
  constructor(options: ToolOptions<P>) {
    const name = options?.name ?? options?.execute?.name;
    const owner = name && typeof options === 'object' ? `tool "${name}"` : new.target.name;
    checkOptions(owner, OPTIONS, options, HINTS, `new ${new.target.name}({ name, description, execute })`);
    // A function without its own name is called `execute`, after the option.
    if (options.name === undefined && (!name || name === 'execute'))
      throw new ConfigurationError(
        `${new.target.name}: name is missing; write name: 'get_weather' (the model calls the tool by this name), or pass a named function as execute`,
      );
    const { parameters, execute, requireConfirmation: _, ...base } = options;
    super({ ...base, name });
    if (execute === undefined) throw wrongOption(owner, 'execute', EXECUTE.wanted, execute, EXECUTE.write);
    const { requireConfirmation = false } = options;
    this.#execute = execute;
    this.#requireConfirmation = requireConfirmation;
    this.#parameters = parameters === undefined ? undefined : new ValueSchema(parameters, `${owner}: parameters`);
    this.#parameters?.requireObject();
    this.#parameters?.requireKnownTypes();
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
      const reason = `the arguments of ${this.name} are not valid: ${checked.issues.join('; ')}`;
      return Promise.reject(new InvalidRequestError(reason));
    }
    const args = checked.value as ToolExecuteArgument<P>;
    return this.#requireConfirmation === false && !this.hasInputStream
      ? this.#call(args, toolContext)
      : this.#callOnceAllowed(args, toolContext);
  }

  async #callOnceAllowed(args: ToolExecuteArgument<P>, toolContext: ToolContext): Promise<unknown> {
    const rule = this.#requireConfirmation;
    const refusal = rule === false ? undefined : await refuseUnlessConfirmed(rule, args, toolContext, this.name);
    if (refusal) return refusal;
    // The context of a callback, which a program of `@eventloom/adk` may give, has no input.
    if (this.hasInputStream) await toolContext.began?.();
    return this.#call(args, toolContext);
  }

  #call(args: ToolExecuteArgument<P>, toolContext: ToolContext): unknown {
    try {
      const result = this.#execute(args, toolContext);
      if (isPromiseLike(result)) return readLater(result, toolContext);
      return isGenerator(result) ? streamResult(result, toolContext) : result;
    } catch (error) {
      // An error of a synchronous function rejects as well, like that of an asynchronous one.
      return Promise.reject(error);
    }
  }
}

async function readLater(pending: PromiseLike<unknown>, toolContext: ToolContext): Promise<unknown> {
  const result = await pending;
  return isGenerator(result) ? streamResult(result, toolContext) : result;
}

/** True for the generator object that a generator function returns, sync or async. */
function isGenerator(value: unknown): value is Chunks {
  if (typeof value !== 'object' || value === null || !('next' in value) || typeof value.next !== 'function')
    return false;
  return Symbol.asyncIterator in value || Symbol.iterator in value;
}

/** True for function tools, including those of another loaded copy of this package, for which `instanceof` is false. */
export function isFunctionTool(value: unknown): value is FunctionTool<ToolInputParameters> {
  return typeof value === 'object' && value !== null && '~eventloom.function-tool' in value;
}

/** Type of a tool's `requireConfirmation`. A function is called with checked arguments before each run of the tool. */
export type ConfirmationRule<A> = boolean | ((args: A, toolContext: ToolContext) => boolean | Promise<boolean>);

/**
 * Resolves to undefined if a call may run, because it needs no confirmation or is confirmed. Otherwise resolves to the response that the
 * tool returns without running, because a confirmation was requested now or the person rejected the call. After a request the model is not
 * called.
 */
export async function refuseUnlessConfirmed<A>(
  rule: ConfirmationRule<A>,
  args: A,
  toolContext: ToolContext,
  toolName: string,
): Promise<{ readonly error: string } | undefined> {
  const { toolConfirmation: given, requests } = toolContext;
  if (rule === false || given?.confirmed === true) return undefined;
  const hint = `Please approve or reject the call of ${toolName}.`;
  // The person's answer counts, even if the rule would now decide differently.
  // The context of a program's own test may have no requests.
  const isAsked = requests?.some((request) => request.kind === 'confirmation' && request.hint === hint);
  if (given && isAsked) return REJECTED;
  if (typeof rule === 'function' && !(await rule(args, toolContext))) return undefined;
  if (given) return REJECTED;
  toolContext.requestConfirmation({ hint, endsTurn: true });
  return { error: 'This tool call requires confirmation, please approve or reject.' };
}

const REJECTED = { error: 'This tool call is rejected.' };

const NOTE =
  'The result comes later. After one call, even if it returns a pending status, do not call this tool again for the same request.';

/**
 * A tool whose result comes after the run, for example when a person decides or another system works for hours. The
 * function starts the work and may return a first status for the model, or nothing (null or undefined). The event of
 * the call lists its id in `longRunningToolIds`. The client later sends the result in a message, as a
 * `functionResponse` with that id and name, and the agent continues.
 *
 * @example
 * const requestRefund = new LongRunningFunctionTool({
 *   name: 'request_refund',
 *   description: 'Requests a refund, which a person decides on.',
 *   execute: (_args, { functionCallId }) => ({ status: 'pending', ticket: functionCallId }),
 * });
 */
export class LongRunningFunctionTool<P extends ToolInputParameters = undefined> extends FunctionTool<P> {
  #declaration: FunctionDeclaration | undefined;

  constructor(options: Omit<ToolOptions<P>, 'isLongRunning'>) {
    super({ ...options, isLongRunning: true });
  }

  override async runAsync(request: RunAsyncToolRequest): Promise<unknown> {
    return (await super.runAsync(request)) ?? undefined;
  }

  override _getDeclaration(): FunctionDeclaration {
    return (this.#declaration ??= { ...super._getDeclaration(), description: `${this.description}\n\n${NOTE}`.trim() });
  }
}
