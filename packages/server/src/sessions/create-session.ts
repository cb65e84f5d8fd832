import {
  type BaseSessionService,
  createEventActions,
  type Event,
  EventTag,
  getFunctionCalls,
  InvalidRequestError,
  type Platform,
  type Session,
  SessionAlreadyExistsError,
  type SessionKey,
  type SessionLease,
  toError,
} from '@eventloom/core';
import {
  beginsResumableRun,
  Calls,
  checkArtifactName,
  newestEntries,
  newInvocationId,
  sessionKeyOf,
  stateScopeOf,
  weigh,
  withTag,
  otherWork,
} from '@eventloom/core/internal';
import type { Runner } from '@eventloom/runner';
import { ForbiddenError } from '../errors.ts';
import { CHARS_PER_SLICE, inSlices, type Steps } from '../http/in-slices.ts';
import { CONTROL_CHARACTER, quotedName } from '../http/request-body.ts';
import type { ServerContext } from '../server-context.ts';

/** Maximum time to write the events of a session, in milliseconds. */
const IMPORT_MS = 60_000;
/** Number of characters that an event and a state key count at least: each is a write of its own. */
const CHARS_OF_WRITE = 1024;

/** A session to create. */
interface SessionToCreate {
  readonly userId: string;
  readonly sessionId: string | undefined;
  readonly state: Readonly<Record<string, unknown>> | undefined;
  /** The events with which the session starts, in order. They change only its own state, not that of the user or the app. */
  readonly events: readonly Event[] | undefined;
}

/**
 * Creates a session and appends its first events. If that fails, the session is deleted. Other work runs in between.
 * @returns the session, without the events
 * @throws SessionAlreadyExistsError, InvalidRequestError, ForbiddenError, StateKeyError, StateValueError
 */
export async function createSessionWithEvents(
  { appName, sessionService }: Runner,
  { platform, trustsImportedEvents }: ServerContext,
  { userId, sessionId, state, events: given = [] }: SessionToCreate,
): Promise<Session> {
  const completed = await inSlices(platform, checkEvents(given, platform));
  const events = trustsImportedEvents ? completed : asHistory(completed);
  const session = await sessionService.createSession({ appName, userId, sessionId, state }).catch((error: unknown) => {
    throw SessionAlreadyExistsError.isInstance(error) ? existsError({ appName, userId, sessionId }, error) : error;
  });
  if (events.length === 0) return session;
  const key = sessionKeyOf(session);
  try {
    await writeEvents(sessionService, platform, session, events);
  } catch (error) {
    await sessionService.deleteSession(key);
    throw error;
  }
  return { ...session, lastSeq: events.length, events: [] };
}

/** Returns the error for an existing session, with the HTTP request that reads it. */
export function existsError(
  { appName, userId, sessionId = '' }: Omit<SessionKey, 'sessionId'> & { readonly sessionId?: string | undefined },
  cause: SessionAlreadyExistsError,
): SessionAlreadyExistsError {
  const path = ['apps', appName, 'users', userId, 'sessions', sessionId].map((part) => encodeURIComponent(part));
  return new SessionAlreadyExistsError(
    `the session ${quotedName(sessionId)} already exists; read it with GET /${path.join('/')}, send another sessionId, or leave the id out to create a session with a new one`,
    { cause },
  );
}

/**
 * Appends events, each within its run, so that the runs can be found, and continued if the events are trusted. The run
 * of the last event stays open if it is unfinished: the server resumes or closes it, like a run whose process ended, or
 * the next message of the session does. Does not write state of the user and the app, because other sessions share it
 * and may have changed it since.
 */
async function writeEvents(
  service: BaseSessionService,
  platform: Platform,
  created: Session,
  events: readonly Event[],
): Promise<void> {
  const key = sessionKeyOf(created);
  const read = { numRecentEvents: 0 };
  const unfinished = unfinishedRun(events);
  const begun = new Set<string>();
  let session = created;
  let lease: SessionLease | undefined;
  let chars = 0;
  for (const event of events) {
    const { invocationId } = event;
    if (lease?.invocationId !== invocationId) {
      if (lease) await service.releaseLease(lease);
      const run = { invocationId, continues: begun.has(invocationId), resumable: invocationId === unfinished };
      ({ session, lease } = await service.beginRun({ ...key, ...run, ttlMs: IMPORT_MS, read }));
      begun.add(invocationId);
    }
    await service.appendEvent({ session, event, lease, repeatedState: sharedKeys(event) });
    chars += weigh(event) + CHARS_OF_WRITE * (1 + Object.keys(event.actions.stateDelta).length);
    if (chars < CHARS_PER_SLICE) continue;
    // Storage in this process answers synchronously, so writing all events at once would block other work.
    await otherWork(platform);
    chars = 0;
  }
  if (lease) await service.releaseLease(lease, { keepRunOpen: unfinished !== undefined && 'without-attempt' });
}

/** Returns the run of the last event if it can be resumed, has not ended and does not wait for an answer. */
function unfinishedRun(events: readonly Event[]): string | undefined {
  const id = events.at(-1)?.invocationId;
  const calls = new Calls(events);
  return id !== undefined && calls.canContinue(id) && !calls.isRunWaiting(id) ? id : undefined;
}

/** Returns the keys of state of the user and the app that an event changed; undefined if there are none. */
function sharedKeys({ actions: { stateDelta, removedState = [] } }: Event): ReadonlySet<string> | undefined {
  const shared = [...Object.keys(stateDelta), ...removedState].filter((key) => {
    const scope = stateScopeOf(key);
    return scope === 'user' || scope === 'app';
  });
  return shared.length === 0 ? undefined : new Set(shared);
}

/** Checks events, and fills in what they lack. */
function* checkEvents(events: readonly Event[], platform: Platform): Steps<Event[]> {
  const ids = new Set<string>();
  const completed: Event[] = [];
  for (const [index, event] of events.entries()) {
    if (event.partial === true)
      throw new InvalidRequestError(`events[${index}]: is partial, and chunks are not stored; leave the event out`);
    if (event.author === '')
      throw new InvalidRequestError(
        `events[${index}].author: is missing; write "author": "user", or the name of the agent`,
      );
    if (CONTROL_CHARACTER.test(event.author))
      throw new InvalidRequestError(`events[${index}].author: contains a control character; remove it`);
    checkArtifactDelta(`events[${index}].actions.artifactDelta`, event.actions.artifactDelta);
    if (event.id !== '' && ids.has(event.id))
      throw new InvalidRequestError(
        `events[${index}].id: is the id of an earlier event; give each event its own id, or no id`,
      );
    ids.add(event.id);
    completed.push(complete(event, platform));
    yield CHARS_OF_WRITE;
  }
  return completed;
}

function checkArtifactDelta(field: string, artifactDelta: Readonly<Record<string, number>>): void {
  for (const [filename, version] of Object.entries(artifactDelta)) {
    try {
      checkArtifactName(filename);
    } catch (cause) {
      const fault = toError(cause).message.replace(JSON.stringify(filename), () => quotedName(filename));
      throw new InvalidRequestError(`${field}: ${fault}`, { cause });
    }
    if (!Number.isSafeInteger(version) || version < 0) {
      throw new InvalidRequestError(
        `${field}: ${quotedName(filename)} has the version ${version}; versions are integers from 0`,
      );
    }
  }
}

function complete(event: Event, platform: Platform): Event {
  const given: Event = event;
  return {
    ...given,
    id: given.id || platform.newEventId(),
    invocationId: given.invocationId || newInvocationId(platform),
    timestamp: given.timestamp || platform.now() / 1000,
    actions: createEventActions(given.actions),
  };
}

/**
 * Prepares events from an untrusted client: models read them, but no run continues from them. Events from which a run could continue are
 * tagged as imported, because a rewind can reopen a closed call or run.
 *
 * @throws ForbiddenError for a call without a response, and for a resumable run without an end
 */
function asHistory(events: readonly Event[]): Event[] {
  const calls = new Calls(events);
  const open = calls.all.find((call) => call.responses.length === 0 && !calls.isReplaced(call));
  if (open) refuse(open.eventIndex, `the call ${quotedName(open.id)} without its response`);
  for (const [index, event] of newestEntries(events)) {
    if (beginsResumableRun(event) && calls.canContinue(event.invocationId))
      refuse(index, 'a run that can be resumed and did not end');
  }
  return events.map((event) =>
    beginsResumableRun(event) || getFunctionCalls(event).length > 0 ? withTag(event, EventTag.imported) : event,
  );
}

function refuse(index: number, what: string): never {
  throw new ForbiddenError(
    `events[${index}]: has ${what}, and imported events may not continue a run; remove it, or set trustImportedEvents on the server`,
  );
}
