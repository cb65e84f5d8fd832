import type { PutRunWebhookRequest, RunWebhook, RunWebhookChange, SessionKey } from '@eventloom/core';
import { compareText } from './compare-text.ts';
import type { RunWebhookPage } from './session-driver.ts';
import type { RunTable, SessionHold } from './session-hold.ts';

/**
 * The webhooks of a session, as plain data, for drivers that keep sessions as objects. The functions of this module implement the
 * driver's methods on it; undefined stands for a session that does not exist.
 */
export interface WebhookHold {
  /** The webhooks; undefined if there are none. */
  webhooks?: readonly RunWebhook[] | undefined;
}

/** Implements `SessionDriver.putRunWebhook`. */
export function putWebhook(
  hold: WebhookHold | undefined,
  runs: Pick<RunTable, 'get'> | undefined,
  webhook: PutRunWebhookRequest,
): boolean {
  const { invocationId, url } = webhook;
  if (!hold || runs?.get(invocationId)?.invocationId !== invocationId) return false;
  hold.webhooks = hold.webhooks?.filter((one) => one.invocationId !== invocationId || one.url !== url);
  addWebhook(hold, webhook);
  return true;
}

/** Stores a webhook beside the earlier ones of its run. */
export function addWebhook(hold: WebhookHold, webhook: PutRunWebhookRequest): void {
  const { appName, userId, sessionId, id, invocationId, url } = webhook;
  const others = (hold.webhooks ?? []).filter((one) => one.id !== id);
  hold.webhooks = [...others, { appName, userId, sessionId, id, invocationId, url, attempts: 0, dueMs: 0 }];
}

/** Removes the webhooks with these ids, and those of the runs with these ids. */
export function forgetWebhooks(hold: WebhookHold, forget: readonly string[]): void {
  const others = hold.webhooks?.filter(
    ({ id, invocationId }) => !forget.includes(id) && !forget.includes(invocationId),
  );
  hold.webhooks = others?.length ? others : undefined;
}

/** Implements `SessionDriver.changeRunWebhook`. */
export function changeWebhook(
  hold: WebhookHold | undefined,
  { id, attempts, dueMs }: RunWebhook,
  change: RunWebhookChange | undefined,
): boolean {
  const stored = hold?.webhooks?.find((one) => one.id === id && one.attempts === attempts && one.dueMs === dueMs);
  if (!hold?.webhooks || !stored) return false;
  const others = hold.webhooks.filter((one) => one !== stored);
  if (change) others.push({ ...stored, attempts: change.attempts, dueMs: change.dueMs });
  hold.webhooks = others.length > 0 ? others : undefined;
  return true;
}

/** Implements `SessionDriver.listRunWebhooks`. The given sessions of the app include all that have webhooks. */
export function selectWebhooks(
  sessions: Iterable<SessionKey & SessionHold & WebhookHold>,
  { userId, includeOpen, limit }: Omit<RunWebhookPage, 'appName'>,
): RunWebhook[] {
  const found: RunWebhook[] = [];
  for (const { openRun, webhooks = [], ...session } of sessions) {
    if (userId !== undefined && session.userId !== userId) continue;
    for (const webhook of webhooks)
      if (includeOpen || webhook.invocationId !== openRun?.invocationId) found.push({ ...webhook });
  }
  return found.sort((one, other) => one.dueMs - other.dueMs || compareText(one.id, other.id)).slice(0, limit);
}
