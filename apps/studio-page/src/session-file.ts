import { emptyConversation, reduceEvents } from '@eventloom/client';
import type { Event, Part, SessionKey } from '@eventloom/core';
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

const NO_ACTIONS = { stateDelta: {}, artifactDelta: {} };

/** The response to a call that had none when its session was exported. */
const INTERRUPTED = {
  error: 'interrupted',
  message: 'The session was exported before the call had its result. It may or may not have had its effect.',
};

/**
 * Returns the events of a session with responses to the calls that have none, and with the ends of the runs that could continue. The events are
 * history then. A request to a person is answered together with the call that it is about.
 */
export function closeCalls(given: readonly Event[]): readonly Event[] {
  // Events of other servers may lack actions.
  const events = given.map((event) => ({ ...event, actions: { ...NO_ACTIONS, ...event.actions } }));
  const { messages, requests } = reduceEvents(emptyConversation, events);
  const calls = messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === 'call' && part.endedAt === undefined ? part : [])),
  );
  const ids = new Set([...requests, ...calls].map(({ id }) => id));
  // Calls whose first response says that they wait.
  for (const { callId } of requests) if (callId !== undefined) ids.add(callId);
  // The server gives the events ids.
  const common = { id: '', timestamp: events.at(-1)?.timestamp ?? 0, actions: NO_ACTIONS };
  const responses = [...ids].flatMap((id): Event[] => {
    const isCall = ({ functionCall }: Part): boolean => functionCall?.id === id;
    const asking = events.findLast(({ content }) => content?.parts?.some(isCall));
    const name = asking?.content?.parts?.find(isCall)?.functionCall?.name;
    if (!asking || name === undefined) return [];
    const { author, invocationId, executionId, branch } = asking;
    return [
      {
        ...common,
        author,
        invocationId,
        ...(executionId !== undefined && { executionId }),
        ...(branch !== undefined && { branch }),
        content: { role: 'user', parts: [{ functionResponse: { id, name, response: INTERRUPTED } }] },
      },
    ];
  });
  const kept = new Set(messages.map(({ invocationId }) => invocationId));
  const ended = new Set(events.flatMap(({ object, invocationId }) => (object === 'runner.end' ? invocationId : [])));
  const begun = events.flatMap(({ author, actions, invocationId }) =>
    author === 'user' && actions.agentState?.['resumable'] === true ? invocationId : [],
  );
  const ends = begun
    .filter((run) => kept.has(run) && !ended.has(run))
    .map((invocationId): Event => {
      const actions = { ...NO_ACTIONS, endOfAgent: true };
      return { ...common, author: 'user', invocationId, object: 'runner.end', actions };
    });
  return [...events, ...responses, ...ends];
}
