import { createEventActions, INTERRUPTED_CALL, type InvocationContext, type ToolLedgerEntry } from '@eventloom/core';
import { ledgerCallId } from './call-origin.ts';
import type { ResumedCall } from './resumed-calls.ts';
import type { FunctionCallOutcome } from './run-function-call.ts';

/**
 * What came of a call that was run already on an earlier answer of the same kind, in an invocation that was cut off before it told
 * of it: what the ledger has, which is nothing for a long-running tool, or that it was interrupted. Undefined when it was not run:
 * only then may it be run.
 */
export async function findEarlierRun(
  { invocation }: InvocationContext,
  { call, earlier }: ResumedCall,
): Promise<FunctionCallOutcome | undefined> {
  const ledgers = new Map<string, readonly ToolLedgerEntry[]>();
  for (const { invocationId, eventId } of earlier) {
    const entries = ledgers.get(invocationId) ?? (await invocation.listToolCalls?.(invocationId)) ?? [];
    ledgers.set(invocationId, entries);
    const entry = entries.find(({ callId }) => callId === ledgerCallId(eventId, call));
    if (entry)
      return entry.status === 'finished' ? outcomeOf(entry) : { ...outcomeOf(entry), response: INTERRUPTED_CALL };
  }
  return undefined;
}

/** What came of a call that is finished. */
export function outcomeOf({ response, actions }: ToolLedgerEntry): FunctionCallOutcome {
  return { response, actions: createEventActions(actions && structuredClone(actions)) };
}
