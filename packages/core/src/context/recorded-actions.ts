import { setOwn } from '../content/json.ts';
import { type EventActions, isEmptyActions } from '../event/event-actions.ts';
import type { InvocationContext } from './invocation-context.ts';

/** What of a call's actions goes into the ledger: what is temporary or secret does not; undefined for nothing. For those who run tools. */
export function recordedActions(
  context: InvocationContext,
  actions: Partial<EventActions>,
): Partial<EventActions> | undefined {
  if (isEmptyActions(actions)) return undefined;
  const { requestedAuthConfigs: auths, stateDelta = {}, removedState } = actions;
  const service = context.invocation.credentialService;
  if (auths && service) for (const id of Object.keys(auths)) setOwn(auths, id, service.describe(auths[id]));
  const isKept = (key: string): boolean => !key.startsWith('temp:');
  const kept = Object.entries(stateDelta).filter(([key]) => isKept(key));
  const recorded: Partial<EventActions> = { ...actions, stateDelta: Object.fromEntries(kept) };
  if (removedState) recorded.removedState = removedState.filter(isKept);
  if (!service) delete recorded.requestedAuthConfigs;
  return isEmptyActions(recorded) ? undefined : recorded;
}
