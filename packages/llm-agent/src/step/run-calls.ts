import type { BaseTool, Event, FunctionCall } from '@eventloom/core';
import type { Step } from '../processors/request-processor.ts';
import type { CallOrigin } from './call-origin.ts';
import { EmittedEvents } from './emitted-events.ts';
import type { ResumedCalls } from './resumed-calls.ts';
import { type FunctionCallsOutcome, runFunctionCalls } from './run-function-calls.ts';

/** Calls under way. */
export interface RunningCalls {
  /** What came of calls that have no events, as most do: it costs less than to read none. Undefined for others, once they have one. */
  readonly outcome: () => Promise<FunctionCallsOutcome | undefined>;
  /**
   * Yields what the tools emit, then what they ask a person, and returns what came of the calls. Whoever stops reading stops the
   * streaming tools; the others are waited for, unless the run was aborted.
   */
  readonly events: () => AsyncGenerator<Event, FunctionCallsOutcome, void>;
}

/** Begins to run calls. */
export function startCalls(
  step: Step,
  calls: readonly FunctionCall[],
  tools: Readonly<Record<string, BaseTool>>,
  origin: CallOrigin,
  resumed?: ResumedCalls,
): RunningCalls {
  const emitted = new EmittedEvents();
  const running = runFunctionCalls(step, calls, tools, emitted, origin, resumed);
  emitted.endWith(running);
  return {
    async outcome() {
      if (await emitted.hasNext()) return undefined;
      emitted.close();
      const outcome = await running;
      return outcome.requests.length > 0 ? undefined : outcome;
    },
    async *events() {
      let isOver = false;
      try {
        for (let event = await emitted.next(); event; event = await emitted.next()) yield event;
        isOver = true;
      } finally {
        emitted.close();
        if (!isOver) await step.context.untilAborted(running).catch(() => undefined);
      }
      const outcome = await running;
      yield* outcome.requests;
      return outcome;
    },
  };
}
