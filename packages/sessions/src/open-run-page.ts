/** A page of the open runs of an app, in ascending order of user id and then session id, by code points. */
export interface OpenRunPage {
  readonly appName: string;
  /** At most so many. */
  readonly limit: number;
  /** The last run of the page before; undefined for the first page. */
  readonly after: OpenRunPosition | undefined;
}

/** A place in the order of open runs. */
export interface OpenRunPosition {
  readonly userId: string;
  readonly sessionId: string;
}
