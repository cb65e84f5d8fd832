import {
  type BaseSessionService,
  createEvent,
  type Event,
  type EventActions,
  type EventParams,
  type GetSessionConfig,
  type Session,
  type SessionKey,
} from '@eventloom/core';
import type { ManualPlatform } from '@eventloom/core/conformance';
import type { Subject } from './session-rule.ts';

/** The key of the session that most cases use. */
export const KEY: SessionKey = { appName: 'app', userId: 'user', sessionId: 'session' };

/** The key of another session of the same user. */
export const OTHER_KEY: SessionKey = { ...KEY, sessionId: 'other' };

/** Returns a whole event with this id. */
export function sampleEvent(id: string, params: EventParams = {}): Event {
  return createEvent({
    id,
    invocationId: 'e-1',
    author: 'agent',
    timestamp: 1_767_323_045.25,
    content: { role: 'model', parts: [{ text: `text of ${id}` }] },
    ...params,
  });
}

/** Returns an event that changes state. */
export function stateEvent(id: string, stateDelta: Record<string, unknown>, removedState?: string[]): Event {
  const actions: Partial<EventActions> = removedState ? { stateDelta, removedState } : { stateDelta };
  return sampleEvent(id, { actions });
}

/** Reads the stored session, which must exist. */
export async function readSession(
  { service, expect }: Subject,
  key: SessionKey = KEY,
  config?: GetSessionConfig,
): Promise<Session> {
  const session = await expect.fulfils('getSession', service.getSession({ ...key, config }));
  return expect.present(`the session ${key.sessionId}`, session);
}

/** Returns the ids of events, in order. */
export function idsOf(session: Session): string[] {
  return session.events.map(({ id }) => id);
}

/** Appends events with these ids one by one. */
export async function appendAll(service: BaseSessionService, session: Session, ids: readonly string[]): Promise<void> {
  for (const id of ids) await service.appendEvent({ session, event: sampleEvent(id) });
}

/**
 * Resolves when every call in progress has ended or waits for the clock, which is not advanced: the storage was not
 * busy for some turns of the event loop, in which its answers were handled.
 */
export async function settle(subject: { isBusy?(): boolean } = {}): Promise<void> {
  for (let idleTurns = 0; idleTurns < 5; idleTurns = subject.isBusy?.() ? 0 : idleTurns + 1) {
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

/** Advances the clock in steps until the promise settles or `totalMs` have passed. */
export async function passTime(
  subject: { readonly platform: ManualPlatform; isBusy?(): boolean },
  totalMs: number,
  until: Promise<unknown>,
  steps = 20,
): Promise<void> {
  let isSettled = false;
  const settled = (): void => void (isSettled = true);
  until.then(settled, settled);
  await settle(subject);
  for (let step = 0; step < steps && !isSettled; step++) {
    subject.platform.advance(totalMs / steps);
    await settle(subject);
  }
}
