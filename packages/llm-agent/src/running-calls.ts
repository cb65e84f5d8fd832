import {
  type BaseTool,
  createEventActions,
  type Event,
  type EventActions,
  type FunctionCall,
  type FunctionResponse,
  type InvocationContext,
  type MaybePromise,
  type Part,
  type ToolLedgerEntry,
} from '@eventloom/core';
import {
  aboutCallId,
  EventQueue,
  inputRequestOf,
  isEmptyActions,
  isTransfer,
  mergeEventActions,
  personRequests,
  RUN_CONFIG_DEFAULTS,
  TRANSFER_TAG,
} from '@eventloom/core/internal';
import type { AgentTurn } from './agent-turn.ts';
import type { AnsweredCalls } from './answered-calls.ts';
import { asksOnlyConfirmations, asksPerson } from './tool-response.ts';
import { type CallOutcome, ToolCall } from './tool-call.ts';

/** Calls to run together: those of one reply, or those that answers of people resume. */
export interface CallBatch {
  readonly turn: AgentTurn;
  readonly calls: readonly FunctionCall[];
  readonly tools: Readonly<Record<string, BaseTool>>;
  /**
   * The id of the event with the calls: see `ledgerEntryId`. Not used for `answered` calls, which have the id of the
   * event of their answer in its place; empty if all are.
   */
  readonly eventId: string;
  /** Ledger entries of the invocation by `ledgerEntryId`; absent if no call ran before. */
  readonly entries?: ReadonlyMap<string, ToolLedgerEntry>;
  /** Requests to people that were already made about the calls. */
  readonly requests?: readonly FunctionCall[];
  /** The answers of people that let these calls run; undefined for calls that run for the first time. */
  readonly answered?: AnsweredCalls | undefined;
  /** Called when a tool begins to listen to the client of a live run. */
  readonly onBegan?: () => Promise<void>;
}

/**
 * The end of a step: what the agent does once the calls of a reply have run. A run that is to wait waits only if it is resumable, and
 * ends otherwise: see `InvocationContext.pause`.
 *
 * | end          | the calls                                                                  | the agent                             |
 * | ------------ | -------------------------------------------------------------------------- | ------------------------------------- |
 * | `callsModel` | have their results                                                         | calls its model with them             |
 * | `asks`       | have responses; tools that asked a person by themselves have only a notice | calls its model, and the run waits    |
 * | `waits`      | lack a result that comes later, or the answer of a person                  | returns, and the run waits            |
 * | `ends`       | have their results; a tool ended the turn, for example with a transfer     | returns, and its turn is over         |
 */
export type StepEnd = 'callsModel' | 'asks' | 'waits' | 'ends';

/** The outcome of all calls of one reply. */
interface ReplyOutcome {
  /** The event with the responses in call order and their actions, merged in that order; undefined if there is neither. */
  readonly event: Event | undefined;
  readonly end: StepEnd;
}

/** Runs the calls of one reply concurrently, at most `maxParallelToolCalls` at a time. The constructor starts them. */
export class RunningCalls {
  readonly #batch: CallBatch;
  readonly #outcome: MaybePromise<ReplyOutcome>;
  /** The events that tools emitted; undefined until the first, because most tools emit none. */
  #emitted: EventQueue | undefined;
  /** Ends the wait in `outcome` when there is an event to read. */
  #interrupt: ((outcome: undefined) => void) | undefined;
  /** True once all calls are done. */
  #isEnded = false;

  constructor(batch: CallBatch) {
    this.#batch = batch;
    this.#outcome = this.#run();
    this.#isEnded = !(this.#outcome instanceof Promise);
  }

  /** Starts the calls. Returns synchronously if all calls do. */
  #run(): MaybePromise<ReplyOutcome> {
    const { turn, calls } = this.#batch;
    const limit = turn.context.runConfig.maxParallelToolCalls ?? RUN_CONFIG_DEFAULTS.maxParallelToolCalls;
    if (calls.length > limit) return this.#outcomeLater(this.#runSome(limit));
    const only = calls.length === 1 ? calls[0] : undefined;
    if (only) {
      const outcome = new ToolCall(this.#batch, only, this).run();
      return outcome instanceof Promise ? this.#outcomeLater(outcome) : this.#toReplyOutcome([outcome]);
    }
    const outcomes = calls.map((call) => new ToolCall(this.#batch, call, this).run());
    if (outcomes.every(isReady)) return this.#toReplyOutcome(outcomes);
    return this.#outcomeLater(Promise.all(outcomes.map((outcome) => Promise.resolve(outcome))));
  }

  async #outcomeLater(pending: Promise<CallOutcome | readonly CallOutcome[]>): Promise<ReplyOutcome> {
    try {
      const settled = await pending;
      return this.#toReplyOutcome('length' in settled ? settled : [settled]);
    } finally {
      this.#isEnded = true;
    }
  }

  /** Runs at most `limit` calls at a time. Returns the outcomes in call order. After a failure no further call is started. */
  async #runSome(limit: number): Promise<CallOutcome[]> {
    const { calls } = this.#batch;
    const outcomes: CallOutcome[] = [];
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

  #toReplyOutcome(given: readonly CallOutcome[]): ReplyOutcome {
    const { turn, calls, requests: earlierRequests } = this.#batch;
    const outcomes = given.length > 1 ? oneTransfer(given) : given;
    const { context } = turn;
    let parts: Part[] | undefined;
    let changed: EventActions[] | undefined;
    for (let index = 0; index < outcomes.length; index++) {
      const { response, parts: media, scheduling, actions } = outcomes[index] ?? {};
      if (actions) (changed ??= []).push(actions);
      if (!response) continue;
      const { id = '', name = '' } = calls[index] ?? {};
      const functionResponse: FunctionResponse = id === '' ? { name, response } : { id, name, response };
      if (media) functionResponse.parts = [...media];
      if (scheduling) functionResponse.scheduling = scheduling;
      // Nearly always the only one: a list that grows from nothing has room for 17.
      if (parts) parts.push({ functionResponse });
      else parts = [{ functionResponse }];
    }
    const actions = changed && mergeEventActions(changed);
    const requests =
      actions && asksPerson(actions) ? requestEvents(context, calls, actions, earlierRequests) : NO_EVENTS;
    // They are stored before the response that says that the call waits, because `Calls` counts the responses behind a request.
    if (requests.length > 0) for (const request of requests) (this.#emitted ??= new EventQueue()).add(request);
    const isComplete = (parts?.length ?? 0) === calls.length;
    const isPaused = !isComplete || requests.length > 0;
    // The model replies after a tool that requested a confirmation itself and returned a notice about it.
    const modelContinues = !isPaused || (isComplete && actions !== undefined && asksOnlyConfirmations(actions));
    const callsModel = modelContinues && !(actions && leavesAgent(actions));
    const end = isPaused ? (callsModel ? 'asks' : 'waits') : callsModel ? 'callsModel' : 'ends';
    // A call that waits ends the turn anyway, so no event is needed for `skipSummarization` alone.
    const saysNothing = !parts && (!actions || isEmptyActions({ ...actions, skipSummarization: false }));
    if (saysNothing) return { event: undefined, end };
    const event: { -readonly [K in keyof Event]: Event[K] } = context.createEvent(
      parts && { content: { role: 'user', parts } },
      actions,
    );
    if (calls.some(isTransfer)) event.tags = [TRANSFER_TAG];
    return { event, end };
  }

  /**
   * Queues an event of a tool. Resolves to true when the reader has processed it, and to false if the reader has left
   * or all calls are done.
   * @throws ConfigurationError synchronously, if too many events are queued
   */
  emit(event: Event): Promise<boolean> {
    if (this.#isEnded) return Promise.resolve(false);
    const taken = (this.#emitted ??= new EventQueue()).emit(event);
    this.#interrupt?.(undefined);
    return taken;
  }

  /** True once the reader of the tools' events has left. */
  get isClosed(): boolean {
    return this.#emitted?.isClosed === true;
  }

  /**
   * Returns the outcome if the tools emit no events; undefined as soon as there is an event, and the caller then reads
   * `events`. This is cheaper than reading an empty `events`.
   */
  outcome(): MaybePromise<ReplyOutcome | undefined> {
    const outcome = this.#outcome;
    if (this.#emitted) return undefined;
    if (!(outcome instanceof Promise)) return outcome;
    return new Promise((resolve, reject) => {
      this.#interrupt = resolve;
      outcome.then((settled) => resolve(this.#emitted ? undefined : settled), reject);
    });
  }

  /**
   * Yields the events of the tools, then their requests to a person, and returns the outcome of the calls. If the
   * reader leaves early, streaming tools are stopped and other tools are awaited, unless the run was aborted.
   */
  async *events(): AsyncGenerator<Event, ReplyOutcome, void> {
    const emitted = (this.#emitted ??= new EventQueue());
    const outcome = Promise.resolve(this.#outcome);
    emitted.endWith(outcome);
    let isRead = false;
    try {
      for (let event = await emitted.next(); event; event = await emitted.next()) yield event;
      isRead = true;
    } finally {
      emitted.close();
      if (!isRead) await this.#batch.turn.context.untilAborted(outcome).catch(() => undefined);
    }
    return outcome;
  }
}

function isReady(outcome: MaybePromise<CallOutcome>): outcome is CallOutcome {
  return !(outcome instanceof Promise);
}

const NO_EVENTS: readonly Event[] = [];

/** Keeps the first of several transfers, and responds to the others with an error, because only one agent can take over. */
function oneTransfer(outcomes: readonly CallOutcome[]): readonly CallOutcome[] {
  const first = outcomes.find(({ actions }) => actions?.transferToAgent !== undefined);
  if (!first) return outcomes;
  return outcomes.map((outcome) => {
    const { transferToAgent: name, ...actions } = outcome.actions ?? {};
    if (name === undefined || outcome === first) return outcome;
    const error = `cannot transfer to ${JSON.stringify(name)}: an earlier call transfers to ${JSON.stringify(first.actions?.transferToAgent)}`;
    return { response: { error }, actions: createEventActions(actions) };
  });
}

/**
 * Creates the events that ask the client for credentials, confirmations and input, credentials first. They hold
 * function calls of the runtime, which the client answers with function responses. Requests that were made before are
 * left out.
 * @throws ConfigurationError as `personRequests` does
 */
function requestEvents(
  context: InvocationContext,
  calls: readonly FunctionCall[],
  actions: EventActions,
  earlierRequests: readonly FunctionCall[] = [],
): Event[] {
  const isNew = ({ functionCall: call = {} }: Part): boolean =>
    !earlierRequests.some(
      (earlier) =>
        call.name === earlier.name &&
        aboutCallId(call) === aboutCallId(earlier) &&
        inputRequestOf(call)?.key === inputRequestOf(earlier)?.key,
    );
  return personRequests(context, calls, actions).flatMap((requests) => {
    const parts = requests.filter(isNew);
    const longRunningToolIds = parts.flatMap(({ functionCall }) => functionCall?.id ?? []);
    return parts.length > 0 ? context.createEvent({ content: { role: 'model', parts }, longRunningToolIds }) : [];
  });
}

/** True if the tools ended the agent's turn, with `skipSummarization` or a transfer to another agent. */
export function leavesAgent({ skipSummarization, transferToAgent }: EventActions): boolean {
  return skipSummarization === true || transferToAgent !== undefined;
}
