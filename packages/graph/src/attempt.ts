import {
  type BaseAgent,
  type BaseTool,
  ConfigurationError,
  type InputRequest,
  type InvocationContext,
  type JsonValue,
  type Platform,
  RunAbortedError,
} from '@eventloom/core';
import {
  type AbortGuard,
  type InputRequestParams,
  reportUnlessStopped,
  toInputRequest,
} from '@eventloom/core/internal';
import { NodeInterrupt } from './errors.ts';
import type { GraphNode } from './graph-node.ts';
import type { NodeOutcome } from './node-outcome.ts';
import type { NodeRun } from './node-run.ts';
import { Semaphore } from '@eventloom/core/internal';
import { CommitQueue } from './commit-queue.ts';

/** One attempt of a function node: its writes, its questions, and the nodes that it runs. */
export class Attempt {
  readonly run: NodeRun;
  /** Number of the attempt, from 1. */
  readonly number: number;
  /** Stops the attempt, and the nodes that it runs. */
  readonly guard: AbortGuard;
  /** Writes to channels, in order. */
  readonly updates: (readonly [string, JsonValue])[] = [];
  /** New questions of the attempt, without those that earlier attempts asked. */
  readonly newQuestions: InputRequest[] = [];
  /** True if the attempt cannot continue before a person answers. */
  isWaiting = false;
  /** True once the function has completed or was abandoned: its later actions have no effect. */
  isEnded = false;
  /** A configuration error. It ends the run even if the function catches it. */
  fault: ConfigurationError | undefined;
  readonly commitQueue: CommitQueue;
  readonly semaphore: Semaphore;
  #context: InvocationContext | undefined;
  readonly #inner: Promise<unknown>[] = [];
  readonly #questions = new Set<string>();
  readonly #runs = new Set<string>();
  readonly #counts = new Map<string, number>();

  constructor(run: NodeRun, number: number, guard: AbortGuard) {
    this.run = run;
    this.number = number;
    this.guard = guard;
    const { platform } = run.context;
    this.commitQueue = new CommitQueue(run.maxConcurrency, (begin) => void platform.schedule(0, begin));
    this.semaphore = new Semaphore(run.maxConcurrency);
  }

  /** The invocation context of the attempt, with the session's state as the attempt sees it. */
  get context(): InvocationContext {
    return (this.#context ??= this.run.beginAttempt());
  }

  /** Throws if the attempt has ended. @throws RunAbortedError if the attempt has ended */
  check(): void {
    if (this.isEnded) throw new RunAbortedError(`node "${this.run.node.name}": this attempt has ended`);
  }

  /** Returns the answer to a question, or asks it. @throws NodeInterrupt if there is no answer yet @throws ConfigurationError for misuse */
  ask(params: InputRequestParams): unknown {
    this.check();
    const owner = `node "${this.run.node.name}"`;
    const key = params.key ?? String(this.#questions.size);
    const request = toInputRequest(`${owner}: requestInput`, { ...params, key });
    if (this.#questions.has(key)) throw this.#misused(`requestInput: the key "${key}" is used twice`);
    this.#questions.add(key);
    const question = this.run.questionOf(key);
    if (question?.answer !== undefined) return question.answer['result'];
    if (!this.run.context.isResumable) {
      throw new ConfigurationError(
        `${owner}: only a resumable run can request input; start it with \`resumable: true\``,
      );
    }
    this.isWaiting = true;
    if (!question) this.newQuestions.push(request);
    throw new NodeInterrupt(`${owner} waits for an answer`);
  }

  /** Runs another node and returns its output. @throws NodeInterrupt if that node waits for an answer */
  async runNode(
    node: GraphNode | BaseAgent | BaseTool,
    input: JsonValue,
    givenKey: string | undefined,
  ): Promise<JsonValue | undefined> {
    this.check();
    const count = this.#counts.get(node.name) ?? 0;
    this.#counts.set(node.name, count + 1);
    const key = givenKey ?? String(count);
    const running = this.#start(node, input, key);
    this.#inner.push(
      running.catch((error: unknown) => {
        // The function has returned, so nobody else learns of the failure.
        if (this.isEnded) reportUnlessStopped(this.run.context.platform, error);
      }),
    );
    const { isWaiting, output } = await running;
    if (!isWaiting) return output;
    this.isWaiting = true;
    throw new NodeInterrupt(`node "${node.name}", which "${this.run.node.name}" runs, waits for an answer`);
  }

  #start(node: GraphNode | BaseAgent | BaseTool, input: JsonValue, key: string): Promise<NodeOutcome> {
    const named = JSON.stringify([node.name, key]);
    if (this.#runs.has(named)) throw this.#misused(`runNode: the key "${key}" of "${node.name}" is used twice`);
    this.#runs.add(named);
    return this.run.runInner(node, input, key, this);
  }

  #misused(how: string): ConfigurationError {
    return (this.fault ??= new ConfigurationError(`node "${this.run.node.name}": ${how}; write another key`));
  }

  /** Ends the attempt, and waits for the nodes that it runs. */
  async end(): Promise<void> {
    this.isEnded = true;
    while (this.#inner.length > 0) await this.#inner.pop();
  }
}

/** A timer that can be paused, so that time in which the node waits for others does not count. */
export class AttemptTimer {
  readonly #platform: Platform;
  readonly #onElapsed: () => void;
  #leftMs: number;
  #sinceMs = 0;
  #callOff: (() => void) | undefined;

  constructor(platform: Platform, timeoutMs: number, onElapsed: () => void) {
    this.#platform = platform;
    this.#leftMs = timeoutMs;
    this.#onElapsed = onElapsed;
    this.resume();
  }

  resume(): void {
    if (this.#callOff) return;
    this.#sinceMs = this.#platform.now();
    this.#callOff = this.#platform.schedule(Math.max(0, this.#leftMs), this.#onElapsed);
  }

  pause(): void {
    if (!this.#callOff) return;
    this.#callOff();
    this.#callOff = undefined;
    this.#leftMs -= this.#platform.now() - this.#sinceMs;
  }
}
