import { checkName } from '@eventloom/core';

/** Checks the names of sessions. A turn names the same session in each of its calls, so the last good names are remembered. */
export class SessionNames {
  #appName: string | undefined;
  #userId: string | undefined;
  #sessionId: string | undefined;

  /** @throws InvalidRequestError */
  check(appName: string, userId: string, sessionId: string): void {
    if (appName !== this.#appName) checkName('appName', appName);
    this.#appName = appName;
    if (userId !== this.#userId) checkName('userId', userId);
    this.#userId = userId;
    if (sessionId !== this.#sessionId) checkName('sessionId', sessionId);
    this.#sessionId = sessionId;
  }
}
