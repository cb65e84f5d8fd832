import type { BaseAgent } from '../agent/base-agent.ts';
import { toValidName } from '../agent/nearest-names.ts';
import { checkOptions, integer, type OptionRules } from '../agent/options.ts';
import type { CallbackContext } from '../context/callback-context.ts';
import type { ToolContext } from '../context/tool-context.ts';
import { ConfigurationError } from '../errors.ts';
import { appendTools, type LlmRequest } from '../model/llm-request.ts';
import { isToolName } from './reserved-calls.ts';
import type { FunctionDeclaration } from '../content/content.ts';

/** The parameter of `BaseTool.runAsync`: one call of the tool by a model. */
export interface RunAsyncToolRequest {
  /** The arguments by name, as the model wrote them: not checked against a schema. A `FunctionTool` checks them itself. */
  readonly args: Record<string, unknown>;
  /** State, artifacts and memory of the session, and ways to ask people. */
  readonly toolContext: ToolContext;
}

/**
 * The parameter of `BaseTool.processLlmRequest`, which is called before each model request of an agent that has the tool. The default adds
 * the tool's declaration to the request. A tool of your own may override it, for example to add text to the instruction.
 */
export interface ToolProcessLlmRequest {
  /** State, artifacts and memory of the session. */
  readonly toolContext: ToolContext;
  /** The request that is about to be sent. Change it in place. */
  readonly llmRequest: LlmRequest;
}

/** Options of every tool. */
export interface BaseToolParams {
  /**
   * The name that the model calls: letters, digits, `_`, `.`, `:` and `-`, at most 128 characters, starting with a
   * letter or `_`.
   */
  readonly name: string;
  /** Tells the model what the tool does and when to call it. */
  readonly description: string;
  /**
   * True if the result comes later, as a function response in a message of the client. `runAsync` starts the work and returns a first
   * status, or undefined for none. See `LongRunningFunctionTool`. Default false.
   */
  readonly isLongRunning?: boolean;
  /**
   * True declares that running a call twice has the same effect as running it once, as for a search. It matters when the process ends
   * during a call and the run is resumed: an idempotent tool is run again; for another tool the model gets `{ error: 'interrupted' }`,
   * because the call may have taken effect or not. Default false.
   */
  readonly idempotent?: boolean;
  /**
   * Maximum time of a call in milliseconds; at most 24 days. Then `toolContext.abortSignal` fires, what the tool
   * returns later is ignored, and the model gets a ToolTimeoutError as `{ error }`, as if the tool had thrown it. The
   * time for which a person is asked does not count. Default: no limit.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * For live runs (voice, video): true gives the tool a copy of what the client sends during the call, as `toolContext.inputStream`, for
   * example to watch the camera. The model does not wait for such a call: it gets each chunk that the tool yields, and finally the
   * result. Default false. Other runs ignore it.
   */
  readonly inputStream?: boolean;
  /**
   * For live runs (voice): true lets the model continue to speak while the tool runs, if the model can do that (`NON_BLOCKING` in the
   * Gemini API). Default false, or true with `responseScheduling`. Other runs ignore it.
   */
  readonly nonBlocking?: boolean;
  /**
   * For live runs: when the model speaks about a response of the tool. A single call can override it with `toolContext.responseScheduling`.
   * Default: the model decides.
   */
  readonly responseScheduling?: ResponseScheduling | undefined;
}

/** A rule for `timeoutMs` of tools: a timer with a longer delay would end at once. */
export const TIMEOUT = { ...integer(1, 2 ** 31 - 1), write: '30_000' } as const;

const OPTIONS: OptionRules<BaseToolParams> = {
  name: { is: 'text', write: "'get_weather'" },
  description: { is: 'text', write: "'Returns the weather of a city.'" },
  isLongRunning: 'flag',
  idempotent: 'flag',
  timeoutMs: TIMEOUT,
  inputStream: 'flag',
  nonBlocking: 'flag',
  responseScheduling: { is: 'text', oneOf: ['SILENT', 'WHEN_IDLE', 'INTERRUPT'] },
};

/**
 * Tells the model of a live run how to treat the response of a non-blocking call: add it to the context without speaking
 * (`SILENT`), speak about it after the current sentence (`WHEN_IDLE`, the models' own default), or at once (`INTERRUPT`).
 */
export type ResponseScheduling = 'SILENT' | 'WHEN_IDLE' | 'INTERRUPT';

/**
 * Base class of tools: functions that a model can call. Most tools are a `FunctionTool`. Extend this class if the declaration is not
 * known before the run, or if the tool changes the model request.
 *
 * Several calls of a tool may run at the same time, so keep what belongs to a call out of the tool object.
 *
 * @example
 * class ClockTool extends BaseTool {
 *   constructor() {
 *     super({ name: 'get_time', description: 'Returns the current time in UTC.' });
 *   }
 *
 *   override _getDeclaration(): FunctionDeclaration {
 *     return { name: this.name, description: this.description };
 *   }
 *
 *   override runAsync(): unknown {
 *     return { time: new Date().toISOString() };
 *   }
 * }
 */
export abstract class BaseTool {
  /** The name that the model calls. */
  readonly name: string;
  /** Tells the model what the tool does and when to call it. */
  readonly description: string;
  /** True if the result comes later, in a message of the client. */
  readonly isLongRunning: boolean;
  /** True if running a call twice does no more than running it once. */
  readonly isIdempotent: boolean;
  /** Maximum time of a call in milliseconds; undefined for no limit. */
  readonly timeoutMs: number | undefined;
  /** True for a tool that reads the client's input in a live run. */
  readonly hasInputStream: boolean;
  /** True for a tool during whose calls the model of a live run may continue to speak. */
  readonly isNonBlocking: boolean;
  /** For live runs: the moment at which the model speaks about a response. Undefined: the model decides. */
  readonly responseScheduling: ResponseScheduling | undefined;

  /** @throws ConfigurationError for a name that models do not accept, a missing description, and an unknown option */
  constructor(params: BaseToolParams) {
    checkOptions(new.target.name, OPTIONS, params);
    if (!isToolName(params.name)) {
      throw new ConfigurationError(
        `tool name: expected 1 to 128 letters, digits, _ . : and -, beginning with a letter or _, got ${JSON.stringify(params.name)}; write name: '${toValidName(params.name)}'`,
      );
    }
    if (typeof params.description !== 'string')
      throw new ConfigurationError(
        `tool "${params.name}": description is missing; describe what the tool does, because the model reads it to decide when to call the tool`,
      );
    this.name = params.name;
    this.description = params.description;
    this.isLongRunning = params.isLongRunning ?? false;
    this.isIdempotent = params.idempotent ?? false;
    this.timeoutMs = params.timeoutMs;
    this.hasInputStream = params.inputStream ?? false;
    this.responseScheduling = params.responseScheduling;
    this.isNonBlocking = params.nonBlocking ?? params.responseScheduling !== undefined;
  }

  get '~eventloom.tool'(): true {
    return true;
  }

  /** Returns the declaration that the model gets; undefined for a tool that the model's own service runs. */
  _getDeclaration(): FunctionDeclaration | undefined {
    return undefined;
  }

  /**
   * Runs one call. The result is JSON: an object is used as the response, a list becomes `{results: list}`, any other
   * value `{result: value}`. An error that it throws is given to the model as `{error}`, and so is a result that would
   * lose its content in JSON. A long-running tool returns undefined while it has no result.
   * @returns the result or a promise of it; returning the value itself is faster
   */
  abstract runAsync(request: RunAsyncToolRequest): unknown;

  /** Adds the tool to a model request, before it is sent. A subclass may override it to change the request in another way. */
  processLlmRequest({
    llmRequest,
  }: {
    readonly toolContext: CallbackContext;
    readonly llmRequest: LlmRequest;
  }): Promise<void> | void {
    appendTools(llmRequest, [this]);
  }

  /** True for a tool that continues an interrupted call in a resumed run. Default: false, see `idempotent`. @internal */
  get resumesCalls(): boolean {
    return false;
  }

  /** The agent that a call runs; undefined for a tool that runs none. @internal */
  get calledAgent(): BaseAgent | undefined {
    return undefined;
  }

  /** True for a tool that passes the sources of its agent's answer on to the answers of the calling agent. Default: false. @internal */
  get propagateGroundingMetadata(): boolean {
    return false;
  }

  /** Releases the tool's resources. Called when an agent that has the tool is closed, so once for each such agent. */
  close(): Promise<void> | void {
    return undefined;
  }
}

/** True for tools, including those of another loaded copy of this package, for which `instanceof` is false. */
export function isBaseTool(value: unknown): value is BaseTool {
  return typeof value === 'object' && value !== null && '~eventloom.tool' in value;
}
