/** The key of a session. Each id is any non-empty text without NUL, at most 256 bytes of UTF-8. */
export interface SessionKey {
  /** Name of the app, as given to the runner. */
  readonly appName: string;
  /** Id of the user that the session belongs to. */
  readonly userId: string;
  /** Id of the session, unique for its user and app. */
  readonly sessionId: string;
}
