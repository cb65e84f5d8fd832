import type { SessionKey } from '@eventloom/core';
import { ConnectionLostError, EventloomClient, type PersonRequest, ServerError } from '@eventloom/client';

/** The server's URL: the page is at `<server>/studio/`. */
export const serverUrl = new URL('..', location.href).href.replace(/\/$/, '');

/** The storage key of the person's token, if the server requires one. The browser deletes it with the tab. */
const TOKEN = 'eventloom-token';

function headers(): Record<string, string> {
  const token = sessionStorage.getItem(TOKEN);
  return token === null ? {} : { authorization: `Bearer ${token}` };
}

/** Uses a token for all requests from now on. */
export function setToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

/** Returns the subprotocols that carry the token over a WebSocket, which cannot have headers in a browser. */
export function bearerProtocols(): readonly string[] {
  const token = sessionStorage.getItem(TOKEN);
  return token === null ? [] : [`bearer.${token}`];
}

/** Returns a new session id, short enough to read aloud. `crypto.randomUUID` exists only on pages of secure origins. */
export function newSessionId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(4)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** True if the page can write to the clipboard, which browsers allow only on pages of secure origins. */
export const canCopy = 'clipboard' in navigator;

/** Returns the text of an error for a person. */
export function messageOf(thrown: unknown): string {
  if (ConnectionLostError.isInstance(thrown)) return 'The server does not answer.';
  return thrown instanceof Error ? thrown.message : String(thrown);
}

let onRefused = (): void => undefined;

/** Sets the function that is called when the server accepts no token any more, or asks for one. */
export function setOnRefused(listener: () => void): void {
  onRefused = listener;
}

async function send(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (response.status === 401) onRefused();
  return response;
}

export const client = new EventloomClient({ baseUrl: serverUrl, headers, fetch: send });

/**
 * Creates the session if it does not exist. The server creates one with the first message, but a call and a value of the state need it
 * earlier.
 */
export async function createSession(place: SessionKey): Promise<void> {
  const session = client.session(place);
  if (await session.get({ numRecentEvents: 0, ifExists: true })) return;
  try {
    await session.create();
  } catch (thrown) {
    if (!(ServerError.isInstance(thrown) && thrown.serverCode === 'SESSION_ALREADY_EXISTS')) throw thrown;
  }
}

/** The root agent of an app, with the server's options for it. */
export interface AppAgent extends ShownAgent {
  /** Suggested first messages. */
  readonly prompts: readonly string[];
  /** Prices by the name of the model. */
  readonly prices: Readonly<Record<string, ModelPrice>>;
  /** Code of the currency of the prices, such as `USD`. */
  readonly currency: string;
  /** True if the model can run live. */
  readonly canSpeak: boolean;
}

/** Prices of a million tokens. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  readonly cachedInput?: number;
}

/** An agent of an app, as `/studio-api/…/agent` describes it. */
export interface ShownAgent {
  readonly name: string;
  readonly kind: string;
  readonly description: string;
  readonly model?: string;
  readonly tools: readonly { readonly name: string; readonly description: string }[];
  readonly subAgents: readonly ShownAgent[];
  readonly calledAgents: readonly ShownAgent[];
  /** True for an agent that is described earlier in the tree: here it has no tools and no agents below it. */
  readonly isRepeated?: true;
}

/** A graph and its runs in a run of the session. */
export interface GraphDescription {
  readonly graph: {
    readonly name: string;
    readonly nodes: readonly { readonly name: string; readonly kind: string }[];
    readonly edges: readonly { readonly from: string; readonly to: string; readonly route?: string }[];
  };
  readonly runs: readonly GraphRunInfo[];
}

/** One run of a graph. */
export interface GraphRunInfo {
  readonly entry: readonly string[];
  readonly steps: readonly {
    readonly nodes: readonly { readonly node: string; readonly next: readonly string[]; readonly eventId: string }[];
    readonly open: readonly { readonly node: string }[];
  }[];
}

/** A run that has not ended. */
export interface OpenRunInfo {
  readonly sessionId: string;
  readonly invocationId: string;
  /** True if a process works on the run now; false if its process was lost. */
  readonly isHeld: boolean;
  readonly resumable: boolean;
  readonly attempts: number;
  /** The first message of the session. */
  readonly title?: string;
  /** Time of the first event of the run, in seconds since the epoch. */
  readonly startedAt?: number;
}

/** A run that waits for an answer. */
export interface WaitingRunInfo {
  readonly sessionId: string;
  readonly invocationId: string;
  /** The first message of the session. */
  readonly title?: string;
  /** Time of the oldest call that waits, in seconds since the epoch. */
  readonly waitsSince: number;
  readonly waitingFor: readonly {
    readonly kind: PersonRequest['kind'];
    /** Absent if an agent asks. */
    readonly toolName?: string;
    readonly message?: string;
  }[];
}

/** A span that the server keeps, as `/dev/…/spans` of `@eventloom/dev` describes it. */
export interface KeptSpan {
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: 'run' | 'agent' | 'model' | 'tool' | 'node';
  /** Milliseconds since the epoch. */
  readonly startMs: number;
  /** Absent while the operation runs. */
  readonly endMs?: number;
  readonly status: 'running' | 'ok' | 'left' | 'error';
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
}

async function readJson<T>(path: string, signal: AbortSignal | null = null): Promise<T> {
  const response = await send(serverUrl + path, { headers: headers(), signal }).catch((cause: unknown) => {
    throw signal?.aborted ? cause : new ConnectionLostError('The server does not answer.', { cause });
  });
  if (!response.ok) throw await toError(response);
  noteServerTime(response);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

/** Returns the error in an answer: the server sends `{error, code}`. */
async function toError(response: Response): Promise<ServerError> {
  const { status } = response;
  const text = await response.text();
  try {
    const { error, code } = JSON.parse(text) as { readonly error?: unknown; readonly code?: unknown };
    if (typeof error === 'string')
      return new ServerError(error, { status, serverCode: typeof code === 'string' ? code : undefined });
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown;
  }
  return new ServerError(`the server sent ${status}: ${text.slice(0, MAX_ERROR_CHARS)}`, { status });
}

const MAX_ERROR_CHARS = 500;

/** The difference between the clocks of the server and the browser, in milliseconds. */
let clockOffsetMs = 0;

/** Maximum difference that is due to the resolution of the header, in milliseconds. */
const CLOCK_TOLERANCE_MS = 3000;

function noteServerTime({ headers: answered }: Response): void {
  const date = Date.parse(answered.get('date') ?? '');
  if (Number.isNaN(date)) return;
  const offset = date - Date.now();
  clockOffsetMs = Math.abs(offset) < CLOCK_TOLERANCE_MS ? 0 : offset;
}

/** Returns the time of the server's clock, in milliseconds since the epoch. */
export function serverNow(): number {
  return Date.now() + clockOffsetMs;
}

function userPath(appName: string, userId: string): string {
  return `/apps/${encodeURIComponent(appName)}/users/${encodeURIComponent(userId)}`;
}

/** Reads the user of the token, as the server identifies it; undefined if the server has no login. */
export async function readCaller(): Promise<string | undefined> {
  const { userId } = await readJson<{ readonly userId?: string }>('/studio-api/caller');
  return userId;
}

/** Reads the agents of an app. */
export function readAgent(appName: string, userId: string): Promise<AppAgent> {
  return readJson(`/studio-api${userPath(appName, userId)}/agent`);
}

/** A session in the list. */
export interface SessionListEntry {
  readonly id: string;
  readonly lastUpdateTime: number;
  /** The first message of the user. */
  readonly title?: string;
  /** Text around the searched word. */
  readonly found?: string;
}

/** Reads a page of the sessions of a user, or of those that contain a word. */
export function readSessions(
  { appName, userId }: { appName: string; userId: string },
  search: string,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly sessions: readonly SessionListEntry[]; readonly nextCursor?: string }> {
  const query = new URLSearchParams({ ...(search && { search }), ...(cursor !== undefined && { cursor }) });
  return readJson(`/studio-api${userPath(appName, userId)}/sessions?${query}`, signal);
}

/** Reads the own state with which a session began. */
export function readInitialState(session: {
  readonly appName: string;
  readonly userId: string;
  readonly sessionId: string;
}): Promise<Readonly<Record<string, unknown>>> {
  const path = `${userPath(session.appName, session.userId)}/sessions/${encodeURIComponent(session.sessionId)}`;
  return readJson(`/studio-api${path}/initial-state`);
}

/** Reads the id of the newest event of a session; undefined if there is none or no session. */
export async function readNewestEventId(session: {
  readonly appName: string;
  readonly userId: string;
  readonly sessionId: string;
}): Promise<string | undefined> {
  const path = `${userPath(session.appName, session.userId)}/sessions/${encodeURIComponent(session.sessionId)}`;
  const events = await readJson<readonly { readonly id: string }[] | undefined>(
    `${path}/events?order=desc&limit=1&ifExists=true`,
  );
  return events?.[0]?.id;
}

/** Reads the unfinished runs of all sessions of a user. */
export function readOpenRuns(appName: string, userId: string): Promise<OpenRunInfo[]> {
  return readJson(`/studio-api${userPath(appName, userId)}/runs`);
}

/** Reads the runs that wait for an answer in the first pages of the sessions of a user, latest first. */
export async function readWaitingRuns(
  appName: string,
  userId: string,
  pages: number,
): Promise<{ readonly runs: readonly WaitingRunInfo[]; readonly hasMore: boolean }> {
  const runs: WaitingRunInfo[] = [];
  let nextCursor: string | undefined;
  for (let page = 0; page < pages && (page === 0 || nextCursor !== undefined); page++) {
    const query = new URLSearchParams(nextCursor === undefined ? {} : { cursor: nextCursor });
    const read = await readJson<{ readonly runs: readonly WaitingRunInfo[]; readonly nextCursor?: string }>(
      `/studio-api${userPath(appName, userId)}/waiting-runs?${query}`,
    );
    runs.push(...read.runs);
    nextCursor = read.nextCursor;
  }
  return { runs, hasMore: nextCursor !== undefined };
}

/** Reads the graphs of an app; an empty list if it has none. */
export function readGraphs(appName: string, userId: string): Promise<GraphDescription[]> {
  return readJson(`${userPath(appName, userId)}/graphs`);
}

/** Reads the graphs that ran in a run. */
export function readGraphRuns(
  { appName, userId, sessionId }: { appName: string; userId: string; sessionId: string },
  invocationId: string,
): Promise<GraphDescription[]> {
  const session = `${userPath(appName, userId)}/sessions/${encodeURIComponent(sessionId)}`;
  return readJson(`${session}/runs/${encodeURIComponent(invocationId)}/graph`);
}

let servedPaths: Promise<ReadonlySet<string>> | undefined;

/** Returns true if the server has a route. A request for a route that it does not have would be an error in the console of the browser. */
async function hasRoute(path: string): Promise<boolean> {
  servedPaths ??= readJson<{ readonly paths: object }>('/openapi.json').then(
    ({ paths }) => new Set(Object.keys(paths)),
  );
  try {
    return (await servedPaths).has(path);
  } catch (error) {
    servedPaths = undefined;
    throw error;
  }
}

/**
 * Reads the spans of a session without messages, arguments and results, in the order in which they started; undefined if the server has no
 * routes for spans.
 */
export async function readSpans(
  { appName, userId, sessionId }: { appName: string; userId: string; sessionId: string },
  signal: AbortSignal,
): Promise<KeptSpan[] | undefined> {
  if (!(await hasRoute('/dev/apps/{appName}/users/{userId}/sessions/{sessionId}/spans'))) return undefined;
  const session = `${userPath(appName, userId)}/sessions/${encodeURIComponent(sessionId)}`;
  return readJson<KeptSpan[]>(`/dev${session}/spans?content=false`, signal);
}

/** Reads one span with its messages, arguments and results; undefined if the server has dropped it. */
export async function readSpan(
  { appName, userId, sessionId }: { appName: string; userId: string; sessionId: string },
  spanId: string,
): Promise<KeptSpan | undefined> {
  const session = `${userPath(appName, userId)}/sessions/${encodeURIComponent(sessionId)}`;
  const [span] = await readJson<KeptSpan[]>(`/dev${session}/spans?spanId=${encodeURIComponent(spanId)}`);
  return span;
}
