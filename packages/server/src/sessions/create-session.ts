import {
  checkArtifactName,
  createEventActions,
  type Event,
  InvalidRequestError,
  type Platform,
  type Session,
  sessionKeyOf,
  toError,
} from '@eventloom/core';
import type { Runner } from '@eventloom/runner';
import { hasControlCharacter } from '../http/check-id.ts';
import { quotedName } from '../http/quoted-name.ts';
import type { ServerContext } from '../server-context.ts';
import { asHistory } from './as-history.ts';

/** How long it may take to write the events of a session. */
const IMPORT_MS = 60_000;
/** Events, and keys of state, that are written in a row. */
const SLICE = 100;

/** A session to be made. */
export interface SessionToCreate {
  readonly userId: string;
  readonly sessionId: string | undefined;
  readonly state: Readonly<Record<string, unknown>> | undefined;
  /** What the session starts with, in this order. */
  readonly events: readonly Event[] | undefined;
}

/**
 * Creates a session, and appends the events it starts with. When that fails there is no session.
 * @throws SessionAlreadyExistsError InvalidRequestError ForbiddenError StateKeyError StateValueError
 */
export async function createSession(
  { appName, sessionService }: Runner,
  { platform, trustsImportedEvents }: ServerContext,
  { userId, sessionId, state, events: given = [] }: SessionToCreate,
): Promise<Session> {
  checkEvents(given);
  const completed = given.map((event) => complete(event, platform));
  const events = trustsImportedEvents ? completed : asHistory(completed);
  const session = await sessionService.createSession({ appName, userId, sessionId, state });
  if (events.length === 0) return session;
  const key = sessionKeyOf(session);
  try {
    const lease = await sessionService.acquireLease({ ...key, ttlMs: IMPORT_MS });
    try {
      let written = 0;
      for (const event of events) {
        await sessionService.appendEvent({ session, event, lease });
        written += 1 + Object.keys(event.actions.stateDelta).length;
        if (written < SLICE) continue;
        // Storage in this process answers at once: others have their turn now and then.
        await new Promise<void>((resolve) => void platform.schedule(0, resolve));
        written = 0;
      }
    } finally {
      await sessionService.releaseLease(lease);
    }
  } catch (error) {
    await sessionService.deleteSession(key);
    throw error;
  }
  return session;
}

function checkEvents(events: readonly Event[]): void {
  const ids = new Set<string>();
  for (const [index, event] of events.entries()) {
    if (event.partial === true)
      throw new InvalidRequestError(`events[${index}]: is partial, and chunks are not stored`);
    if (event.author === '') throw new InvalidRequestError(`events[${index}].author: is missing`);
    if (hasControlCharacter(event.author))
      throw new InvalidRequestError(`events[${index}].author: holds a control character`);
    checkArtifactDelta(`events[${index}].actions.artifactDelta`, event.actions.artifactDelta);
    if (event.id !== '' && ids.has(event.id))
      throw new InvalidRequestError(`events[${index}].id: is the id of an earlier event`);
    ids.add(event.id);
  }
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
    invocationId: given.invocationId || `e-${platform.newUuid()}`,
    timestamp: given.timestamp || platform.now() / 1000,
    actions: createEventActions(given.actions),
  };
}
