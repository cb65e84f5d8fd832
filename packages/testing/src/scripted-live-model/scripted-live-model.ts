import {
  BaseLlm,
  ConfigurationError,
  type EventloomError,
  type LlmRequest,
  type LlmResponse,
  RunAbortedError,
} from '@eventloom/core';
import { type OptionNames, checkKnown } from '@eventloom/core/internal';
import { UnconsumedStepsError, UnexpectedModelCallError, UnmetExpectationError } from '../errors.ts';
import { copyRequest } from '../scripted-model/copy-request.ts';
import { unmetExpectation } from '../scripted-model/request-expectation.ts';
import { ScriptedLiveConnection } from './scripted-live-connection.ts';
import type { ScriptedLiveConnectionScript, ScriptedLiveFactory, ScriptedLiveScript } from './scripted-live-step.ts';

/** Options of a scripted live model. */
export interface ScriptedLiveModelOptions {
  /** Default `scripted-live`. */
  readonly model?: string;
  /** False leaves `sent` of its connections empty, for tests that send hours of audio. Default true. */
  readonly recordSent?: boolean;
}

const OPTIONS: OptionNames<ScriptedLiveModelOptions> = { model: true, recordSent: true };

/**
 * A model with live connections that play a script, one script a connection, and that keeps all it is sent. It says so when there
 * are too many connections, or when steps are left over.
 *
 * @example
 * const model = new ScriptedLiveModel([
 *   [{ heard: 'content' }, 'Hel', 'lo', { turnComplete: true }, { ends: 1006 }],
 *   [{ heard: 'history' }, 'back again', { turnComplete: true }],
 * ]);
 */
export class ScriptedLiveModel extends BaseLlm {
  readonly #scripts: readonly ScriptedLiveScript[] | ScriptedLiveFactory;
  readonly #recordSent: boolean;
  readonly #connections: ScriptedLiveConnection[] = [];
  #attempts = 0;
  #fault: EventloomError | undefined;
  #arrival = Promise.withResolvers<void>();

  /** @param scripts what each connection plays, or a function that makes a script for each of as many as there come */
  constructor(scripts: readonly ScriptedLiveScript[] | ScriptedLiveFactory, options: ScriptedLiveModelOptions = {}) {
    checkKnown('ScriptedLiveModel', OPTIONS, options);
    const { model = 'scripted-live', recordSent = true } = options;
    super({ model });
    this.#scripts = scripts;
    this.#recordSent = recordSent;
  }

  /** The connections so far, in order; a refused one is not among them. */
  get connections(): readonly ScriptedLiveConnection[] {
    return this.#connections;
  }

  /** Number of connections that were requested, refused ones included. */
  get attempts(): number {
    return this.#attempts;
  }

  /** The connection at this place, as soon as it is there: 0 is the first. */
  async connection(index: number): Promise<ScriptedLiveConnection> {
    for (;;) {
      const connection = this.#connections[index];
      if (connection) return connection;
      await this.#arrival.promise;
    }
  }

  /** @throws ConfigurationError always: it speaks only live */
  // oxlint-disable-next-line require-yield -- it never has anything to say
  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
    await Promise.reject(new ConfigurationError(`model "${this.model}": speaks only live`));
  }

  /**
   * @throws the error that the script refuses the setup with
   * @throws UnexpectedModelCallError past the end of the scripts
   * @throws UnmetExpectationError when the request is not as the script expects
   * @throws RunAbortedError when the signal fires, also while held at a gate
   */
  override async connect(request: LlmRequest, abortSignal?: AbortSignal): Promise<ScriptedLiveConnection> {
    if (abortSignal?.aborted) throw new RunAbortedError('the call was aborted', { cause: abortSignal.reason });
    const index = this.#attempts++;
    const script = typeof this.#scripts === 'function' ? this.#scripts(request, index) : this.#scripts[index];
    if (script === undefined) {
      throw this.#failed(
        new UnexpectedModelCallError(`model "${this.model}": connection ${index + 1} was not expected`),
      );
    }
    const {
      steps = [],
      refuse,
      expect,
      gate,
      takesInterimResponses,
      tellsConsumed,
      needsCallIds,
    } = toConnectionScript(script);
    const fault = expect && unmetExpectation(request, expect);
    if (fault !== undefined) {
      throw this.#failed(new UnmetExpectationError(`model "${this.model}": connection ${index + 1}: ${fault}`));
    }
    const copied = copyRequest(request);
    await gate?.pass(abortSignal);
    if (refuse) throw refuse;
    const connection = new ScriptedLiveConnection({
      request: copied,
      steps,
      takesInterimResponses,
      tellsConsumed,
      needsCallIds,
      recordSent: this.#recordSent,
      abortSignal,
    });
    this.#connections.push(connection);
    this.#arrival.resolve();
    this.#arrival = Promise.withResolvers();
    return connection;
  }

  /** @throws the first fault there was, or UnconsumedStepsError when connections or steps of one are left over */
  assertConsumed(): void {
    if (this.#fault) throw this.#fault;
    const missing = typeof this.#scripts === 'function' ? 0 : this.#scripts.length - this.#attempts;
    if (missing > 0) throw new UnconsumedStepsError(`model "${this.model}": ${missing} connections were not asked for`);
    for (const [index, { stepsLeft }] of this.#connections.entries()) {
      if (stepsLeft === 0) continue;
      throw new UnconsumedStepsError(
        `model "${this.model}": ${stepsLeft} steps of connection ${index + 1} were not played`,
      );
    }
  }

  #failed<T extends EventloomError>(fault: T): T {
    this.#fault ??= fault;
    return fault;
  }
}

function toConnectionScript(script: ScriptedLiveScript): ScriptedLiveConnectionScript {
  if (script instanceof Error) return { refuse: script };
  return isSteps(script) ? { steps: script } : script;
}

function isSteps(script: ScriptedLiveScript): script is NonNullable<ScriptedLiveConnectionScript['steps']> {
  return Array.isArray(script);
}
