import type { BaseTool, Event, FunctionCall } from '@eventloom/core';
import type { AgentTurn } from '../agent-turn.ts';
import type { CallOrigin } from './call-origin.ts';
import { EmittedEvents } from './emitted-events.ts';
import type { ResumedCalls } from './resumed-calls.ts';
import { type FunctionCallsOutcome, runFunctionCalls } from './run-function-calls.ts';

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
