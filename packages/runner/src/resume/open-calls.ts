import {
  type Content,
  type Event,
  type FunctionCall,
  isPersonRequest,
  mergeEventActions,
  type Part,
  type ToolLedgerEntry,
  type EventActions,
} from '@eventloom/core';

/** What the calls of one event are answered with when their run is given up. */
export interface AbandonedAnswers {
  /** The event with the calls. */
  readonly asking: Event;
  readonly content: Content;
  /** What those changed that are finished. */
  readonly actions: EventActions;
}

/** What is said of a call that was begun, and of one that was not. */
const CUT_OFF = 'The call was cut off, and its run was given up. It may have had its effect or not.';
const NOT_BEGUN = 'The run was given up before the call began.';

/**
 * Answers for the calls of a run that have none, so that a model can be asked again: what the ledger says of those that are finished,
 * and of the others that they were interrupted. A finished call whose answer comes later, and a question to a person, stay open:
 * they are answered in a new run.
 */
export function answerOpenCalls(events: readonly Event[], ledger: readonly ToolLedgerEntry[]): AbandonedAnswers[] {
  const entries = new Map(ledger.map((entry) => [entry.callId, entry]));
  const answers: AbandonedAnswers[] = [];
  for (const [asking, calls] of openCalls(events)) {
    const parts: Part[] = [];
    const changes: Partial<EventActions>[] = [];
    for (const { id = '', name = '' } of calls) {
      const entry = entries.get(`${asking.id}/${id}`);
      if (entry?.status === 'finished' && !entry.response) continue;
      parts.push({ functionResponse: { id, name, response: { ...responseOf(entry) } } });
      if (entry?.status === 'finished' && entry.actions) changes.push(changesOf(entry.actions));
    }
    if (parts.length > 0)
      answers.push({ asking, content: { role: 'user', parts }, actions: mergeEventActions(changes) });
  }
  return answers;
}

/** Models may give the calls of every reply the same ids: a response is of the last call of its id, on its branch. */
function openCalls(events: readonly Event[]): Map<Event, FunctionCall[]> {
  const open = new Map<string, { readonly asking: Event; readonly call: FunctionCall }>();
  for (const event of events) {
    for (const { functionCall, functionResponse } of event.content?.parts ?? []) {
      const place = `${event.branch ?? ''}\0${functionCall?.id ?? functionResponse?.id ?? ''}`;
      if (functionResponse) open.delete(place);
      if (functionCall && !isPersonRequest(functionCall)) open.set(place, { asking: event, call: functionCall });
    }
  }
  const byEvent = new Map<Event, FunctionCall[]>();
  for (const { asking, call } of open.values()) byEvent.set(asking, [...(byEvent.get(asking) ?? []), call]);
  return byEvent;
}

function responseOf(entry: ToolLedgerEntry | undefined): Readonly<Record<string, unknown>> {
  if (entry?.response) return entry.response;
  return { error: 'interrupted', message: entry ? CUT_OFF : NOT_BEGUN };
}

/** Where it wanted to lead the run is of no account any more. */
function changesOf({ stateDelta, removedState, artifactDelta }: Partial<EventActions>): Partial<EventActions> {
  return {
    ...(stateDelta ? { stateDelta } : {}),
    ...(removedState ? { removedState } : {}),
    ...(artifactDelta ? { artifactDelta } : {}),
  };
}
