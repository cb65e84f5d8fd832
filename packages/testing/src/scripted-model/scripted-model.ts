import {
  BaseLlm,
  type EventloomError,
  type LlmRequest,
  type LlmResponse,
  type Part,
  ResponseAggregator,
  RunAbortedError,
} from '@eventloom/core';
import { type OptionNames, checkKnown } from '@eventloom/core/internal';
import { UnconsumedStepsError, UnexpectedModelCallError, UnmetExpectationError } from '../errors.ts';
import { Gate } from '../gate.ts';
import { copyRequest } from './copy-request.ts';
import { lastUserTextOf, unmetExpectation } from './request-expectation.ts';
import type { ScriptedAnswer, ScriptedReply, ScriptedStep } from './scripted-step.ts';

/** Options of a scripted model. */
export interface ScriptedModelOptions {
  /** Default `scripted`. */
  readonly model?: string;
  /** Value of `supportsOutputSchemaWithTools`. Default false. */
  readonly outputSchemaWithTools?: boolean;
  /** False leaves `requests` empty, for measurements that the copies would distort. Default true. */
  readonly recordRequests?: boolean;
}

const OPTIONS: OptionNames<ScriptedModelOptions> = { model: true, outputSchemaWithTools: true, recordRequests: true };

/** One call of a scripted model: the request as it was then, and how it was made. */
export interface RecordedModelCall {
  readonly request: LlmRequest;
  readonly stream: boolean;
}

/**
 * A model that answers from a script, one step a call, and says so when it is called too often, too seldom or with something
 * else than expected. It keeps BaseLlm's contract: streamed, chunks come first and then the response that merges them.
 *
 * A fault is thrown from the call, where an agent may turn it into an event, and thrown again by `assertConsumed`.
 */
export class ScriptedModel extends BaseLlm {
  readonly #steps: readonly ScriptedStep[];
  readonly #options: ScriptedModelOptions;
  readonly #requests: RecordedModelCall[] = [];
  #calls = 0;
  #fault: EventloomError | undefined;

  /** @throws ConfigurationError for an option this version does not have */
  constructor(steps: readonly ScriptedStep[], options: ScriptedModelOptions = {}) {
    checkKnown('ScriptedModel', OPTIONS, options);
    super({ model: options.model ?? 'scripted' });
    this.#steps = steps;
    this.#options = options;
  }

  /** The calls so far, in order. The requests are deep copies. */
  get requests(): readonly RecordedModelCall[] {
    return this.#requests;
  }

  /** Number of calls so far. */
  get calls(): number {
    return this.#calls;
  }

  override supportsOutputSchemaWithTools(_model: string): boolean {
    return this.#options.outputSchemaWithTools ?? false;
  }

  /**
   * @throws UnexpectedModelCallError past the end of the script
   * @throws UnmetExpectationError when the request is not as the step expects
   * @throws RunAbortedError when the signal fires, also while held at a gate
   */
  override async *generateContentAsync(
    request: LlmRequest,
    stream = false,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void> {
    throwIfAborted(abortSignal);
    const index = this.#calls++;
    if (this.#options.recordRequests !== false) this.#requests.push({ request: copyRequest(request), stream });
    const step = this.#steps[index];
    if (step === undefined) {
      throw this.#failed(
        new UnexpectedModelCallError(
          `model "${this.model}": call ${index + 1} was not expected, the script has ${this.#steps.length} steps; ` +
            `its last user text is ${JSON.stringify(lastUserTextOf(request))}`,
        ),
      );
    }
    const reply = toReply(typeof step === 'function' ? await step(request, { stream, abortSignal, index }) : step);
    const fault = reply.expect && unmetExpectation(request, reply.expect);
    if (fault !== undefined) {
      throw this.#failed(new UnmetExpectationError(`model "${this.model}": call ${index + 1}: ${fault}`));
    }
    await reply.gate?.pass(abortSignal);
    yield* answer(reply, stream, abortSignal);
  }

  #failed<T extends EventloomError>(fault: T): T {
    this.#fault ??= fault;
    return fault;
  }

  /** @throws the first fault there was, or UnconsumedStepsError when steps are left over */
  assertConsumed(): void {
    if (this.#fault) throw this.#fault;
    const left = this.#steps.length - this.#calls;
    if (left > 0) {
      throw new UnconsumedStepsError(
        `model "${this.model}": ${left} of ${this.#steps.length} steps were not asked for, beginning with step ${this.#calls + 1}`,
      );
    }
  }
}

async function* answer(
  reply: ScriptedReply,
  stream: boolean,
  abortSignal: AbortSignal | undefined,
): AsyncGenerator<LlmResponse, void, void> {
  const aggregator = new ResponseAggregator();
  for (const item of reply.chunks ?? [partsOf(reply)]) {
    if (item instanceof Gate) {
      await item.pass(abortSignal);
      continue;
    }
    throwIfAborted(abortSignal);
    const chunk = toChunk(item);
    if (!chunk) continue;
    const shown = aggregator.add(chunk);
    if (stream) yield shown;
  }
  throwIfAborted(abortSignal);
  if (reply.error) throw reply.error;
  const { partial: _, ...whole } = aggregator.finish();
  // A reply that failed says why by itself.
  const finish: LlmResponse = reply.response?.errorCode === undefined ? { finishReason: 'STOP' } : {};
  yield { ...finish, ...whole, ...reply.response };
}

function toReply(answered: ScriptedAnswer): ScriptedReply {
  if (typeof answered === 'string') return { text: answered };
  return answered instanceof Error ? { error: answered } : answered;
}

function partsOf({ thought, text, calls = [], parts = [] }: ScriptedReply): Part[] {
  return [
    ...(thought === undefined ? [] : [{ text: thought, thought: true }]),
    ...(text === undefined ? [] : [{ text }]),
    ...calls.map((functionCall) => ({ functionCall })),
    ...parts,
  ];
}

function toChunk(item: string | readonly Part[] | LlmResponse): LlmResponse | undefined {
  if (typeof item === 'string') return { content: { role: 'model', parts: [{ text: item }] }, partial: true };
  if (!isParts(item)) return { ...item, partial: true };
  return item.length > 0 ? { content: { role: 'model', parts: [...item] }, partial: true } : undefined;
}

function isParts(item: readonly Part[] | LlmResponse): item is readonly Part[] {
  return Array.isArray(item);
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new RunAbortedError('the call was aborted', { cause: signal.reason });
}
