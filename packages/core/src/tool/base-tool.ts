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

/** A tool's chance to have a say in a model request. */
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
  readonly description: string;
  /** The result comes later, as a function response in a message; until then there may be none. */
  readonly isLongRunning?: boolean;
  /** To run a call twice does no more than to run it once. A call that was cut off is run again when its run is resumed. */
  readonly idempotent?: boolean;
  /**
   * The tool listens to the client of a live run (`toolContext.inputStream`). The model is told that it is under way when it says so
   * (`toolContext.began`) or passes on its first chunk, then each chunk, and at last what it failed with or returned. Default false.
   */
  readonly inputStream?: boolean;
  /**
   * In a live run the model goes on with the conversation while the call runs (`Behavior.NON_BLOCKING`), and hears each chunk that the
   * tool passes on as it comes. For models that know such calls. Default false, or true with `responseScheduling`.
   */
  readonly nonBlocking?: boolean;
  /**
   * Tells the model of a live run how to take the responses. A single call can differ:
   * `toolContext.responseScheduling`.
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
 * Tells a model how to take the response to a call during which it could continue to speak: only note it (`SILENT`),
 * speak of it after its current words (`WHEN_IDLE`, the models' own default), or at once (`INTERRUPT`).
 */
export type ResponseScheduling = 'SILENT' | 'WHEN_IDLE' | 'INTERRUPT';

/** Something a model can call. A tool object is never changed by a run; calls of it run at the same time. */
export abstract class BaseTool {
  readonly name: string;
  readonly description: string;
  readonly isLongRunning: boolean;
  readonly isIdempotent: boolean;
  /** True for a tool that listens to the client of a live run. */
  readonly hasInputStream: boolean;
  /** True for a tool whose calls do not keep the model of a live run from speaking. */
  readonly isNonBlocking: boolean;
  readonly responseScheduling: ResponseScheduling | undefined;

  /** @throws ConfigurationError for a name that models do not accept, and for an option this version does not have */
  constructor(params: BaseToolParams) {
    checkKnown(new.target.name, OPTIONS, params);
    if (!isToolName(params.name)) {
      throw new ConfigurationError(
        `tool name ${JSON.stringify(params.name)}: must be 1 to 128 letters, digits, _ . : - and start with a letter or _`,
      );
    }
    if (typeof params.description !== 'string')
      throw new ConfigurationError(
        `tool "${params.name}": description is missing; say in it what the tool does: the model decides by it when to call the tool`,
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
   * Runs one call. The result is JSON: an object is the response as it is, anything else is put under `result`. What it throws
   * is told to the model as `{error}`. A long-running tool returns undefined while it has nothing to say yet.
   * @returns the result or a promise of it: a result that is there at once costs a run less
   */
  abstract runAsync(request: RunAsyncToolRequest): unknown;

  /** Adds the tool to a model request. Overridden by tools that change the request in another way. */
  processLlmRequest({ llmRequest }: ToolProcessLlmRequest): Promise<void> | void {
    appendTools(llmRequest, [this]);
  }

  /** True for a tool that continues an interrupted call when the run is resumed, and does not start it again. */
  get resumesCalls(): boolean {
    return false;
  }

  /** The agent that a call runs; undefined for a tool that runs none. */
  get calledAgent(): BaseAgent | undefined {
    return undefined;
  }

  /** Releases what the tool holds open. Called when an agent that has the tool is closed, once for each of them. */
  close(): Promise<void> | void {
    return undefined;
  }
}

/** True for tools, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isBaseTool(value: unknown): value is BaseTool {
  return typeof value === 'object' && value !== null && '~eventloom.tool' in value;
}
