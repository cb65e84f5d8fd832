import {
  BaseLlm,
  type BaseLlmConnection,
  type Content,
  LiveConnectionError,
  type LlmRequest,
  type LlmResponse,
  type ModelCapabilities,
  ModelError,
  type Platform,
  systemPlatform,
} from '@eventloom/core';
import {
  checkModel,
  checkOptions,
  hasMoreThanText,
  INCOMPLETE_CALL,
  moveResponseParts,
  type OptionRules,
  sharedCapabilities,
  TIMEOUT,
  wrongOption,
} from '@eventloom/core/internal';
import { responsesInTime } from './responses-in-time.ts';

/** Options of a `FallbackModel`. */
export interface FallbackModelOptions {
  /** The models, the preferred one first: at least one. They may be of different vendors. */
  readonly models: readonly BaseLlm[];
  /**
   * Maximum time in milliseconds for which each model may send nothing; at most 24 days. A model that exceeds it before
   * it yielded content is followed by the next one. Later, and for the last model, it is a ModelError with the code
   * `DEADLINE_EXCEEDED`. Live connections are not limited. Default: no limit.
   */
  readonly timeoutMs?: number | undefined;
  /** Timers. Default: the system's. */
  readonly platform?: Platform | undefined;
}

const OPTIONS: OptionRules<FallbackModelOptions> = { models: 'list', timeoutMs: TIMEOUT, platform: 'object' };
const EXAMPLE = "new FallbackModel({ models: [new Gemini({ model: 'gemini-flash-latest', apiKey }), otherModel] })";

/**
 * A model that tries its models in order, from the first in every call, until one replies. The next model is called if one fails before it
 * yielded content, in one of four ways:
 * - a transient error (408, 429, 5xx or a lost connection) that remains after the model's own retries
 * - nothing for the time of `timeoutMs`
 * - a response that cannot be parsed
 * - an empty reply without a finish reason: its parts, if any, are empty texts without a signature
 *
 * If every model fails, the error of the last one is thrown, or its empty reply is yielded. Any other error is thrown at once.
 *
 * A reply of any model but the first has `customMetadata.fallback`: the `model` that replied, and the `failed` models
 * with their error codes. `capabilities()` has the features that all models have, so that each can take the request.
 * For live connections one model with `live` is enough.
 *
 * @example
 * const agent = new LlmAgent({
 *   name: 'helper',
 *   model: new FallbackModel({ models: [new Gemini({ model: 'gemini-flash-latest', apiKey }), model] }),
 * });
 */
export class FallbackModel extends BaseLlm {
  /** The models, the preferred one first. */
  readonly models: readonly BaseLlm[];
  readonly #timeoutMs: number | undefined;
  readonly #platform: Platform;

  /** @throws ConfigurationError without a model, for a value that is not a model, and for an option name that this version does not know */
  constructor(options: FallbackModelOptions) {
    checkOptions('FallbackModel', OPTIONS, options, {}, EXAMPLE);
    const { models } = options;
    const [first] = Array.isArray(models) ? models : [];
    if (!first) throw wrongOption('FallbackModel', 'models', 'a list of at least one model', models, '[first, second]');
    for (const [index, model] of models.entries())
      checkModel('FallbackModel', `models[${index}]`, model, 'a model object', '[new Gemini({ model, apiKey })]');
    super({ model: first.model });
    this.models = [...models];
    this.#timeoutMs = options.timeoutMs;
    this.#platform = options.platform ?? systemPlatform;
  }

  /**
   * Returns the features that all models have. `live` is true if one has it. Media in function responses is moved for a
   * model that refuses it.
   */
  override capabilities(): ModelCapabilities {
    const [first, ...others] = this.models.map((model) => model.capabilities());
    if (!first) return super.capabilities();
    return { ...sharedCapabilities([first, ...others]), responseMedia: first.responseMedia };
  }

  /**
   * Calls the models in turn until one replies.
   * @throws ModelError the error of the last model, or at once an error that is not transient
   */
  override async *generateContentAsync(
    request: LlmRequest,
    stream = false,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void> {
    const failed: FailedModel[] = [];
    for (const [index, model] of this.models.entries()) {
      const isLast = index === this.models.length - 1;
      let hasYielded = false;
      let emptyReply = NO_REPLY;
      // Responses without content are passed on once the model yields content or a reason: until then the reply may be another model's.
      const held: LlmResponse[] = [];
      try {
        for await (const response of this.#generate(model, requestFor(model, request, index), stream, abortSignal)) {
          const emptyCode = hasYielded || isLast ? undefined : codeOfEmptyReply(response);
          held.push(response);
          if (emptyCode !== undefined) {
            emptyReply = emptyCode;
            continue;
          }
          hasYielded = true;
          for (const next of held.splice(0))
            yield next.partial === true || failed.length === 0 ? next : withFallback(next, model, failed);
        }
        if (hasYielded || isLast || abortSignal?.aborted) return;
        failed.push({ model: model.model, errorCode: emptyReply });
      } catch (error) {
        if (hasYielded || isLast || abortSignal?.aborted || !maySucceedElsewhere(error)) throw error;
        failed.push({ model: model.model, errorCode: error.errorCode });
      }
    }
  }

  #generate(
    model: BaseLlm,
    request: LlmRequest,
    streaming: boolean,
    abortSignal: AbortSignal | undefined,
  ): AsyncGenerator<LlmResponse, void, void> {
    const timeoutMs = this.#timeoutMs;
    return timeoutMs === undefined
      ? model.generateContentAsync(request, streaming, abortSignal)
      : responsesInTime({ model, request, streaming, abortSignal, timeoutMs, platform: this.#platform });
  }

  /**
   * Opens a live connection of the first model that has live connections. If it fails with a transient error, tries the next such model.
   * @throws ConfigurationError if no model has live connections
   */
  override async connect(request: LlmRequest, abortSignal?: AbortSignal): Promise<BaseLlmConnection> {
    const models = this.models.filter((model) => model.capabilities().live);
    for (const [index, model] of models.entries()) {
      try {
        return await model.connect({ ...request, model: model.model }, abortSignal);
      } catch (error) {
        const isLast = index === models.length - 1;
        if (isLast || abortSignal?.aborted || !LiveConnectionError.isInstance(error) || !error.isRetryable) throw error;
      }
    }
    return super.connect(request, abortSignal);
  }
}

/** A model that failed, with the code of its error. */
interface FailedModel {
  readonly model: string;
  readonly errorCode: string;
}

/**
 * Returns true for failures after which another model is called: the service is unavailable, overloaded, or answers
 * with something other than a reply, such as the page of a proxy; and the request is valid.
 */
function maySucceedElsewhere(error: unknown): error is ModelError {
  return ModelError.isInstance(error) && (error.retryable || error.status === 429 || error.errorCode === 'DATA_LOSS');
}

/** The code of an empty reply without a reason. */
const NO_REPLY = 'UNKNOWN_ERROR';
/** The codes of replies whose end did not arrive. A refused prompt and a finish reason have codes of their own. */
const WITHOUT_END: ReadonlySet<string> = new Set([NO_REPLY, 'NO_FINISH_REASON', INCOMPLETE_CALL]);

/**
 * Returns the code of a response that has neither content nor a reason for having none: of a chunk before the content,
 * or of a reply whose end did not arrive. Returns undefined for other responses.
 */
function codeOfEmptyReply({ content, alternatives, finishReason, errorCode }: LlmResponse): string | undefined {
  if (hasContent(content) || alternatives?.some((alternative) => hasContent(alternative.content))) return undefined;
  if (errorCode !== undefined) return WITHOUT_END.has(errorCode) ? errorCode : undefined;
  return finishReason === undefined ? NO_REPLY : undefined;
}

/** Returns true if a part is more than an empty text without a signature. */
function hasContent(content: Content | undefined): boolean {
  return (content?.parts ?? []).some((part) => (part.text ?? '') !== '' || hasMoreThanText(part));
}

/**
 * Returns the request with the model's name. For a model other than the first, leaves out the context caches and moves
 * media to where the model reads it.
 */
function requestFor(model: BaseLlm, request: LlmRequest, index: number): LlmRequest {
  if (index === 0) return { ...request, model: model.model };
  const { cacheConfig: _, cacheMetadata: _m, ...uncached } = request;
  const { responseMedia } = model.capabilities();
  const contents = request.contents.map((content) => moveResponseParts(content, responseMedia));
  return { ...uncached, contents, model: model.model };
}

function withFallback(response: LlmResponse, { model }: BaseLlm, failed: readonly FailedModel[]): LlmResponse {
  return { ...response, customMetadata: { ...response.customMetadata, fallback: { model, failed } } };
}
