import {
  BaseLlm,
  ConfigurationError,
  type EventloomError,
  type LlmRequest,
  type LlmResponse,
  RunAbortedError,
} from '@eventloom/core';
import { checkOptions, copyRequest, type OptionRules } from '@eventloom/core/internal';
import { checkLiveScript, checkScript } from '../check-script.ts';
import { UnconsumedStepsError, UnexpectedModelCallError, UnmetExpectationError } from '../errors.ts';
import { unmetExpectation } from '../scripted-model/request-expectation.ts';
import { ScriptedLiveConnection } from './scripted-live-connection.ts';
import type { ScriptedLiveConnectionScript, ScriptedLiveFactory, ScriptedLiveScript } from './scripted-live-step.ts';

/** Options of a `ScriptedLiveModel`. */
export interface ScriptedLiveModelOptions {
  /** Name of the model. Default `scripted-live`. */
  readonly model?: string;
  /** False leaves `sent` of the connections empty, for tests that send hours of audio. Default true. */
  readonly recordSent?: boolean;
}

const OPTIONS: OptionRules<ScriptedLiveModelOptions> = { model: 'text', recordSent: 'flag' };

/**
 * A model for tests whose live connections play scripts, one script for each connection, and record the requests sent
 * to them. A connection without a script throws, and `assertConsumed` throws if scripts or steps are left over.
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

  /**
   * @param scripts the script of each connection, or a function that creates the script of every connection
   * @throws ConfigurationError for a value that is not a script or a step, and for an unknown option or field
   */
  constructor(scripts: readonly ScriptedLiveScript[] | ScriptedLiveFactory, options: ScriptedLiveModelOptions = {}) {
    if (typeof scripts !== 'function') {
      const write = "new ScriptedLiveModel([['Hello!', { turnComplete: true }]])";
      checkScript('ScriptedLiveModel', scripts, 'scripts, one for each connection', write);
      for (const [index, script] of scripts.entries()) checkLiveScript(`ScriptedLiveModel: scripts[${index}]`, script);
    }
    checkOptions('ScriptedLiveModel', OPTIONS, options);
    const { model = 'scripted-live', recordSent = true } = options;
    super({ model });
    this.#scripts = scripts;
    this.#recordSent = recordSent;
  }

  /** The connections so far, in order, without refused ones. */
  get connections(): readonly ScriptedLiveConnection[] {
    return this.#connections;
  }

  /** Number of connections that were requested, refused ones included. */
  get attempts(): number {
    return this.#attempts;
  }

  /** Waits for the connection with this index, from 0. */
  async connection(index: number): Promise<ScriptedLiveConnection> {
    for (;;) {
      const connection = this.#connections[index];
      if (connection) return connection;
      await this.#arrival.promise;
    }
  }

  /** @throws ConfigurationError always, because the model supports only live connections */
  // oxlint-disable-next-line require-yield -- the model has no unary replies
  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
    await Promise.reject(
      new ConfigurationError(`model "${this.model}": supports only live connections; run the agent with runLive`),
    );
  }

  /**
   * Opens the next connection.
   * @throws the error of the script's `refuse`
   * @throws UnexpectedModelCallError if no script is left
   * @throws UnmetExpectationError if the request does not match the script's `expect`
   * @throws RunAbortedError when the signal is aborted, also while the call waits at a gate
   */
  override async connect(request: LlmRequest, abortSignal?: AbortSignal): Promise<ScriptedLiveConnection> {
    if (abortSignal?.aborted) throw new RunAbortedError('the call was aborted', { cause: abortSignal.reason });
    const index = this.#attempts++;
    const script = typeof this.#scripts === 'function' ? this.#scripts(request, index) : this.#scripts[index];
    if (typeof this.#scripts === 'function')
      checkLiveScript(`ScriptedLiveModel: script of connection ${index}`, script);
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

  /** Checks that all scripts were played. @throws the first error of a connection, or UnconsumedStepsError if scripts or steps are left */
  assertConsumed(): void {
    if (this.#fault) throw this.#fault;
    const missing = typeof this.#scripts === 'function' ? 0 : this.#scripts.length - this.#attempts;
    if (missing > 0) throw new UnconsumedStepsError(`model "${this.model}": ${missing} connections were not opened`);
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
