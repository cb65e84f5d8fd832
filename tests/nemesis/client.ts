import type { Event, OnBusy, Part } from '@eventloom/core';

/** The session in which a client sends messages. */
export interface ClientSession {
  readonly appName: string;
  readonly userId: string;
  readonly sessionId: string;
}

/**
 * The end of an answer: `completed` (the stream ended properly), `error` (an error body, or an error as the last
 * frame), `cut` (the connection was lost), `left` (the client hung up) or `nothing` (204).
 */
export type AnswerEnd =
  | { readonly kind: 'completed' | 'cut' | 'left' | 'nothing' }
  | { readonly kind: 'error'; readonly code: string; readonly message: string };

/** A frame of a stream. */
export interface Frame {
  /** The number of the event, as text. */
  readonly id: string | undefined;
  readonly event: Event;
}

/** One answer that a client received. */
export interface Answer {
  readonly session: ClientSession;
  /** The text of the message that was sent; undefined when a run was followed, and for function responses. */
  readonly text: string | undefined;
  readonly requestId: string | undefined;
  /** The ids of the calls that the message answered. */
  readonly callIds: readonly string[];
  /** The request: `send` a message, `follow` a run from its start, `continue` after a number, `call` over a WebSocket. */
  readonly asked: 'send' | 'follow' | 'continue' | 'call';
  /** Undefined if there was no answer. */
  readonly status: number | undefined;
  readonly invocationId: string | undefined;
  readonly frames: readonly Frame[];
  readonly end: AnswerEnd;
}

/** A message for a session. */
export interface Message {
  /** The text; absent if the message has function responses. */
  readonly text?: string;
  readonly parts?: readonly Part[];
  readonly requestId?: string;
  /** Disconnects after this number of frames. */
  readonly leaveAfter?: number | undefined;
  /** The run to continue. */
  readonly invocationId?: string;
  readonly onBusy?: OnBusy | undefined;
  /** Called with each frame as it arrives, and with the id of the run. */
  readonly onFrame?: (frame: Frame, invocationId: string) => void;
}

/** Time that a client waits for the next event, in milliseconds: a busy machine may take more than 30 seconds for a whole call. */
export const TIMEOUT_MS = 120_000;

/** Sends a message and reads the streamed answer. Never rejects. */
export function send(url: string, session: ClientSession, message: Message): Promise<Answer> {
  const { text, parts = [{ text }] as readonly Part[], requestId, leaveAfter, invocationId, onBusy, onFrame } = message;
  const newMessage = { role: 'user', parts };
  const body = JSON.stringify({ ...session, newMessage, streaming: true, requestId, invocationId, onBusy });
  const headers = { 'content-type': 'application/json', 'Eventloom-Event-Ids': '1' };
  return read(
    `${url}/run_sse`,
    { method: 'POST', body, headers },
    { session, text, requestId, callIds: parts.flatMap((part) => part.functionResponse?.id ?? []), asked: 'send' },
    leaveAfter,
    onFrame,
  );
}

/** A run whose cancellation was answered with 200. */
export interface CancelledRun {
  readonly session: ClientSession;
  readonly requestId: string;
  /** The ids of the session's events directly after the answer. */
  readonly eventIds: readonly string[];
}

/**
 * Cancels a run. Returns the stored events when the server says that the run has ended; undefined while it does not, or
 * if it does not answer. Never rejects.
 */
export async function cancel(
  url: string,
  session: ClientSession,
  requestId: string,
): Promise<CancelledRun | undefined> {
  const { appName, userId, sessionId } = session;
  const address = `${url}/apps/${appName}/users/${userId}/sessions/${sessionId}`;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const { status } = await fetch(`${address}/runs/${requestId}`, { method: 'DELETE', signal });
    if (status !== 200) return undefined;
    const stored = await fetch(address, { signal });
    const { events } = (await stored.json()) as { readonly events: readonly Event[] };
    return { session, requestId, eventIds: events.map(({ id }) => id) };
  } catch {
    return undefined;
  }
}

/**
 * Begins a run with a webhook, without reading the run. Returns the id of the run; undefined if the server did not
 * answer, or asks to send the request again. Never rejects for a lost connection.
 *
 * @throws Error for an answer that the server must not give
 */
export async function begin(
  url: string,
  { appName, userId, sessionId }: ClientSession,
  { text, requestId }: Message,
  webhookUrl: string,
): Promise<string | undefined> {
  const newMessage = { role: 'user', parts: [{ text }] };
  const body = JSON.stringify({ newMessage, requestId, webhook: { url: webhookUrl } });
  const address = `${url}/apps/${appName}/users/${userId}/sessions/${sessionId}/runs`;
  let answer: { readonly status: number; readonly text: string };
  try {
    const response = await fetch(address, { method: 'POST', body, signal: AbortSignal.timeout(TIMEOUT_MS) });
    answer = { status: response.status, text: await response.text() };
  } catch {
    return undefined;
  }
  if (answer.status === 202) return (JSON.parse(answer.text) as { readonly invocationId: string }).invocationId;
  if (answer.status === 503 || answer.text.includes('SESSION_BUSY') || isOfRuntime(answer.text)) return undefined;
  throw new Error(`the request for a run was answered with ${answer.status}: ${answer.text}`);
}

/** Follows a run after a number. Never rejects. */
export function follow(
  url: string,
  session: ClientSession,
  invocationId: string,
  lastEventId?: string,
  leaveAfter?: number,
): Promise<Answer> {
  const path = `/apps/${session.appName}/users/${session.userId}/sessions/${session.sessionId}/runs/${invocationId}`;
  const headers: Record<string, string> = lastEventId === undefined ? {} : { 'Last-Event-ID': lastEventId };
  const asked = lastEventId === undefined ? 'follow' : 'continue';
  return read(
    `${url}${path}`,
    { headers },
    { session, text: undefined, requestId: undefined, callIds: [], asked, invocationId },
    leaveAfter,
  );
}

type Question = Pick<Answer, 'session' | 'text' | 'requestId' | 'callIds' | 'asked'> & {
  readonly invocationId?: string;
};

async function read(
  url: string,
  init: RequestInit,
  question: Question,
  leaveAfter?: number,
  onFrame?: Message['onFrame'],
): Promise<Answer> {
  const frames: Frame[] = [];
  let status: number | undefined;
  let { invocationId } = question;
  const answer = (end: AnswerEnd): Answer => ({ ...question, status, invocationId, frames, end });
  const leaving = new AbortController();
  if (leaveAfter === 0) setTimeout(() => leaving.abort(), 2);
  const silence = new AbortController();
  const late = setTimeout(() => silence.abort(), TIMEOUT_MS);
  const signal = AbortSignal.any([leaving.signal, silence.signal]);
  try {
    const response = await fetch(url, { ...init, signal });
    ({ status } = response);
    invocationId = response.headers.get('Eventloom-Invocation-Id') ?? invocationId;
    if (status === 204) return answer({ kind: 'nothing' });
    if (status !== 200) return answer(errorIn(await response.text()));
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of response.body ?? []) {
      const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const [, id] = /^id: ?(.*)$/m.exec(block) ?? [];
        const [, data] = /^data: ?(.*)$/m.exec(block) ?? [];
        if (data === undefined) continue;
        // An error of the run has a number, one of the connection has none. An event has an author.
        const event = JSON.parse(data) as Event & { readonly error?: unknown };
        if (typeof event.error === 'string' && event.author === undefined) return answer(errorIn(data));
        const frame = { id, event };
        frames.push(frame);
        late.refresh();
        onFrame?.(frame, invocationId ?? '');
        if (frames.length === leaveAfter) leaving.abort();
      }
    }
    return answer({ kind: 'completed' });
  } catch (error) {
    if (leaving.signal.aborted) return answer({ kind: 'left' });
    if (signal.aborted)
      return answer({ kind: 'error', code: 'NO_ANSWER', message: `nothing came for ${TIMEOUT_MS} ms` });
    // Any other error is a mistake of this program.
    if (!(error instanceof TypeError)) throw error;
    return answer({ kind: 'cut' });
  } finally {
    clearTimeout(late);
  }
}

/**
 * True for an answer of workerd itself, and of `wrangler dev` when it loses the connection to workerd or restarts it.
 * An exception that is the reason is in their output, and is a fault there.
 */
function isOfRuntime(text: string): boolean {
  return text === 'Internal Server Error' || text.startsWith('Error: ') || text.startsWith('Your worker restarted');
}

function errorIn(json: string): AnswerEnd {
  if (isOfRuntime(json)) return { kind: 'cut' };
  const { error, code } = JSON.parse(json) as { readonly error: string; readonly code: string };
  return { kind: 'error', code, message: error };
}
