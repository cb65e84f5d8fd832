import { EventloomClient, ServerError } from '@eventloom/client';

/** The server's URL: the page is at `<server>/studio/`. */
export const serverUrl = new URL('..', location.href).href.replace(/\/$/, '');

/** The storage key of the person's token, if the server requires one. The browser deletes it with the tab. */
const TOKEN = 'eventloom-token';

function headers(): Record<string, string> {
  const token = sessionStorage.getItem(TOKEN);
  return token === null ? {} : { authorization: `Bearer ${token}` };
}

/** Uses a token for all requests from now on. @returns the user in the token; undefined if it cannot be read */
export function setToken(token: string): string | undefined {
  sessionStorage.setItem(TOKEN, token);
  try {
    const [, payload = ''] = token.split('.');
    const claims: unknown = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')));
    return typeof claims === 'object' && claims !== null && 'sub' in claims && typeof claims.sub === 'string'
      ? claims.sub
      : undefined;
  } catch (error) {
    // Some tokens are not JWTs: then the person enters the user.
    if (error instanceof SyntaxError || error instanceof DOMException) return undefined;
    throw error;
  }
}

/** Returns the subprotocols that carry the token over a WebSocket, which cannot have headers in a browser. */
export function bearerProtocols(): readonly string[] {
  const token = sessionStorage.getItem(TOKEN);
  return token === null ? [] : ['eventloom', `bearer.${token}`];
}

export const client = new EventloomClient({ baseUrl: serverUrl, headers });

/** The root agent of an app, with the server's options for it. */
export interface AppAgent extends ShownAgent {
  /** Suggested first messages. */
  readonly prompts: readonly string[];
  /** Prices by the name of the model. */
  readonly prices: Readonly<Record<string, ModelPrice>>;
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
}

/** A span that the server keeps, as `/dev/…/spans` of `@eventloom/dev` describes it. */
export interface KeptSpan {
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: 'run' | 'agent' | 'model' | 'tool';
  /** Milliseconds since the epoch. */
  readonly startMs: number;
  /** Absent while the operation runs. */
  readonly endMs?: number;
  readonly status: 'running' | 'ok' | 'left' | 'error';
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
}

async function readJson<T>(path: string, signal: AbortSignal | null = null): Promise<T> {
  const response = await fetch(serverUrl + path, { headers: headers(), signal });
  if (!response.ok) throw new ServerError(`${response.status} ${await response.text()}`, { status: response.status });
  return (await response.json()) as T;
}

function userPath(appName: string, userId: string): string {
  return `/apps/${encodeURIComponent(appName)}/users/${encodeURIComponent(userId)}`;
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

/** Reads the unfinished runs of all sessions of a user. */
export function readOpenRuns(appName: string, userId: string): Promise<OpenRunInfo[]> {
  return readJson(`/studio-api${userPath(appName, userId)}/runs`);
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

/**
 * Reads the spans of a session without messages, arguments and results, in the order in which they started; undefined if the server has no
 * routes for spans.
 */
export async function readSpans(
  { appName, userId, sessionId }: { appName: string; userId: string; sessionId: string },
  signal: AbortSignal,
): Promise<KeptSpan[] | undefined> {
  const session = `${userPath(appName, userId)}/sessions/${encodeURIComponent(sessionId)}`;
  try {
    return await readJson<KeptSpan[]>(`/dev${session}/spans?content=false`, signal);
  } catch (error) {
    if (ServerError.isInstance(error) && error.status === 404) return undefined;
    throw error;
  }
}
