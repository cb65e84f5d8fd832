import {
  createEventActions,
  type Event,
  type FunctionCall,
  isEmptyActions,
  type LlmRequest,
  mergeEventActions,
  type Part,
  RUN_CONFIG_DEFAULTS,
} from '@eventloom/core';
import type { Step } from '../processors/request-processor.ts';
import { type FunctionCallOutcome, runFunctionCall } from './run-function-call.ts';

/** What came of all the calls of one reply. */
export interface FunctionCallsOutcome {
  /** The responses in call order and the actions merged in that order; undefined when there is neither. */
  readonly event: Event | undefined;
  /** True when a call has no response yet. */
  readonly isWaiting: boolean;
}

/** Runs the calls of one reply at the same time, at most `maxParallelToolCalls` of them. */
export async function runFunctionCalls(
  step: Step,
  calls: readonly FunctionCall[],
  request: LlmRequest,
): Promise<FunctionCallsOutcome> {
  const { context } = step;
  const limit = context.runConfig.maxParallelToolCalls ?? RUN_CONFIG_DEFAULTS.maxParallelToolCalls;
  const run = (call: FunctionCall): Promise<FunctionCallOutcome> => runFunctionCall(step, call, request.toolsDict);
  const [only] = calls;
  const outcomes = calls.length === 1 && only ? [await run(only)] : await runAll(calls, run, limit);

  const parts: Part[] = [];
  for (const [index, { response }] of outcomes.entries()) {
    const call = calls[index];
    if (response && call) parts.push({ functionResponse: { id: call.id ?? '', name: call.name ?? '', response } });
  }
  const changed = outcomes.filter((outcome) => !isEmptyActions(outcome.actions)).map((outcome) => outcome.actions);
  const actions = changed.length > 0 ? mergeEventActions(changed) : createEventActions();
  const isWaiting = parts.length < calls.length;
  if (parts.length === 0 && changed.length === 0) return { event: undefined, isWaiting };
  const event = context.createEvent({ ...(parts.length > 0 ? { content: { role: 'user', parts } } : {}), actions });
  return { event, isWaiting };
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
