import { type AbortGuard, copyJson, inputRequestPart, isEmptyActions, type JsonValue } from '@eventloom/core';
import { NodeError } from './errors/node-error.ts';
import type { NodeFunction } from './graph-node.ts';
import { NodeContext } from './node-context.ts';
import type { NodeOutcome } from './node-outcome.ts';
import type { NodeRun } from './node-run.ts';

const WAITING: NodeOutcome = { isWaiting: true };

/** One attempt of a node that is a function. Waits for the nodes that it runs, whatever becomes of it. */
export async function runFunction(
  run: NodeRun,
  work: NodeFunction,
  input: JsonValue | undefined,
  attempt: number,
  guard: AbortGuard,
): Promise<NodeOutcome> {
  // Asked, and nobody answered: it would only ask again.
  if (run.questions.some(({ answer }) => answer === undefined)) return WAITING;
  const context = new NodeContext(run, attempt, guard.signal);
  let output: unknown;
  try {
    // What the schema let through, or what the node before gave.
    output = await guard.until(call(work, input as never, context));
  } catch (error) {
    await settled(context);
    if (!context.isWaiting || guard.signal.aborted) throw error;
  }
  await settled(context);
  if (context.isWaiting) {
    const newId = (): string => `adk-${run.context.platform.newUuid()}`;
    return { isWaiting: true, questions: context.asked.map((request) => inputRequestPart(request, newId())) };
  }
  const { actions } = context.callbackContext;
  return {
    isWaiting: false,
    output: toOutput(run.node.name, output),
    updates: context.updates,
    route: context.route,
    actions: isEmptyActions(actions) ? undefined : actions,
  };
}

async function call(work: NodeFunction, input: never, context: NodeContext): Promise<unknown> {
  return work(input, context);
}

async function settled({ inner }: NodeContext): Promise<void> {
  if (inner.length > 0) await Promise.all(inner);
}

/** @throws NodeError for what is not JSON */
export function toOutput(nodeName: string, output: unknown): JsonValue | undefined {
  if (output === undefined) return undefined;
  const copied = copyJson(output, { toJson: true });
  if ('value' in copied) return copied.value;
  const { path, reason } = copied.fault;
  throw new NodeError(nodeName, `its output${path === '' ? '' : ` at ${path}`} ${reason}; outputs are JSON`);
}
