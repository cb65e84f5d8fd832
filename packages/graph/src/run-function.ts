import type { JsonValue } from '@eventloom/core';
import { type AbortGuard, inputRequestPart, isEmptyActions } from '@eventloom/core/internal';
import { Attempt } from './attempt.ts';
import { NodeTimeoutError } from './errors.ts';
import type { NodeFunction } from './graph-node.ts';
import { NodeContext } from './node-context.ts';
import type { NodeOutcome } from './node-outcome.ts';
import type { NodeRun } from './node-run.ts';
import { toOutput } from './json-values.ts';

const WAITING: NodeOutcome = { isWaiting: true };

/** Runs one attempt of a function node. Waits for the inner nodes that it runs, even if the function fails. */
export async function runFunction(
  run: NodeRun,
  work: NodeFunction,
  input: JsonValue | undefined,
  number: number,
  guard: AbortGuard,
): Promise<NodeOutcome> {
  // The function would only repeat its unanswered questions.
  if (run.questions.some(({ answer }) => answer === undefined)) return WAITING;
  const attempt = new Attempt(run, number, guard);
  const context = new NodeContext(attempt);
  // A person may take longer than a time limit: such an attempt waits, and its other work runs again after the answer.
  const isTimedOutButWaits = (): boolean => attempt.isWaiting && NodeTimeoutError.isInstance(guard.signal.reason);
  let output: unknown;
  try {
    // The input was parsed by the schema, or is the output of the previous node.
    output = await guard.until(call(work, input as never, context));
  } catch (error) {
    await attempt.end();
    if (!(attempt.isWaiting || attempt.fault) || (guard.signal.aborted && !isTimedOutButWaits())) throw error;
  }
  await attempt.end();
  if (!isTimedOutButWaits()) guard.check();
  if (attempt.fault) throw attempt.fault;
  if (attempt.isWaiting) {
    const newId = (): string => `adk-${run.context.platform.newUuid()}`;
    return { isWaiting: true, questions: attempt.newQuestions.map((request) => inputRequestPart(request, newId())) };
  }
  const { actions } = context.callbackContext;
  return {
    isWaiting: false,
    output: toOutput(run.node.name, output),
    updates: attempt.updates,
    route: context.route,
    actions: isEmptyActions(actions) ? undefined : actions,
  };
}

async function call(work: NodeFunction, input: never, context: NodeContext): Promise<unknown> {
  return work(input, context);
}
