import type { BaseTool, Event, FunctionCall } from '@eventloom/core';
import type { Step } from '../processors/request-processor.ts';
import type { CallOrigin } from './call-origin.ts';
import { EmittedEvents } from './emitted-events.ts';
import type { ResumedCalls } from './resumed-calls.ts';
import { type FunctionCallsOutcome, runFunctionCalls } from './run-function-calls.ts';

/**
 * Runs calls: yields what the tools emit meanwhile, then what they ask a person, and returns what came of them. Whoever stops
 * reading stops the streaming tools; the others are waited for, unless the run was aborted.
 */
export async function* runCalls(
  step: Step,
  calls: readonly FunctionCall[],
  tools: Readonly<Record<string, BaseTool>>,
  origin: CallOrigin,
  resumed?: ResumedCalls,
): AsyncGenerator<Event, FunctionCallsOutcome, void> {
  const emitted = new EmittedEvents();
  const running = runFunctionCalls(step, calls, tools, emitted, origin, resumed);
  emitted.endWith(running);
  let isOver = false;
  try {
    for (let event = await emitted.next(); event; event = await emitted.next()) yield event;
    isOver = true;
  } finally {
    emitted.close();
    if (!isOver) await step.context.untilAborted(running).catch(() => undefined);
  }
  const outcome = await running;
  for (const request of outcome.requests) yield request;
  return outcome;
}
