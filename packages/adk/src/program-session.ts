import { ConfigurationError, type Event, type Session, type SessionKey, type ToolLedgerEntry } from '@eventloom/core';
import {
  beginsResumableRun,
  Calls,
  describeKind,
  isRecord,
  ledgerEntryId,
  answersToUnsettled,
  type SessionCall,
  stateScopeOf,
  toSeconds,
} from '@eventloom/core/internal';
import {
  type SessionHold,
  type StateEntry,
  type StoredRun,
  type StoredSession,
  type WebhookHold,
} from '@eventloom/sessions';

/** The part of a session in memory: the lock, the runs and the tool calls, and the last read events. */
export interface ProgramSession extends SessionKey, SessionHold, WebhookHold {
  readonly incarnation: string;
  /** True if callers may have read the session before, when it got another incarnation: from a listing, or before it was forgotten. */
  readonly mayBeReadAgain: boolean;
  readonly runs: Map<string, Omit<StoredRun, 'id'>>;
  readonly toolCalls: Map<string, Map<string, ToolLedgerEntry>>;
  /** The session's own state at its creation: what it had before its first event, or what no event has set. */
  readonly initialState: readonly StateEntry[];
  /** The object of the program's service, which the service itself keeps up to date. */
  session: Session;
  /** The events of the session. */
  readonly events: Event[];
  /** The events of the session, by their ids. */
  readonly eventsById: Map<string, Event>;
}

/** The part of a session that its first read decides. */
type FirstRead = SessionKey & Pick<ProgramSession, 'incarnation' | 'epoch' | 'mayBeReadAgain' | 'session'>;

/**
 * Creates the part in memory of a session that this process does not know yet: its runs and its interrupted calls are found in its events.
 *
 * @param events the events of the session as they are stored
 */
export function createProgramSession(read: FirstRead, events: readonly Event[]): ProgramSession {
  const found: ProgramSession = {
    ...read,
    leaseUntilMs: 0,
    runs: new Map(),
    toolCalls: new Map(),
    initialState: initialStateOf(read.session, events),
    events: [],
    eventsById: new Map(),
  };
  for (const event of events) addEvent(found, event);
  noteLostRun(found, noteBegunCalls(found, events));
  return found;
}

/** Adds an event of the service, and its run if it is the first event of one. */
export function addEvent(found: ProgramSession, event: Event): void {
  const { invocationId } = event;
  const firstSeq = found.events.push(event);
  found.eventsById.set(event.id, event);
  if (invocationId && !found.runs.has(invocationId)) found.runs.set(invocationId, { invocationId, firstSeq });
}

/** True unless the session was deleted and created again, or lost events, since it was read. */
export function continues({ events }: ProgramSession, session: Session): boolean {
  return events.length === 0 || session.events[events.length - 1]?.id === events.at(-1)?.id;
}

/**
 * Records the calls without a result among events of another process as started: only the lost process knew whether
 * their tools ran, so a resumed run does not run them again unless they are idempotent.
 */
export function noteBegunCalls({ events, toolCalls }: ProgramSession, given: readonly Event[]): Calls {
  const calls = new Calls(events);
  const from = events.length - given.length;
  const note = ({ invocationId, id }: Pick<Event, 'invocationId' | 'id'>, { call }: SessionCall): void => {
    const entryId = ledgerEntryId(id, call);
    const ofRun = toolCalls.get(invocationId) ?? new Map<string, ToolLedgerEntry>();
    toolCalls.set(invocationId, ofRun);
    if (!ofRun.has(entryId)) ofRun.set(entryId, { invocationId, entryId, name: call.name ?? '', status: 'started' });
  };
  for (const call of calls.all) {
    if (call.responses.length === 0 && call.eventIndex >= from) note(call.event, call);
    // A call that a person was asked about is recorded in the run of the answer.
    for (const { event, eventIndex } of answersToUnsettled(call)) if (eventIndex >= from) note(event, call);
  }
  return calls;
}

/** Opens the last run if its process was lost while its tools ran, and nothing else can tell: the next run closes it. */
function noteLostRun(found: ProgramSession, calls: Calls): void {
  const last = found.events.findLast(({ invocationId }) => invocationId !== '');
  if (!last) return;
  const { invocationId } = last;
  const first = found.events.find((event) => event.invocationId === invocationId);
  if (!first || beginsResumableRun(first)) return;
  if (calls.unanswered(invocationId).some(({ isLongRunning, isImported }) => !isLongRunning && !isImported))
    found.openRun = { invocationId, resumable: false, attempts: 1 };
}

function initialStateOf(session: Session, events: readonly Event[]): StateEntry[] {
  const set = new Set(events.flatMap(({ actions }) => Object.keys(actions.stateDelta)));
  return stateOf(session).filter(({ scope, key }) => scope === 'session' && !set.has(key));
}

export function toStored({ incarnation, session, events, ...key }: ProgramSession, selected: Event[]): StoredSession {
  const { appName, userId, sessionId } = key;
  return {
    appName,
    userId,
    sessionId,
    incarnation,
    lastSeq: events.length,
    updatedAtMs: updatedAtMs(session),
    state: stateOf(session),
    events: selected,
  };
}

/** Returns the time of the last update. Services of the ADK write milliseconds. */
export function updatedAtMs({ lastUpdateTime }: Session): number {
  // The object is the program's, so the field may be absent.
  return Number.isFinite(lastUpdateTime) ? toSeconds(lastUpdateTime) * 1000 : 0;
}

/** Returns a session of the program's service. @throws ConfigurationError that names the method, for a value that is none */
export function checkedSession(method: string, session: Session, others = ''): Session {
  const given: unknown = session;
  if (isRecord(given) && typeof given['id'] === 'string' && Array.isArray(given['events']) && isRecord(given['state']))
    return session;
  throw wrongAnswer(method, given, `createSession({ id, appName, userId, state, events }) of eventloom/adk${others}`);
}

export function wrongAnswer(method: string, given: unknown, write: string, around = ''): ConfigurationError {
  const what = isRecord(given) ? `an object with ${Object.keys(given).join(', ') || 'no fields'}` : describeKind(given);
  return new ConfigurationError(
    `${method}: the session service of the program returned ${around}${what}; return ${write}`,
  );
}

/** Returns copies of the stored values: the session belongs to the program. */
export function stateOf({ state }: Session): StateEntry[] {
  return Object.entries(state).flatMap(([name, value]) => {
    const scope = stateScopeOf(name);
    if (scope === 'temp') return [];
    const key = scope === 'session' ? name : name.slice(scope.length + 1);
    return [{ scope, key, value: cloneValue(name, value) }];
  });
}

/** @throws ConfigurationError for a value that cannot be copied, such as a function */
function cloneValue(name: string, value: unknown): unknown {
  try {
    return structuredClone(value);
  } catch (cause) {
    throw new ConfigurationError(
      `getSession: the state of the program's session service has ${describeKind(value)} that cannot be copied at ${JSON.stringify(name)}; write JSON values into the state`,
      { cause },
    );
  }
}
