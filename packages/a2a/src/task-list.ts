import type { BaseSessionService, Event } from '@eventloom/core';
import { describeKind, isBookkeeping, isYielded } from '@eventloom/core/internal';
import type { RunOwner } from '@eventloom/server';
import { A2AProtocolError, A2ARequestError } from './errors.ts';
import { formatTaskId, TASK_ID } from './task-view.ts';
import { type A2ATaskState, readState } from './wire.ts';

/** The fields of a task that a list needs. */
export interface ListedTask {
  readonly taskId: string;
  /** Time of its status in milliseconds. */
  readonly timeMs: number;
}

/** The parameters of `ListTasks`. */
interface ListRequest {
  readonly contextId: string | undefined;
  readonly state: A2ATaskState | undefined;
  readonly sinceMs: number;
  readonly pageSize: number;
  /** The last task of the page before. */
  readonly after: ListedTask | undefined;
  readonly withArtifacts: boolean;
}

const PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 100;
/** Events and sessions that are read for a list. They are read for each page, because sessions have no index of their tasks. */
const MAX_EVENTS = 20_000;
const MAX_SESSIONS = 1000;
/** Tasks whose states are read for a list of the tasks in one state. */
export const MAX_READ_TASKS = 1000;
/** Events and sessions that are read at once. */
const EVENTS_AT_ONCE = 500;
const SESSIONS_AT_ONCE = 100;

/** Reads the parameters of `ListTasks`. @throws A2AProtocolError that names the field */
export function readListRequest(params: Readonly<Record<string, unknown>>): ListRequest {
  const { contextId, status, statusTimestampAfter, pageSize, pageToken, includeArtifacts } = params;
  const size = pageSize ?? PAGE_SIZE;
  if (typeof size !== 'number' || !Number.isInteger(size) || size < 1 || size > MAX_PAGE_SIZE)
    throw new A2AProtocolError(`params.pageSize: expected an integer from 1 to ${MAX_PAGE_SIZE}; write "pageSize": 50`);
  const since = statusTimestampAfter ?? '';
  const sinceMs = since === '' ? -Infinity : typeof since === 'string' ? Date.parse(since) : Number.NaN;
  if (Number.isNaN(sinceMs))
    throw new A2AProtocolError(
      `params.statusTimestampAfter: expected a time, got ${describeKind(since)}; write "2026-11-24T10:00:00Z"`,
    );
  return {
    contextId: textOf('contextId', contextId),
    state: isUnspecified(status) ? undefined : readState('params.status', status),
    sinceMs,
    pageSize: size,
    after: readToken(textOf('pageToken', pageToken)),
    withArtifacts: includeArtifacts === true,
  };
}

/** Clients that are generated from the schema send the first state where they mean none. */
function isUnspecified(status: unknown): boolean {
  return status === undefined || status === null || status === '' || status === 'TASK_STATE_UNSPECIFIED';
}

function textOf(name: string, value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  throw new A2AProtocolError(`params.${name}: expected a string, got ${describeKind(value)}`);
}

function readToken(token: string | undefined): ListedTask | undefined {
  if (token === undefined) return undefined;
  const [, time = '', taskId = ''] = /^(\d{1,16}) (.+)$/.exec(token) ?? [];
  if (taskId === '')
    throw new A2AProtocolError(
      'params.pageToken: is not a token of this server; write nextPageToken of the page before',
    );
  return { taskId, timeMs: Number(time) };
}

/** Returns the token of the page that follows a task. */
export function pageTokenOf({ taskId, timeMs }: ListedTask): string {
  return `${timeMs} ${taskId}`;
}

/** Compares tasks by their times, the latest first. */
export function byTime(one: ListedTask, other: ListedTask): number {
  return other.timeMs - one.timeMs || (one.taskId < other.taskId ? 1 : one.taskId > other.taskId ? -1 : 0);
}

/**
 * Returns the tasks of a user, the latest first.
 * @param contextId only the tasks of this session
 * @param sinceMs only tasks whose status is not older
 * @throws A2ARequestError if the user has too many sessions or events
 */
export async function findTasks(
  sessions: BaseSessionService,
  { appName, userId }: RunOwner,
  contextId: string | undefined,
  sinceMs: number,
): Promise<ListedTask[]> {
  const found: ListedTask[] = [];
  let events = 0;
  for await (const sessionId of contextId === undefined
    ? sessionIds(sessions, appName, userId, sinceMs)
    : [contextId]) {
    const key = { appName, userId, sessionId };
    const tasks = new SessionTasks(sessionId);
    for (let seq = 0; ;) {
      const session = await sessions.getSession({
        ...key,
        config: { afterSeq: seq, beforeSeq: seq + EVENTS_AT_ONCE + 1 },
      });
      // It was deleted meanwhile, or never existed.
      if (!session) break;
      for (const event of session.events) tasks.add(event);
      events += session.events.length;
      if (events > MAX_EVENTS) throw tooMany(`${MAX_EVENTS} events`, contextId);
      seq += EVENTS_AT_ONCE;
      if (seq >= session.lastSeq) break;
    }
    for (const [taskId, timeMs] of tasks.times) if (timeMs >= sinceMs) found.push({ taskId, timeMs });
  }
  return found.toSorted(byTime);
}

async function* sessionIds(
  sessions: BaseSessionService,
  appName: string,
  userId: string,
  sinceMs: number,
): AsyncGenerator<string, void, undefined> {
  let cursor: string | undefined;
  let count = 0;
  do {
    const page = await sessions.listSessions({ appName, userId, limit: SESSIONS_AT_ONCE, cursor });
    for (const { id, lastUpdateTime } of page.sessions) {
      // The session with the latest update comes first.
      if (lastUpdateTime * 1000 < sinceMs) return;
      if (++count > MAX_SESSIONS) throw tooMany(`${MAX_SESSIONS} sessions`, undefined);
      yield id;
    }
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}

/** The tasks of a session. */
class SessionTasks {
  readonly times = new Map<string, number>();
  readonly #sessionId: string;
  /** Ids of tasks by their runs. */
  readonly #ofRuns = new Map<string, string>();

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  /** Adds a stored event. A task begins with a message of the user, and its status has the time of the newest event of the agent. */
  add(event: Event): void {
    const { author, customMetadata, invocationId, timestamp } = event;
    const timeMs = new Date(timestamp * 1000).getTime();
    const known = this.#ofRuns.get(invocationId);
    if (known !== undefined) {
      if (isYielded(event) && !isBookkeeping(event)) this.times.set(known, timeMs);
      return;
    }
    if (author !== 'user') return;
    const continued = customMetadata?.[TASK_ID];
    const isContinued = typeof continued === 'string' && this.times.has(continued);
    const taskId = isContinued ? continued : formatTaskId(invocationId, this.#sessionId);
    this.#ofRuns.set(invocationId, taskId);
    if (!isContinued) this.times.set(taskId, timeMs);
  }
}

/** Returns the error for a list that would read too many events or sessions. */
export function tooMany(what: string, contextId: string | undefined): A2ARequestError {
  const hint =
    contextId === undefined
      ? 'write contextId to list the tasks of one context, or statusTimestampAfter'
      : 'write statusTimestampAfter, or ask for the tasks by their ids';
  return new A2ARequestError('UNSUPPORTED_OPERATION', `the list reads more than ${what}; ${hint}`);
}
