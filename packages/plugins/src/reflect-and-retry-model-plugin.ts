import {
  BasePlugin,
  BaseTool,
  type CallbackContext,
  encodeBase64,
  type LlmRequest,
  type LlmResponse,
  ModelError,
  type RunAsyncToolRequest,
} from '@eventloom/core';
import { checkOptions, type OptionRules } from '@eventloom/core/internal';
import { FailureCounter, REFLECT_AND_RETRY_RESPONSE_TYPE, type RetryLimits, RETRY_LIMITS } from './failure-counter.ts';

/** Options of `ReflectAndRetryModelPlugin`. */
export interface ReflectAndRetryModelPluginOptions extends RetryLimits {
  /** Name of the plugin. Default `reflect_retry_model_plugin`. */
  readonly name?: string | undefined;
  /** Finish reasons and error codes of replies that the model repeats. Default: `['MALFORMED_FUNCTION_CALL']`. */
  readonly onModelErrors?: readonly string[] | undefined;
}

const OPTIONS: OptionRules<ReflectAndRetryModelPluginOptions> = {
  name: 'text',
  ...RETRY_LIMITS,
  onModelErrors: 'list',
};

const TOOL = 'adk_handle_model_error';
/** A signature that Gemini 3 accepts for a function call that no model made. */
const NO_SIGNATURE: string = encodeBase64(new TextEncoder().encode('skip_thought_signature_validator'));

/** The tool whose call represents a failed reply. It is not declared to models. */
class HandleModelErrorTool extends BaseTool {
  readonly #maxRetries: number;

  constructor(maxRetries: number) {
    super({ name: TOOL, description: 'Tells the model to repeat a failed reply.', idempotent: true });
    this.#maxRetries = maxRetries;
  }

  override runAsync({ args }: RunAsyncToolRequest): unknown {
    const { retry_count: count, error_type: type, error_details: details } = args;
    const reason = typeof details === 'string' && details !== '' ? `: ${details}` : '';
    return {
      reflection_guidance: `Your last reply could not be used: ${String(type)}${reason}. This is retry attempt ${String(count)} of ${this.#maxRetries}. Find the reason, do not repeat the same reply, and answer again.`,
    };
  }
}

/**
 * Makes the model repeat a failed reply, such as one with a malformed function call, a limited number of times in a row. In the history the
 * failed reply is a call of `adk_handle_model_error`, whose response describes the failure.
 *
 * Errors that a model call throws are not repeated: see the options of the model.
 */
export class ReflectAndRetryModelPlugin extends BasePlugin {
  readonly maxRetries: number;
  readonly throwExceptionIfRetryExceeded: boolean;
  readonly onModelErrors: readonly string[];
  readonly #failures: FailureCounter;
  readonly #tool: HandleModelErrorTool;

  /** @throws ConfigurationError for a number that is negative or not an integer, an unknown scope and an unknown option */
  constructor(options: ReflectAndRetryModelPluginOptions = {}) {
    checkOptions('ReflectAndRetryModelPlugin', OPTIONS, options);
    super(options.name ?? 'reflect_retry_model_plugin');
    this.maxRetries = options.maxRetries ?? 3;
    this.throwExceptionIfRetryExceeded = options.throwExceptionIfRetryExceeded ?? true;
    this.onModelErrors = options.onModelErrors ?? ['MALFORMED_FUNCTION_CALL'];
    this.#failures = new FailureCounter(options.trackingScope);
    this.#tool = new HandleModelErrorTool(this.maxRetries);
  }

  override beforeModelCallback({ llmRequest }: { llmRequest: LlmRequest }): undefined {
    llmRequest.toolsDict = { ...llmRequest.toolsDict, [TOOL]: this.#tool };
  }

  override afterModelCallback({
    callbackContext,
    llmResponse,
  }: {
    callbackContext: CallbackContext;
    llmResponse: LlmResponse;
  }): LlmResponse | undefined {
    if (llmResponse.partial === true) return undefined;
    const { invocation, agent } = callbackContext.invocationContext;
    const failure = this.#failureOf(llmResponse);
    if (!failure) {
      this.#failures.reset(invocation, agent.name);
      return undefined;
    }
    const count = this.#failures.add(invocation, agent.name);
    if (count > this.maxRetries) {
      if (!this.throwExceptionIfRetryExceeded) return undefined;
      throw new ModelError(
        `the model's replies failed ${count} times in a row: ${failure.type}${failure.details && `: ${failure.details}`}`,
        {
          errorCode: failure.type,
        },
      );
    }
    const args = {
      response_type: REFLECT_AND_RETRY_RESPONSE_TYPE,
      error_type: failure.type,
      error_details: failure.details,
      finish_reason: llmResponse.finishReason,
      retry_count: count,
    };
    const { usageMetadata, modelVersion } = llmResponse;
    return {
      ...(usageMetadata && { usageMetadata }),
      ...(modelVersion !== undefined && { modelVersion }),
      content: { role: 'model', parts: [{ functionCall: { name: TOOL, args }, thoughtSignature: NO_SIGNATURE }] },
    };
  }

  /** Returns the failure of a reply: its code, or a call of the reserved function; undefined for a success. */
  #failureOf({ errorCode, finishReason, errorMessage, content }: LlmResponse): Failure | undefined {
    if (content?.parts?.some(({ functionCall }) => functionCall?.name === TOOL))
      return { type: 'RESERVED_TOOL_CALL', details: `${TOOL} must not be called` };
    const type = [errorCode, finishReason].find((code) => code !== undefined && this.onModelErrors.includes(code));
    return type === undefined ? undefined : { type, details: errorMessage ?? '' };
  }
}

interface Failure {
  readonly type: string;
  readonly details: string;
}
