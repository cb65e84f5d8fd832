import type { BaseAgent } from '../agent/base-agent.ts';
import { checkKnown, type OptionNames } from '../agent/options.ts';
import type { ToolContext } from '../context/tool-context.ts';
import { ConfigurationError } from '../errors.ts';
import { appendTools, type LlmRequest } from '../model/llm-request.ts';
import { isToolName } from './reserved-calls.ts';
import type { FunctionDeclaration } from '../content/content.ts';

/** One call of a tool. */
export interface RunAsyncToolRequest {
  readonly args: Record<string, unknown>;
  readonly toolContext: ToolContext;
}

/** The model request that a tool may change before it is sent. */
export interface ToolProcessLlmRequest {
  readonly toolContext: ToolContext;
  readonly llmRequest: LlmRequest;
}

/** Parameters that every tool has. */
export interface BaseToolParams {
  /**
   * The name that the model calls: letters, digits, `_`, `.`, `:` and `-`, at most 128 characters, starting with a
   * letter or `_`.
   */
  readonly name: string;
  /** Tells the model what the tool does and when to call it. */
  readonly description: string;
  /**
   * True if the result comes later, as a function response in a message. `runAsync` may return undefined or a first status.
   * Default false.
   */
  readonly isLongRunning?: boolean;
  /**
   * True if running a call twice has the same effect as running it once. A resumed run then runs an interrupted call again,
   * and otherwise answers it with `{error: 'interrupted'}`. Default false.
   */
  readonly idempotent?: boolean;
  /**
   * True if the tool reads the client's input in a live run (`toolContext.inputStream`). The model does not wait for it: it is
   * told that the call is under way (at `toolContext.began` or the first chunk), then each chunk, and finally the result or
   * the error. Default false.
   */
  readonly inputStream?: boolean;
  /**
   * True lets the model of a live run continue the conversation while the call runs (`Behavior.NON_BLOCKING`); it gets each
   * chunk at once. Only for models that support such calls. Default false, or true with `responseScheduling`.
   */
  readonly nonBlocking?: boolean;
  /**
   * Tells the model of a live run how to treat the responses. A single call can override it with
   * `toolContext.responseScheduling`. Default: the model decides.
   */
  readonly responseScheduling?: ResponseScheduling | undefined;
}

const OPTIONS: OptionNames<BaseToolParams> = {
  name: true,
  description: true,
  isLongRunning: true,
  idempotent: true,
  inputStream: true,
  nonBlocking: true,
  responseScheduling: true,
};

/**
 * Tells the model of a live run how to treat the response of a non-blocking call: add it to the context without speaking
 * (`SILENT`), speak about it after the current sentence (`WHEN_IDLE`, the models' own default), or at once (`INTERRUPT`).
 */
export type ResponseScheduling = 'SILENT' | 'WHEN_IDLE' | 'INTERRUPT';

/**
 * Base of tools, which a model can call. A run never changes a tool object, and several calls may run at the same time. Most
 * tools are a `FunctionTool`; extend this class to control the declaration or the model request.
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
  readonly name: string;
  readonly description: string;
  readonly isLongRunning: boolean;
  readonly isIdempotent: boolean;
  /** True for a tool that reads the client's input in a live run. */
  readonly hasInputStream: boolean;
  /** True for a tool during whose calls the model of a live run may continue to speak. */
  readonly isNonBlocking: boolean;
  readonly responseScheduling: ResponseScheduling | undefined;

  /** @throws ConfigurationError for a name that models do not accept, a missing description, and an unknown option */
  constructor(params: BaseToolParams) {
    checkKnown(new.target.name, OPTIONS, params);
    if (!isToolName(params.name)) {
      throw new ConfigurationError(
        `tool name ${JSON.stringify(params.name)}: must be 1 to 128 letters, digits, _ . : - and start with a letter or _`,
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
   * Runs one call. The result is JSON: an object is used as the response, any other value becomes `{result: value}`. An error
   * that it throws is given to the model as `{error}`. A long-running tool returns undefined while it has no result.
   * @returns the result or a promise of it; returning the value itself is faster
   */
  abstract runAsync(request: RunAsyncToolRequest): unknown;

  /** Adds the tool to a model request, before it is sent. A subclass may override it to change the request in another way. */
  processLlmRequest({ llmRequest }: ToolProcessLlmRequest): Promise<void> | void {
    appendTools(llmRequest, [this]);
  }

  /** True for a tool that continues an interrupted call in a resumed run. Default: false, see `idempotent`. */
  get resumesCalls(): boolean {
    return false;
  }

  /** The agent that a call runs; undefined for a tool that runs none. */
  get calledAgent(): BaseAgent | undefined {
    return undefined;
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
