import {
  type BaseTool,
  createEventActions,
  type Event,
  type EventActions,
  type FunctionCall,
  type FunctionResponse,
  type InvocationContext,
  isTransfer,
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
  readonly #emitted = new EmittedEvents();
  readonly #running: Promise<FunctionCallsOutcome>;

  constructor(batch: CallBatch) {
    this.#batch = batch;
    this.#running = this.#run();
  }

  async #run(): Promise<FunctionCallsOutcome> {
    const { turn, calls } = this.#batch;
    const limit = turn.context.runConfig.maxParallelToolCalls ?? RUN_CONFIG_DEFAULTS.maxParallelToolCalls;
    const [only] = calls;
    try {
      if (only && calls.length === 1) return this.#joined([await this.#start(only)]);
      const isLimited = calls.length > limit;
      const running = isLimited ? this.#runSome(limit) : Promise.all(calls.map((call) => this.#start(call)));
      return this.#joined(oneTransfer(await running));
    } finally {
      this.#emitted.end();
    }
  }

  #start(call: FunctionCall): Promise<FunctionCallOutcome> {
    return new ToolCall(this.#batch, call, this.#emitted).run();
  }

  /** The outcomes in the order of the calls. The first failure stops what has not begun. */
  async #runSome(limit: number): Promise<FunctionCallOutcome[]> {
    const { calls } = this.#batch;
    const outcomes: FunctionCallOutcome[] = [];
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < calls.length) {
        const index = next++;
        outcomes[index] = await this.#start(calls[index] as FunctionCall);
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

  #joined(outcomes: readonly FunctionCallOutcome[]): FunctionCallsOutcome {
    const { turn, calls, asked } = this.#batch;
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
    for (const request of requests) this.#emitted.add(request);
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
   * The outcome of calls that have no events, as most do: it costs less than to read none. Undefined as soon as there is an event, for
   * which the caller then reads `events`.
   */
  outcome(): Promise<FunctionCallsOutcome | undefined> {
    return new Promise((resolve, reject) => {
      this.#emitted.whenAny(() => resolve(undefined));
      this.#running.then(resolve, reject);
    });
  }

  /**
   * Yields the events of the tools, then their requests to a person, and returns the outcome of the calls. A reader
   * that leaves stops the streaming tools; the others are waited for, unless the run was aborted.
   */
  async *events(): AsyncGenerator<Event, FunctionCallsOutcome, void> {
    const emitted = this.#emitted;
    emitted.endWith(this.#running);
    let isOver = false;
    try {
      for (let event = await emitted.next(); event; event = await emitted.next()) yield event;
      isOver = true;
    } finally {
      emitted.close();
      if (!isOver) await this.#batch.turn.context.untilAborted(this.#running).catch(() => undefined);
    }
    return this.#running;
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
