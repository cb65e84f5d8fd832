import type { ArtifactVersion, Event, Part, Session, SessionKey } from '@eventloom/core';
import { ClientRun, type FollowOptions, type RunOptions } from './client-run.ts';
import {
  checkOptions,
  type ClientOptions,
  HttpConnection,
  newId,
  queryOf,
  readBody,
  textOf,
  wrongValue,
} from './http.ts';
import { type ClientMessage, toContent } from './messages.ts';

/** A user of an app. */
export interface AppUser {
  readonly appName: string;
  readonly userId: string;
}

/** Options of `createSession`. */
export interface NewSession {
  /** Id of the session. Default: a new id, which the server creates. */
  readonly sessionId?: string;
  /** Initial state of the session. Default: empty. */
  readonly state?: Readonly<Record<string, unknown>>;
  /**
   * Events of an earlier session, with which the new one begins: history that no run continues. They change the new session's own state;
   * state of the user and the app stays as it is. Default: none. `session.fork` copies a session of the same server.
   */
  readonly events?: readonly Event[];
}

/** One page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Pass it as `cursor` to get the next page. Absent on the last one. */
  readonly nextCursor?: string;
}

/** Options that select a page of a list. */
export interface PageOptions {
  /** Maximum number of items of the page. Default: that of the server. */
  readonly limit?: number;
  /** `nextCursor` of the previous page. Default: the first page. */
  readonly cursor?: string;
}

/**
 * A client for the HTTP API of an Eventloom server, for browsers, Node and Workers.
 *
 * @example
 * const client = new EventloomClient({ baseUrl: 'http://localhost:8000' });
 * const session = client.session({ appName: 'demo', userId: 'ann', sessionId: 'first' });
 * await session.create();
 * for await (const event of session.run('Hello')) console.log(event.content);
 */
export class EventloomClient {
  readonly #http: HttpConnection;

  /** @throws ConfigurationError for an unknown or invalid option */
  constructor(options: ClientOptions = {}) {
    this.#http = new HttpConnection(options);
  }

  /** Returns the names of the server's apps. @throws ServerError */
  listApps(): Promise<string[]> {
    return this.#http.readJson<string[]>('/list-apps');
  }

  /** Returns a page of a user's sessions, without their events, newest first. @throws ServerError */
  listSessions(user: AppUser, options?: PageOptions): Promise<Page<Session>> {
    return readPage(this.#http, sessionsPath(user), options);
  }

  /** Creates a session. @param init an id (default: the server's), and the state that it starts with @throws ServerError */
  async createSession(user: AppUser, init: NewSession = {}): Promise<Session> {
    checkOptions('createSession', init, "createSession(user, { sessionId: 'first' })", [
      'sessionId',
      'state',
      'events',
    ]);
    return this.#http.postJson(sessionsPath(user), init);
  }

  /**
   * Returns the methods of one session. Sends nothing: the session need not exist yet.
   * @throws ConfigurationError for a name that is not a text
   */
  session(key: SessionKey): ClientSession {
    // A copy, because a program in JavaScript may pass a text or nothing.
    const { appName, userId, sessionId } = { ...key };
    // An address cannot have the segments `.` and `..`.
    if (![appName, userId, sessionId].every((name) => textOf(name) && !/^\.\.?$/.test(name)))
      throw wrongValue('client.session', 'names', key, 'client.session({ appName, userId, sessionId })');
    return new ClientSession(this.#http, { appName, userId, sessionId });
  }
}

/** Access to one session on the server: its runs, events, state and artifacts. `client.session` creates it. */
export class ClientSession {
  readonly key: SessionKey;
  readonly #http: HttpConnection;
  readonly #path: string;

  constructor(http: HttpConnection, key: SessionKey) {
    this.#http = http;
    this.key = key;
    this.#path = `${sessionsPath(key)}/${encodeURIComponent(key.sessionId)}`;
  }

  /**
   * Reads the session.
   * @param options `numRecentEvents`: maximum number of events, the newest ones; default all. `ifExists`: true returns
   * undefined for a session that does not exist, without an error in the console of the browser
   * @throws ServerError with the `serverCode` SESSION_NOT_FOUND if it does not exist
   */
  get(options?: { readonly numRecentEvents?: number }): Promise<Session>;
  get(options: { readonly numRecentEvents?: number; readonly ifExists: true }): Promise<Session | undefined>;
  get(options?: object): Promise<Session | undefined> {
    return this.#http.readJson(this.#path + queryOf(options));
  }

  /** Creates the session. @throws ServerError with the `serverCode` SESSION_ALREADY_EXISTS if it exists */
  create(state?: Readonly<Record<string, unknown>>): Promise<Session> {
    return this.#http.postJson(this.#path, { state });
  }

  /** Changes the state. Returns the session with the new state. @throws ServerError */
  updateState(stateDelta: Readonly<Record<string, unknown>>): Promise<Session> {
    return this.#http.readJson<Session>(this.#path, { method: 'PATCH', json: { stateDelta } });
  }

  /** Deletes the session with its artifacts. @throws ServerError */
  async delete(): Promise<void> {
    await this.#http.request(this.#path, { method: 'DELETE' });
  }

  /** Returns a page of the events. @param options `order`: `asc` (default) begins with the oldest @throws ServerError */
  listEvents(options?: PageOptions & { readonly order?: 'asc' | 'desc' }): Promise<Page<Event>> {
    return readPage(this.#http, `${this.#path}/events`, options);
  }

  /** Undoes a run and everything after it. Returns the event that records the rewind. @throws ServerError */
  rewind(rewindBeforeInvocationId: string): Promise<Event> {
    return this.#http.postJson(`${this.#path}/rewind`, { rewindBeforeInvocationId });
  }

  /**
   * Copies the session as it was after an event: its events, its own state and its artifacts. Requests that waited can be answered in the
   * copy, and calls that were in progress are answered as interrupted. The session itself does not change.
   *
   * @param sessionId id of the new session; default: a new one that names the session and the event, such as `fork-first-at-3-1a2b3c4d`
   * @returns the new session
   * @throws ServerError
   */
  fork(afterEventId: string, sessionId?: string): Promise<Session> {
    return this.#http.postJson(`${this.#path}/fork`, { afterEventId, sessionId });
  }

  /**
   * Starts a run with a message of the user, or with answers to calls that an earlier run waits for. The request is sent when the result
   * is iterated, and repeated after a lost connection; the message runs once.
   */
  run(message: ClientMessage, options: RunOptions = {}): ClientRun {
    return this.#start({ newMessage: toContent(message) }, options);
  }

  /** Resumes a run that was interrupted. */
  resume(invocationId: string, options: RunOptions = {}): ClientRun {
    return this.#start({ invocationId }, options);
  }

  /**
   * Reads the events of an earlier run, in progress or ended. `session.follow(id).state()` reads only its state.
   * @param id its invocation id or request id
   */
  follow(id: string, options: FollowOptions = {}): ClientRun {
    return new ClientRun({ http: this.#http, path: this.#path, id, options });
  }

  /** Returns the names of the artifacts. @throws ServerError */
  listArtifacts(): Promise<string[]> {
    return this.#http.readJson<string[]>(`${this.#path}/artifacts`);
  }

  /** Reads an artifact. @param version default: the newest @throws ServerError with the `serverCode` ARTIFACT_NOT_FOUND */
  loadArtifact(filename: string, version?: number): Promise<Part> {
    return this.#http.readJson<Part>(this.#artifact(filename) + queryOf({ version }));
  }

  /** Returns the versions of an artifact, ascending. @throws ServerError */
  listArtifactVersions(filename: string): Promise<number[]> {
    return this.#http.readJson<number[]>(`${this.#artifact(filename)}/versions`);
  }

  /** Saves a part with `inlineData`, `fileData` or `text` as the next version of an artifact. @throws ServerError */
  saveArtifact(filename: string, artifact: Part): Promise<ArtifactVersion> {
    return this.#http.postJson(`${this.#path}/artifacts`, { filename, artifact });
  }

  /** Deletes all versions of an artifact. @throws ServerError */
  async deleteArtifact(filename: string): Promise<void> {
    await this.#http.request(this.#artifact(filename), { method: 'DELETE' });
  }

  #artifact(filename: string): string {
    return `${this.#path}/artifacts/${encodeURIComponent(filename)}`;
  }

  #start(request: object, options: RunOptions): ClientRun {
    checkOptions('run', options, "run('Hello', { onBusy: 'reject' })", RUN_OPTIONS);
    const {
      streaming = true,
      requestId = newId(),
      signal: _,
      onConnection: __,
      createSession: ___,
      ...others
    } = options;
    // After the event at the end of a run, no request is needed to find out whether more events follow.
    const body = { ...others, ...this.key, ...request, requestId, streaming, completionEvent: true };
    return new ClientRun({ http: this.#http, path: this.#path, id: requestId, body, options });
  }
}

function sessionsPath({ appName, userId }: AppUser): string {
  return `/apps/${encodeURIComponent(appName)}/users/${encodeURIComponent(userId)}/sessions`;
}

const RUN_OPTIONS = [
  'streaming',
  'requestId',
  'stateDelta',
  'customMetadata',
  'onBusy',
  'createSession',
  'signal',
  'onConnection',
] as const;

async function readPage<T>(
  http: HttpConnection,
  path: string,
  options: PageOptions & { readonly order?: 'asc' | 'desc' } = {},
): Promise<Page<T>> {
  checkOptions('list', options, '{ limit: 20 }', ['limit', 'cursor', 'order']);
  const response = await http.request(path + queryOf(options));
  const items = (await readBody(response)) as T[];
  const nextCursor = response.headers.get('eventloom-next-cursor');
  return { items, ...(nextCursor && { nextCursor }) };
}
