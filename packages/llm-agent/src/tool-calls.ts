import {
  type BaseTool,
  createEventActions,
  type Event,
  type EventActions,
  type FunctionCall,
  type FunctionResponse,
  type InvocationContext,
  isTransfer,
  type MaybePromise,
  mergeEventActions,
  type Part,
  RUN_CONFIG_DEFAULTS,
  type ToolLedgerEntry,
  TRANSFER_TAG,
} from '@eventloom/core';
import { askedCallId, inputRequestOf, leavesAgent, personRequests } from '@eventloom/core/internal';
import type { AgentTurn } from './agent-turn.ts';
import { EmittedEvents } from './emitted-events.ts';
import type { ResumedCalls } from './resume.ts';
import { asksPerson } from './tool-answer.ts';
import { type FunctionCallOutcome, ToolCall } from './tool-call.ts';

/** Calls to run: those of one reply, or those that people's answers let run. */
export interface CallBatch {
  readonly turn: AgentTurn;
  readonly calls: readonly FunctionCall[];
  readonly tools: Readonly<Record<string, BaseTool>>;
  /** The id of the event with the calls. With the id of a call it names the call in the ledger. */
  readonly eventId: string;
  /** Ledger entries of the invocation, by call id; absent if nothing ran before. */
  readonly ledger?: ReadonlyMap<string, ToolLedgerEntry>;
  /** Requests to a person about the calls so far. */
  readonly asked?: readonly FunctionCall[];
  /** The answers of people that let the calls run. */
  readonly resumed?: ResumedCalls | undefined;
  /** Called when a tool begins to listen to the client of a live run. */
  readonly onBegan?: () => Promise<void>;
}

/** The outcome of all calls of one reply. */
export interface FunctionCallsOutcome {
  /** The responses in call order and the actions merged in that order; undefined when there is neither. */
  readonly event: Event | undefined;
  /** True when a call has no response yet, or not the one it is to have in the end. */
  readonly isWaiting: boolean;
  /** True when the model is not asked about the responses. The driver of the agent reads from the event whether it hands over. */
  readonly leavesAgent: boolean;
}

/** Runs the calls of one reply at the same time, at most `maxParallelToolCalls` of them. They are started when it is created. */
export class RunningCalls {
  readonly #batch: CallBatch;
  readonly #running: MaybePromise<FunctionCallsOutcome>;
  /** The events that tools emit; undefined as long as they emit none, as most do. */
  #emitted: EmittedEvents | undefined;
  /** Ends the wait for the outcome, because there is an event to read. */
  #interrupt: ((outcome: undefined) => void) | undefined;
  /** True once nothing more is emitted. */
  #isEnded = false;

  constructor(batch: CallBatch) {
    this.#batch = batch;
    this.#running = this.#run();
    this.#isEnded = !(this.#running instanceof Promise);
  }

  /** Answers at once if all calls do. */
  #run(): MaybePromise<FunctionCallsOutcome> {
    const { turn, calls } = this.#batch;
    const limit = turn.context.runConfig.maxParallelToolCalls ?? RUN_CONFIG_DEFAULTS.maxParallelToolCalls;
    if (calls.length > limit) return this.#joinedLater(this.#runSome(limit));
    const outcomes: MaybePromise<FunctionCallOutcome>[] = [];
    let isPending = false;
    for (const call of calls) {
      const outcome = new ToolCall(this.#batch, call, this).run();
      if (outcome instanceof Promise) isPending = true;
      outcomes.push(outcome);
    }
    // Without a promise among them they are outcomes.
    if (!isPending) return this.#joined(outcomes as FunctionCallOutcome[]);
    const [only] = outcomes;
    if (only instanceof Promise && outcomes.length === 1) return this.#joinedLater(only);
    return this.#joinedLater(Promise.all(outcomes.map((outcome) => Promise.resolve(outcome))));
  }

  async #joinedLater(
    pending: Promise<FunctionCallOutcome | readonly FunctionCallOutcome[]>,
  ): Promise<FunctionCallsOutcome> {
    try {
      const settled = await pending;
      return this.#joined('length' in settled ? settled : [settled]);
    } finally {
      this.#isEnded = true;
    }
  }

  /** The outcomes in the order of the calls. The first failure stops what has not begun. */
  async #runSome(limit: number): Promise<FunctionCallOutcome[]> {
    const { calls } = this.#batch;
    const outcomes: FunctionCallOutcome[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < calls.length) {
        const index = next++;
        outcomes[index] = await new ToolCall(this.#batch, calls[index] as FunctionCall, this).run();
      }
    };
    const failing = Array.from({ length: limit }, () =>
      work().catch((error: unknown) => {
        next = calls.length;
        throw error;
      }),
    );
    await Promise.all(failing);
    return outcomes;
  }

  #joined(given: readonly FunctionCallOutcome[]): FunctionCallsOutcome {
    const { turn, calls, asked } = this.#batch;
    const outcomes = given.length > 1 ? oneTransfer(given) : given;
    const { context } = turn;
    const parts: Part[] = [];
    let changed: EventActions[] | undefined;
    for (let index = 0; index < outcomes.length; index++) {
      const { response, parts: media, scheduling, actions } = outcomes[index] ?? {};
      if (actions) (changed ??= []).push(actions);
      if (!response) continue;
      const { id = '', name = '' } = calls[index] ?? {};
      const functionResponse: FunctionResponse = { id, name, response };
      if (media) functionResponse.parts = [...media];
      if (scheduling) functionResponse.scheduling = scheduling;
      parts.push({ functionResponse });
    }
    const actions = changed && mergeEventActions(changed);
    const requests = actions && asksPerson(actions) ? requestEvents(context, calls, actions, asked) : NO_EVENTS;
    for (const request of requests) (this.#emitted ??= new EmittedEvents()).add(request);
    const isWaiting = parts.length < calls.length || requests.length > 0 || (asked?.length ?? 0) > 0;
    if (parts.length === 0 && !actions) return { event: undefined, isWaiting, leavesAgent: false };
    const event: { -readonly [K in keyof Event]: Event[K] } = context.createEvent(
      parts.length > 0 ? { content: { role: 'user', parts } } : undefined,
    );
    if (actions) event.actions = actions;
    if (calls.some(isTransfer)) event.tags = [TRANSFER_TAG];
    return { event, isWaiting, leavesAgent: leavesAgent(event.actions) };
  }

  /**
   * Hands in an event of a tool. Resolves to true when it was passed on, to false when nobody listens any more.
   * @throws ConfigurationError at the call, when too many wait
   */
  emit(event: Event): Promise<boolean> {
    if (this.#isEnded) return Promise.resolve(false);
    const taken = (this.#emitted ??= new EmittedEvents()).emit(event);
    this.#interrupt?.(undefined);
    return taken;
  }

  /** True once nobody listens to the tools any more. */
  get isClosed(): boolean {
    return this.#emitted?.isClosed === true;
  }

  /**
   * The outcome of calls that have no events, as most do: it costs less than to read none. Undefined as soon as there is an event, for
   * which the caller then reads `events`.
   */
  outcome(): MaybePromise<FunctionCallsOutcome | undefined> {
    const running = this.#running;
    if (this.#emitted) return undefined;
    if (!(running instanceof Promise)) return running;
    return new Promise((resolve, reject) => {
      this.#interrupt = resolve;
      running.then((outcome) => resolve(this.#emitted ? undefined : outcome), reject);
    });
  }

  /**
   * Yields the events of the tools, then their requests to a person, and returns the outcome of the calls. A reader
   * that leaves stops the streaming tools; the others are waited for, unless the run was aborted.
   */
  async *events(): AsyncGenerator<Event, FunctionCallsOutcome, void> {
    const emitted = (this.#emitted ??= new EmittedEvents());
    const running = Promise.resolve(this.#running);
    emitted.endWith(running);
    let isRead = false;
    try {
      for (let event = await emitted.next(); event; event = await emitted.next()) yield event;
      isRead = true;
    } finally {
      emitted.close();
      if (!isRead) await this.#batch.turn.context.untilAborted(running).catch(() => undefined);
    }
    return running;
  }
}

const NO_EVENTS: readonly Event[] = [];

/** Control goes to one agent: of several hand-overs the first one happens, and the others are answered with an error. */
function oneTransfer(outcomes: readonly FunctionCallOutcome[]): readonly FunctionCallOutcome[] {
  const first = outcomes.find(({ actions }) => actions?.transferToAgent !== undefined);
  if (!first) return outcomes;
  return outcomes.map((outcome) => {
    const { transferToAgent: name, ...actions } = outcome.actions ?? {};
    if (name === undefined || outcome === first) return outcome;
    const error = `cannot hand over to ${JSON.stringify(name)}: an earlier call hands over to ${JSON.stringify(first.actions?.transferToAgent)}`;
    return { response: { error }, actions: createEventActions(actions) };
  });
}

/**
 * The events by which a client is asked, for credentials first: calls of the runtime's own that are answered by function
 * responses. What was asked before is not asked again.
 * @throws ConfigurationError as `personRequests`
 */
function requestEvents(
  context: InvocationContext,
  calls: readonly FunctionCall[],
  actions: EventActions,
  before: readonly FunctionCall[] = [],
): Event[] {
  const isNew = ({ functionCall: call = {} }: Part): boolean =>
    !before.some(
      (earlier) =>
        call.name === earlier.name &&
        askedCallId(call) === askedCallId(earlier) &&
        inputRequestOf(call)?.key === inputRequestOf(earlier)?.key,
    );
  return personRequests(context, calls, actions).flatMap((requests) => {
    const parts = requests.filter(isNew);
    const longRunningToolIds = parts.flatMap(({ functionCall }) => functionCall?.id ?? []);
    return parts.length > 0 ? context.createEvent({ content: { role: 'model', parts }, longRunningToolIds }) : [];
  });
}
