import {
  BaseLlm,
  type EventloomError,
  type LlmRequest,
  type LlmResponse,
  type ModelCapabilities,
  type Part,
  RunAbortedError,
} from '@eventloom/core';
import {
  checkCapabilities,
  checkOptions,
  copyRequest,
  type OptionRules,
  ResponseAggregator,
  withCapabilities,
} from '@eventloom/core/internal';
import { checkScript, checkStep } from '../check-script.ts';
import { UnconsumedStepsError, UnexpectedModelCallError, UnmetExpectationError } from '../errors.ts';
import { Gate } from '../gate.ts';
import { lastUserTextOf, unmetExpectation } from './request-expectation.ts';
import type { ScriptedFunction, ScriptedResult, ScriptedReply, ScriptedStep } from './scripted-step.ts';

/** Options of a `ScriptedModel`. */
export interface ScriptedModelOptions {
  /** Name of the model. Default `scripted`. */
  readonly model?: string;
  /** Capabilities that differ from the defaults of `BaseLlm`, e.g. `{ outputSchemaWithTools: true }`. Default: none. */
  readonly capabilities?: Partial<ModelCapabilities>;
  /** False leaves `requests` empty, so that copying requests does not distort measurements. Default true. */
  readonly recordRequests?: boolean;
}

const OPTIONS: OptionRules<ScriptedModelOptions> = {
  model: 'text',
  capabilities: 'object',
  recordRequests: 'flag',
};

/** One recorded call of a scripted model: a copy of the request, and whether the reply was streamed. */
export interface RecordedModelCall {
  readonly request: LlmRequest;
  readonly stream: boolean;
}

/**
 * A model for tests that replies from a script: each call takes the next step, or a function answers every call. A streamed reply consists
 * of chunks followed by the merged response, like that of every model.
 *
 * A call past the end of the script, or with an unexpected request, throws. Because an agent may turn that error into an event,
 * `assertConsumed` throws it again; it also throws if steps are left over. Call it at the end of a test.
 *
 * @example
 * const model = new ScriptedModel(['Hello!', { calls: [{ name: 'get_weather', args: { city: 'Rome' } }] }]);
 * const agent = new LlmAgent({ name: 'bot', model });
 *
 * const echo = new ScriptedModel(({ contents }) => `Message ${contents.length}`); // answers any number of calls
 */
export class ScriptedModel extends BaseLlm {
  readonly #steps: readonly ScriptedStep[] | ScriptedFunction;
  readonly #options: ScriptedModelOptions;
  readonly #requests: RecordedModelCall[] = [];
  #calls = 0;
  #fault: EventloomError | undefined;

  /**
   * @param steps the reply to each call, or a function that computes the replies to all calls, however many there are
   * @throws ConfigurationError for a value that is not a step, and for an unknown option or an unknown field of a reply
   */
  constructor(steps: readonly ScriptedStep[] | ScriptedFunction, options: ScriptedModelOptions = {}) {
    if (typeof steps !== 'function') {
      checkScript('ScriptedModel', steps, 'steps', "new ScriptedModel(['Hello!'])");
      for (const [index, step] of steps.entries())
        if (typeof step !== 'function') checkStep(`ScriptedModel: steps[${index}]`, step);
    }
    checkOptions('ScriptedModel', OPTIONS, options);
    checkCapabilities('ScriptedModel', options.capabilities);
    super({ model: options.model ?? 'scripted' });
    this.#steps = steps;
    this.#options = options;
  }

  /** The calls so far, in order, with deep copies of their requests. */
  get requests(): readonly RecordedModelCall[] {
    return this.#requests;
  }

  /** Number of calls so far. */
  get calls(): number {
    return this.#calls;
  }

  override capabilities(): ModelCapabilities {
    return withCapabilities(super.capabilities(), this.#options.capabilities);
  }

  /**
   * Replies with the next step of the script.
   * @throws UnexpectedModelCallError if the script has no step left
   * @throws UnmetExpectationError if the request does not match the step's `expect`
   * @throws RunAbortedError when the signal is aborted, also while the call waits at a gate
   */
  override async *generateContentAsync(
    request: LlmRequest,
    stream = false,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, void> {
    throwIfAborted(abortSignal);
    const index = this.#calls++;
    if (this.#options.recordRequests !== false) this.#requests.push({ request: copyRequest(request), stream });
    const steps = this.#steps;
    const step = typeof steps === 'function' ? steps : steps[index];
    if (step === undefined) {
      throw this.#failed(
        new UnexpectedModelCallError(
          `model "${this.model}": call ${index + 1} was not expected, the script has ${steps.length} steps; ` +
            `its last user text is ${JSON.stringify(lastUserTextOf(request))}`,
        ),
      );
    }
    const answered = typeof step === 'function' ? await step(request, { stream, abortSignal, index }) : step;
    const place = step === steps ? `the function for call ${index + 1}` : `steps[${index}]`;
    if (answered !== step) checkStep(`ScriptedModel: result of ${place}`, answered);
    const reply = toReply(answered);
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

  /** Checks that the script was played to its end. @throws the first error of a call, or UnconsumedStepsError if steps are left */
  assertConsumed(): void {
    if (this.#fault) throw this.#fault;
    if (typeof this.#steps === 'function') return;
    const left = this.#steps.length - this.#calls;
    if (left > 0) {
      throw new UnconsumedStepsError(
        `model "${this.model}": ${left} of ${this.#steps.length} steps were not requested, beginning with step ${this.#calls + 1}`,
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
  // A failed reply has its own finish reason.
  const finish: LlmResponse = reply.response?.errorCode === undefined ? { finishReason: 'STOP' } : {};
  yield { ...finish, ...whole, ...reply.response };
}

function toReply(answered: ScriptedResult): ScriptedReply {
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
