import {
  type BaseTool,
  type Event,
  type FunctionCall,
  createEventActions,
  type EventActions,
  type FunctionResponse,
  type InvocationContext,
  isEmptyActions,
  isTransfer,
  mergeEventActions,
  type Part,
  RUN_CONFIG_DEFAULTS,
  TRANSFER_TAG,
  ConfigurationError,
} from '@eventloom/core';
import type { AgentTurn } from './agent-turn.ts';
import type { ResumedCalls } from './resume.ts';
import { type CallOrigin, asksPerson, requestEvents, type FunctionCallOutcome, runFunctionCall } from './tool-call.ts';

/** Begins to run calls. */
export function startCalls(
  turn: AgentTurn,
  calls: readonly FunctionCall[],
  tools: Readonly<Record<string, BaseTool>>,
  origin: CallOrigin,
  resumed?: ResumedCalls,
): RunningCalls {
  const emitted = new EmittedEvents();
  return new RunningCalls(turn, emitted, runFunctionCalls(turn, calls, tools, emitted, origin, resumed));
}

/** Calls under way. */
export class RunningCalls {
  readonly #turn: AgentTurn;
  readonly #emitted: EmittedEvents;
  readonly #running: Promise<FunctionCallsOutcome>;

  constructor(turn: AgentTurn, emitted: EmittedEvents, running: Promise<FunctionCallsOutcome>) {
    this.#turn = turn;
    this.#emitted = emitted;
    this.#running = running;
  }

  /**
   * The outcome of calls that have no events, as most do: it costs less than to read none. Undefined as soon as there is an event, for
   * which the caller then reads `events`.
   */
  outcome(): Promise<FunctionCallsOutcome | undefined> {
    const emitted = this.#emitted;
    return new Promise((resolve, reject) => {
      let hasEvents = false;
      emitted.whenAny(() => {
        hasEvents = true;
        resolve(undefined);
      });
      const end = (): void => {
        if (!hasEvents) emitted.close();
      };
      this.#running.then(
        (outcome) => {
          end();
          resolve(outcome.requests.length > 0 ? undefined : outcome);
        },
        (error: unknown) => {
          end();
          reject(error);
        },
      );
    });
  }

  /**
   * Yields what the tools emit, then what they ask a person, and returns what came of the calls. Whoever stops reading stops the
   * streaming tools; the others are waited for, unless the run was aborted.
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
      if (!isOver) await this.#turn.context.untilAborted(this.#running).catch(() => undefined);
    }
    const outcome = await this.#running;
    yield* outcome.requests;
    return outcome;
  }
}

/** What came of all the calls of one reply. */
export interface FunctionCallsOutcome {
  /** The responses in call order and the actions merged in that order; undefined when there is neither. */
  readonly event: Event | undefined;
  /** What a person is asked before a call goes on: to be yielded before the responses. */
  readonly requests: readonly Event[];
  /** True when a call has no response yet, or not the one it is to have in the end. */
  readonly isWaiting: boolean;
}

/** Runs the calls of one reply at the same time, at most `maxParallelToolCalls` of them. */
async function runFunctionCalls(
  turn: AgentTurn,
  calls: readonly FunctionCall[],
  tools: Readonly<Record<string, BaseTool>>,
  emitted: EmittedEvents,
  origin: CallOrigin,
  resumed?: ResumedCalls,
): Promise<FunctionCallsOutcome> {
  const { context } = turn;
  const limit = context.runConfig.maxParallelToolCalls ?? RUN_CONFIG_DEFAULTS.maxParallelToolCalls;
  const run = (call: FunctionCall): Promise<FunctionCallOutcome> =>
    runFunctionCall(turn, call, tools, emitted, origin, resumed?.get(call.id ?? ''));
  const [only] = calls;
  const outcomes = calls.length === 1 && only ? [await run(only)] : oneTransfer(await runAll(calls, run, limit));
  return joinOutcomes(context, calls, outcomes, origin);
}

function joinOutcomes(
  context: InvocationContext,
  calls: readonly FunctionCall[],
  outcomes: readonly FunctionCallOutcome[],
  origin: CallOrigin,
): FunctionCallsOutcome {
  const parts: Part[] = [];
  const changed: EventActions[] = [];
  for (let index = 0; index < outcomes.length; index++) {
    const outcome = outcomes[index];
    const call = calls[index];
    if (!outcome || !call) continue;
    const { response, parts: media, scheduling, actions } = outcome;
    if (!isEmptyActions(actions)) changed.push(actions);
    if (!response) continue;
    const functionResponse: FunctionResponse = { id: call.id ?? '', name: call.name ?? '', response };
    if (media) functionResponse.parts = [...media];
    if (scheduling) functionResponse.scheduling = scheduling;
    parts.push({ functionResponse });
  }
  const actions = changed.length > 0 ? mergeEventActions(changed) : createEventActions();
  const requests = asksPerson(actions) ? requestEvents(context, calls, actions, origin.asked) : [];
  const isWaiting = parts.length < calls.length || requests.length > 0 || (origin.asked?.length ?? 0) > 0;
  if (parts.length === 0 && changed.length === 0) return { event: undefined, requests, isWaiting };
  const params = parts.length > 0 ? { content: { role: 'user', parts }, actions } : { actions };
  const event = context.createEvent(calls.some(isTransfer) ? { ...params, tags: [TRANSFER_TAG] } : params);
  return { event, requests, isWaiting };
}

/** Control goes to one agent: of several hand-overs the first one happens, and the others are answered with an error. */
function oneTransfer(outcomes: readonly FunctionCallOutcome[]): readonly FunctionCallOutcome[] {
  const first = outcomes.find(({ actions }) => actions.transferToAgent !== undefined);
  return outcomes.map((outcome) => {
    const { transferToAgent: name, ...actions } = outcome.actions;
    if (name === undefined || outcome === first || !first) return outcome;
    const error = `cannot hand over to ${JSON.stringify(name)}: an earlier call hands over to ${JSON.stringify(first.actions.transferToAgent)}`;
    return { response: { error }, actions };
  });
}

/** Results in the order of the inputs, at most `limit` at work. The first failure stops what has not begun. */
async function runAll<T, R>(inputs: readonly T[], run: (input: T) => Promise<R>, limit: number): Promise<R[]> {
  if (inputs.length <= limit) return Promise.all(inputs.map(run));
  const results: R[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < inputs.length) {
      const index = next++;
      results[index] = await run(inputs[index] as T);
    }
  };
  const failing = Array.from({ length: limit }, () =>
    work().catch((error: unknown) => {
      next = inputs.length;
      throw error;
    }),
  );
  await Promise.all(failing);
  return results;
}

/** Events that may wait to be passed on. A tool that waits for each of its own has one at most. */
const MAX_WAITING = 1000;

/** An event that a tool emitted, and what tells the tool whether it was passed on. */
interface Emitted {
  readonly event: Event;
  readonly settle: (isTaken: boolean) => void;
}

/** The events that tools emit while they run, in the order in which they come. */
export class EmittedEvents {
  #queue: Emitted[] = [];
  #passing: Emitted | undefined;
  #wake: (() => void) | undefined;
  #isOver = false;
  #isClosed = false;

  /** True once nobody listens any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** @param work what the tools run in; there are no more events when it is settled and the queue is empty */
  endWith(work: Promise<unknown>): void {
    const end = (): void => {
      this.#isOver = true;
      this.#wake?.();
    };
    work.then(end, end);
  }

  /**
   * Hands in an event. Resolves to true when it was passed on, to false when nobody listens any more.
   * @throws ConfigurationError at the call, when too many wait
   */
  readonly emit = (event: Event): Promise<boolean> => {
    if (this.#isClosed) return Promise.resolve(false);
    if (this.#queue.length >= MAX_WAITING) {
      throw new ConfigurationError(`emit: ${MAX_WAITING} events wait to be taken; await what emit returns`);
    }
    return new Promise((settle) => {
      this.#queue.push({ event, settle });
      this.#wake?.();
    });
  };

  /** The next event; undefined when the work is settled. To ask for one says that the one before was passed on. */
  async next(): Promise<Event | undefined> {
    this.#passing?.settle(true);
    this.#passing = undefined;
    await this.#hasNext();
    this.#passing = this.#queue.shift();
    return this.#passing?.event;
  }

  /** Calls back once an event waits: at once if one does. Until `next` is called. */
  whenAny(tell: () => void): void {
    if (this.#queue.length > 0) tell();
    else this.#wake = tell;
  }

  /** Whether there is a next event, as soon as that is known. */
  #hasNext(): Promise<boolean> {
    return new Promise((resolve) => {
      const tell = (): void => resolve(this.#queue.length > 0);
      if (this.#queue.length > 0 || this.#isOver) tell();
      else this.#wake = tell;
    });
  }

  /** Nobody listens any more: whoever waits for an event to be passed on is told so. */
  close(): void {
    this.#isClosed = true;
    this.#passing?.settle(false);
    for (const { settle } of this.#queue) settle(false);
    this.#queue = [];
  }
}
