import { checkName } from '@eventloom/core';

/** Checks the names of sessions. A turn names the same session in each of its calls, so the last good key is remembered. */
export class SessionNames {
  #appName: string | undefined;
  #userId: string | undefined;
  #sessionId: string | undefined;

  /** @throws InvalidRequestError */
  check(appName: string, userId: string, sessionId: string): void {
    if (sessionId === this.#sessionId && userId === this.#userId && appName === this.#appName) return;
    checkName('appName', appName);
    checkName('userId', userId);
    checkName('sessionId', sessionId);
    this.#appName = appName;
    this.#userId = userId;
    this.#sessionId = sessionId;
  }
}
