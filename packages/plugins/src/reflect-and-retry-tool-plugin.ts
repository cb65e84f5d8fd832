import { BasePlugin, type BaseTool, type MaybePromise, toError } from '@eventloom/core';
import { checkOptions, isRecord, type OptionRules } from '@eventloom/core/internal';
import type { OfToolCall } from './callback-params.ts';
import { FailureCounter, REFLECT_AND_RETRY_RESPONSE_TYPE, type RetryLimits, RETRY_LIMITS } from './failure-counter.ts';

/** Options of `ReflectAndRetryToolPlugin`. */
export interface ReflectAndRetryToolPluginOptions extends RetryLimits {
  /** Name of the plugin. Default `reflect_retry_tool_plugin`. */
  readonly name?: string | undefined;
}

const OPTIONS: OptionRules<ReflectAndRetryToolPluginOptions> = {
  name: 'text',
  ...RETRY_LIMITS,
};

/** The response that a model gets for a failed call. */
export type ToolFailureResponse = {
  readonly response_type: typeof REFLECT_AND_RETRY_RESPONSE_TYPE;
  /** The name of the error, or `ToolError` for a result that reports one. */
  readonly error_type: string;
  readonly error_details: string;
  /** The number of consecutive failures of this tool. */
  readonly retry_count: number;
  /** Advice to the model. */
  readonly reflection_guidance: string;
};

/** A call of a tool and its result. */
interface FinishedToolCall extends OfToolCall {
  /** The value that the tool returned, or that a callback replaced it with. */
  readonly result: unknown;
}

/**
 * Lets the model repair failed tool calls: the model gets the error and its arguments and tries again, up to a maximum number of
 * consecutive failures of each tool. A call fails if its tool throws or its arguments do not match the schema. Override
 * `extractErrorFromResult` for tools that report failures in their results.
 *
 * @example
 * const runner = new Runner({ appName, agent, sessionService, plugins: [new ReflectAndRetryToolPlugin({ maxRetries: 2 })] });
 */
export class ReflectAndRetryToolPlugin extends BasePlugin {
  readonly maxRetries: number;
  readonly throwExceptionIfRetryExceeded: boolean;
  readonly #failures: FailureCounter;

  /** @throws ConfigurationError for a number that is negative or not an integer, an unknown scope and an unknown option */
  constructor(options: ReflectAndRetryToolPluginOptions = {}) {
    checkOptions('ReflectAndRetryToolPlugin', OPTIONS, options);
    super(options.name ?? 'reflect_retry_tool_plugin');
    this.maxRetries = options.maxRetries ?? 3;
    this.throwExceptionIfRetryExceeded = options.throwExceptionIfRetryExceeded ?? true;
    this.#failures = new FailureCounter(options.trackingScope);
  }

  /** Returns the error that a result reports; undefined for a success. Default: undefined for every result. */
  extractErrorFromResult(_call: FinishedToolCall): MaybePromise<unknown> {
    return undefined;
  }

  override async afterToolCallback(call: FinishedToolCall): Promise<Record<string, unknown> | undefined> {
    const { tool, toolContext, result } = call;
    if (isRecord(result) && result['response_type'] === REFLECT_AND_RETRY_RESPONSE_TYPE) return undefined;
    const error = argumentIssues(tool, result) ?? (await this.extractErrorFromResult(call));
    if (error !== undefined && error !== null) return this.#handle(call, error);
    this.#failures.reset(toolContext.invocationContext.invocation, tool.name);
    return undefined;
  }

  override onToolErrorCallback({ error, ...call }: OfToolCall & { readonly error: Error }) {
    return this.#handle(call, error);
  }

  /**
   * Returns the response for the model.
   *
   * @throws the given error after too many failures
   */
  #handle({ tool, toolArgs, toolContext }: OfToolCall, error: unknown): ToolFailureResponse {
    const { maxRetries } = this;
    const count = this.#failures.add(toolContext.invocationContext.invocation, tool.name);
    const isExceeded = count > maxRetries;
    if (isExceeded && this.throwExceptionIfRetryExceeded)
      throw error instanceof Error ? error : toError(detailsOf(error));
    const errorType = error instanceof Error ? error.name : 'ToolError';
    const details = detailsOf(error);
    const guidance = isExceeded
      ? `The tool \`${tool.name}\` failed ${count} times in a row and must not be called again for this task.`
      : `The call of the tool \`${tool.name}\` failed. This is retry attempt ${count} of ${maxRetries}.`;
    return {
      response_type: REFLECT_AND_RETRY_RESPONSE_TYPE,
      error_type: errorType,
      error_details: details,
      retry_count: Math.min(count, maxRetries),
      reflection_guidance: `${guidance}

Error:
${errorType}: ${details}

Arguments:
${JSON.stringify(toolArgs, undefined, 2)}

${isExceeded ? GIVE_UP : RETRY}`,
    };
  }
}

const RETRY = `Find the reason before you try again, and do not repeat the same call:
1. Are arguments missing, of a wrong type or in a wrong format? Compare them with the declaration of the tool.
2. Did an earlier step fail that this call needs?
3. Is there a better tool, or a different order of steps?
4. Can the task be split into smaller steps?`;
const GIVE_UP = 'Try another way, with other tools, or tell the user that this cannot be done and why.';

/** Returns the error in a function tool's response to arguments that do not match its schema; undefined for other results. */
function argumentIssues({ name }: BaseTool, result: unknown): string | undefined {
  const error = isRecord(result) ? result['error'] : undefined;
  return typeof error === 'string' && error.startsWith(`the arguments of ${name} are not valid: `) ? error : undefined;
}

function detailsOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  return typeof error === 'string' ? error : JSON.stringify(error);
}
