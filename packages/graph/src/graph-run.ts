import {
  ConfigurationError,
  type Event,
  type InvocationContext,
  type JsonValue,
  RunAbortedError,
  type ToolLedgerEntry,
} from '@eventloom/core';
import { type AbortGuard, EventQueue, reportUnlessStopped, STRUCTURED_OUTPUT } from '@eventloom/core/internal';
import type { ValueSchema } from '@eventloom/tools';
import { ChannelState } from './channel-state.ts';
import { START_RUN, FINISH, runId, toAgentState } from './checkpoint.ts';
import { StepLimitError } from './errors.ts';
import { validateValue } from './json-values.ts';
import type { GraphPlan } from './graph-plan.ts';
import { type Arrival, byNode, type Task } from './graph-progress.ts';
import { GraphRecord } from './graph-record.ts';
import type { GraphStep } from './graph-step.ts';
import { END, START } from './names.ts';
import { NodeCommits, questionEvent } from './node-commits.ts';
import { NodeRun } from './node-run.ts';
import type { NodeOutcome } from './node-outcome.ts';
import { CommitTurn } from './commit-turn.ts';
import { AGENT_CLOSE_MS, Semaphore } from '@eventloom/core/internal';
import { CommitQueue } from './commit-queue.ts';

/** Parameters of a run of a graph. */
interface GraphRunParams {
  readonly plan: GraphPlan;
  readonly context: InvocationContext;
  readonly outputSchema: ValueSchema | undefined;
  readonly hasLifecycleEvents: boolean;
  /** Reads the input of the graph. Called once, when the graph begins. */
  readonly readInput: () => Promise<JsonValue | undefined>;
}

/** One run of a graph, from its beginning or, if resumed, from the last stored event. */
export class GraphRun {
  readonly #params: GraphRunParams;
  readonly #plan: GraphPlan;
  readonly #context: InvocationContext;
  readonly #record: GraphRecord;
  readonly #channels: ChannelState;
  readonly #commits: NodeCommits;
  #entries: Promise<ReadonlyMap<string, ToolLedgerEntry>> | undefined;
  #hasTransferred = false;

  constructor(params: GraphRunParams) {
    this.#params = params;
    this.#plan = params.plan;
    this.#context = params.context;
    this.#record = new GraphRecord(params.plan, params.context.resumedFrom?.events);
    this.#channels = new ChannelState(params.plan, this.#record, params.context);
    this.#commits = new NodeCommits(params.plan, params.context, this.#record, this.#channels);
  }

  async *events(): AsyncGenerator<Event, void, void> {
    const context = this.#context;
    const record = this.#record;
    const { progress } = record;
    if (record.isFinished) return;
    if (!record.start) {
      const event = await this.#beginning();
      yield event;
      record.add(event);
    }
    if (context.resumedFrom) {
      record.readAnswers(context);
      if (record.lastOfStepBefore) context.resumedFrom.resumeChildrenAfter(record.lastOfStepBefore);
    }
    while (!progress.isAtEnd) {
      context.throwIfAborted();
      const { step } = progress;
      if (step > this.#plan.maxSteps) {
        throw new StepLimitError(
          `graph "${this.#plan.name}": has not ended after ${this.#plan.maxSteps} steps, "${progress.tasks[0]?.node}" first; raise maxSteps if it needs more`,
        );
      }
      await this.#channels.checkHeld();
      yield* this.#step(progress.openTasks);
      if (this.#hasTransferred || context.endInvocation || context.isPaused) return;
    }
    yield await this.#ending();
  }

  async #beginning(): Promise<Event> {
    const { state, stateDelta } = await this.#channels.defaults();
    const output = await this.#params.readInput();
    const next = await this.#commits.route(START, output, undefined, {
      ...this.#channels.snapshot({ state, stateDelta }),
    });
    const agentState = toAgentState({
      node: START,
      run: START_RUN,
      ...(output === undefined ? {} : { output }),
      next,
      ...(Object.keys(state).length > 0 ? { state } : {}),
    });
    return this.#context.createEvent({ actions: { stateDelta, agentState } });
  }

  async #ending(): Promise<Event> {
    const { arrivals } = this.#record.progress;
    const output = await validateValue(this.#plan.name, 'output', this.#params.outputSchema, outputOf(arrivals));
    const [only] = arrivals;
    // Content that the node's event already holds is not repeated.
    const isRepeated =
      arrivals.length === 1 && only !== undefined && this.#record.withContent.has(runId(only.step, only.index));
    const agentState = toAgentState({ node: END, run: FINISH, ...(output === undefined ? {} : { output }) });
    const text = typeof output === 'string' ? output : JSON.stringify(output ?? null);
    return this.#context.createEvent({
      ...(isRepeated || output === undefined ? {} : { content: { role: 'model', parts: [{ text }] } }),
      [STRUCTURED_OUTPUT]: output,
      actions: { agentState },
    });
  }

  /** Runs the open tasks of a step, and yields the events of their nodes. */
  async *#step(tasks: readonly Task[]): AsyncGenerator<Event, void, void> {
    const context = this.#context;
    const guard = context.abortGuard.fork();
    const events = new EventQueue();
    const running = this.#runAll(tasks, this.#stepOf(events, guard, tasks.length)).finally(() => events.end());
    // Awaited below, unless the reader has left.
    running.catch(() => undefined);
    let isEnded = false;
    try {
      for (let event = await events.next(); event; event = await events.next()) yield event;
      isEnded = true;
      await running;
    } finally {
      events.close();
      if (!isEnded) await this.#stop(running, guard);
      context.abortGuard.drop(guard);
    }
  }

  async #runAll(tasks: readonly Task[], step: GraphStep): Promise<void> {
    const width = this.#plan.maxConcurrency;
    const commitQueue = new CommitQueue(width);
    const semaphore = new Semaphore(width);
    const places = tasks.map(({ index, node: name, input }) => {
      const node = this.#plan.nodes.get(name);
      if (!node)
        throw new ConfigurationError(
          `graph "${this.#plan.name}": cannot be resumed at "${name}", which is not one of its nodes`,
        );
      return { run: new NodeRun(step, node, runId(step.step, index), new CommitTurn(commitQueue, step.guard)), input };
    });
    const failures: unknown[] = [];
    const runs = places.map(async ({ run, input }) => {
      // Called in the node's turn, so that it is deterministic which other nodes still commit.
      const fail = (error: unknown): void => {
        failures.push(error);
        step.guard.abort(new RunAbortedError(`node "${run.node.name}" of the same step failed`, { cause: error }));
      };
      try {
        const outcome = await run.run(input, semaphore, fail);
        if (outcome.isWaiting) this.#context.pause();
      } catch (error) {
        fail(error);
      }
    });
    await Promise.all(runs);
    if (failures.length > 0) throw failures.find((error) => !RunAbortedError.isInstance(error)) ?? failures[0];
  }

  #stepOf(events: EventQueue, guard: AbortGuard, width: number): GraphStep {
    return {
      context: this.#context,
      step: this.#record.progress.step,
      record: this.#record,
      state: this.#channels.found(),
      sessionState: width > 1 ? { ...this.#context.session.state } : undefined,
      events,
      guard,
      maxConcurrency: this.#plan.maxConcurrency,
      hasLifecycleEvents: this.#params.hasLifecycleEvents,
      finished: new Map(),
      interrupted: new Set(),
      commit: (run, outcome) => this.#commit(run, outcome),
      entryId: (call) => `${this.#record.start?.id}/${call}`,
      recorded: async (call) =>
        this.#context.resumedFrom ? (await this.#readLedger()).get(`${this.#record.start?.id}/${call}`) : undefined,
    };
  }

  async #commit(run: NodeRun, outcome: NodeOutcome): Promise<Event | undefined> {
    const event = outcome.isWaiting
      ? questionEvent(this.#context, run, outcome)
      : await this.#commits.completion(run, outcome);
    if (!event) return undefined;
    await run.post(event);
    this.#record.add(event);
    if (event.actions.transferToAgent !== undefined) this.#hasTransferred = true;
    return event;
  }

  async #readLedger(): Promise<ReadonlyMap<string, ToolLedgerEntry>> {
    const { invocation, invocationId } = this.#context;
    this.#entries ??= Promise.resolve(invocation.ledger.listToolCalls(invocationId)).then(
      (entries) => new Map(entries.map((entry) => [entry.entryId, entry])),
    );
    return this.#entries;
  }

  /** Stops the nodes of a step after the reader has left, and waits for them for at most AGENT_CLOSE_MS. */
  async #stop(running: Promise<void>, guard: AbortGuard): Promise<void> {
    guard.abort(new RunAbortedError('the graph was stopped'));
    const { platform } = this.#context;
    await new Promise<void>((resolve) => {
      const callOff = platform.schedule(AGENT_CLOSE_MS, resolve);
      const stopped = (): void => {
        callOff();
        resolve();
      };
      running.then(stopped, (error: unknown) => {
        // A node that was stopped fails with the reason of the stop; report any other error.
        reportUnlessStopped(platform, error);
        stopped();
      });
    });
  }
}

/** Returns the output of a graph: the value that arrived at END, or the values by node name if several arrived. */
function outputOf(arrivals: readonly Arrival[]): JsonValue | undefined {
  if (arrivals.length <= 1) return arrivals[0]?.output;
  return byNode(arrivals);
}
