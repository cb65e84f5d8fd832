import {
  type BaseTool,
  createEventActions,
  type Event,
  type EventActions,
  type FunctionCall,
  type FunctionResponse,
  type InvocationContext,
  isEmptyActions,
  isTransfer,
  mergeEventActions,
  type Part,
  RUN_CONFIG_DEFAULTS,
  TRANSFER_TAG,
} from '@eventloom/core';
import { asksPerson } from './asks-person.ts';
import type { CallOrigin } from './call-origin.ts';
import type { AgentTurn } from '../agent-turn.ts';
import type { EmittedEvents } from './emitted-events.ts';
import { requestEvents } from './request-events.ts';
import type { ResumedCalls } from './resumed-calls.ts';
import { type FunctionCallOutcome, runFunctionCall } from './run-function-call.ts';

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
export async function runFunctionCalls(
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
