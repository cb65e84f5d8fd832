import type { Event, SessionKey } from '@eventloom/core';
import { artifactsInFile, type ExportedArtifact } from './exported-artifacts.ts';
import { ownState, type StateValues } from './past-state.ts';

/** The content of the file of a session. */
export interface ExportedSession {
  /** The state with which the session began. The events have the changes. */
  readonly state: StateValues;
  readonly events: readonly Event[];
  readonly artifacts: readonly ExportedArtifact[];
}

/** Saves the session as a file that `readExport` reads. */
export function saveExport(
  { appName, userId, sessionId }: SessionKey,
  { state, events, artifacts }: ExportedSession,
): void {
  const stored = events.filter(({ id }) => !id.startsWith('local-'));
  const text = JSON.stringify({ appName, userId, id: sessionId, state, events: stored, artifacts }, undefined, 2);
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `${sessionId}.json`;
  link.click();
  URL.revokeObjectURL(url);
}

/** @throws TypeError for a text that is not a session */
export function readExport(text: string): ExportedSession {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new TypeError('expected JSON: an exported session, or the response of GET …/sessions/{id}', { cause });
  }
  const { state = {}, events, artifacts } = isRecord(value) ? value : {};
  if (!isRecord(state) || !Array.isArray(events))
    throw new TypeError('expected an object with a list "events": an exported session');
  // The server checks every event, and accepts no summaries of events that another server wrote.
  const kept = (events as Partial<Event>[]).filter((event) => event?.actions?.compaction === undefined);
  // The file has no state of the user and the app, so an old file does not change it.
  return { state: ownState(state), events: kept as Event[], artifacts: artifactsInFile(artifacts) };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
