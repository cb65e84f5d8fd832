import type { AuthConfig } from '../credential/auth-config.ts';
import { type EventActions, isEmptyActions } from '../event/event-actions.ts';
import type { InvocationContext } from './invocation-context.ts';

/**
 * Returns a copy of a call's actions for the ledger, without `temp:` state and secrets; undefined if nothing is left. For code that
 * runs tools.
 */
export function ledgerActions(
  context: InvocationContext,
  actions: Partial<EventActions>,
): Partial<EventActions> | undefined {
  if (isEmptyActions(actions)) return undefined;
  const { stateDelta = {}, removedState } = actions;
  const isKept = (key: string): boolean => !key.startsWith('temp:');
  const kept = Object.entries(stateDelta).filter(([key]) => isKept(key));
  const recorded: Partial<EventActions> = { ...actions, stateDelta: Object.fromEntries(kept) };
  if (removedState) recorded.removedState = removedState.filter(isKept);
  const auths = publicAuthConfigs(context, actions);
  if (auths) recorded.requestedAuthConfigs = auths;
  else delete recorded.requestedAuthConfigs;
  return isEmptyActions(recorded) ? undefined : recorded;
}

/** Returns the requests for credentials in actions, without secrets. Undefined if there are none, and without a credential service. */
export function publicAuthConfigs(
  { invocation: { credentialService } }: InvocationContext,
  { requestedAuthConfigs: auths }: Partial<EventActions>,
): Record<string, AuthConfig> | undefined {
  if (!auths || !credentialService) return undefined;
  return Object.fromEntries(Object.entries(auths).map(([id, config]) => [id, credentialService.describe(config)]));
}
