import { type EventActions, type InvocationContext, isEmptyActions, setOwn } from '@eventloom/core';

/** What of a call's actions goes into the ledger: what is temporary or secret does not; undefined for nothing. */
export function recordedActions(context: InvocationContext, actions: EventActions): EventActions | undefined {
  if (isEmptyActions(actions)) return undefined;
  const { requestedAuthConfigs: auths, stateDelta } = actions;
  const service = context.invocation.credentialService;
  if (auths && service) for (const id of Object.keys(auths)) setOwn(auths, id, service.describe(auths[id]));
  const kept = Object.entries(stateDelta).filter(([key]) => !key.startsWith('temp:'));
  const recorded = { ...actions, stateDelta: Object.fromEntries(kept) };
  if (auths && !service) delete recorded.requestedAuthConfigs;
  return isEmptyActions(recorded) ? undefined : recorded;
}
