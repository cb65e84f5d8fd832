import type { InvocationContext } from '@eventloom/core';
import type { FunctionCallOutcome } from './run-function-call.ts';
import type { ResumedCall } from './resumed-calls.ts';

/**
 * What came of a call that was run already on an earlier answer of the same kind, in an invocation that was cut off before it told
 * of it: what the ledger has, which is nothing for a long-running tool, or that it was interrupted. Undefined when it was not run:
 * only then may it be run.
 */
export async function findEarlierRun(
  { invocation }: InvocationContext,
  { call, earlierInvocations }: ResumedCall,
): Promise<Pick<FunctionCallOutcome, 'response'> | undefined> {
  for (const invocationId of new Set(earlierInvocations)) {
    const entries = await invocation.listToolCalls?.(invocationId);
    const entry = entries?.find(({ callId }) => callId === call.id);
    if (!entry) continue;
    if (entry.status === 'finished') return { response: entry.response };
    const message = 'The call was cut off while it ran. It may have had its effect or not.';
    return { response: { error: 'interrupted', message } };
  }
  return undefined;
}
