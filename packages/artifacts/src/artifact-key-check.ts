import { checkName, type SessionKey } from '@eventloom/core';

/** Checks the names that artifacts are stored under. @throws InvalidRequestError that names the field */
export function checkSessionKey(key: SessionKey): void {
  for (const field of ['appName', 'userId', 'sessionId'] as const) checkName(field, key[field]);
}
