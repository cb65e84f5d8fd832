import { createEvent, type Event, type SessionRecord, systemPlatform } from '@eventloom/core';
import { SESSION_RECORD_VERSION } from '@eventloom/core/internal';
import { APP } from '../setup.ts';

/** Returns an event with a short answer and the current time. */
export function answerEvent(): Event {
  return sampleEvent('agent', systemPlatform.now() / 1000);
}

/** An event that summarizes all earlier events, and is appended with this number. */
export function compactionEvent(seq: number): Event {
  const endTimestamp = systemPlatform.now() / 1000;
  const compactedContent = { role: 'model', parts: [{ text: 'There were questions and answers.' }] };
  return createEvent({
    id: systemPlatform.newEventId(),
    invocationId: 'e-bench',
    author: 'user',
    timestamp: endTimestamp,
    actions: {
      compaction: { startTimestamp: 0, endTimestamp, compactedContent },
      history: { seq, keptFrom: seq },
    },
  });
}

/**
 * Returns the records of a session to import: alternating questions and answers, a millisecond apart, the last one a
 * second ago.
 */
export function* sessionRecords(id: string, events: number): Generator<SessionRecord, void, undefined> {
  const lastUpdateTime = systemPlatform.now() / 1000 - 1;
  const version = SESSION_RECORD_VERSION;
  yield { type: 'session', version, ...APP, id, lastUpdateTime, initialState: {}, state: {} };
  for (let index = 0; index < events; index++) {
    const author = index % 2 === 0 ? 'user' : 'agent';
    yield { type: 'event', event: sampleEvent(author, lastUpdateTime - (events - index) / 1000) };
  }
  yield { type: 'end', events, toolCalls: 0 };
}

function sampleEvent(author: 'user' | 'agent', timestamp: number): Event {
  const role = author === 'user' ? 'user' : 'model';
  const text = author === 'user' ? 'What is the answer?' : 'The answer is 42.';
  return createEvent({
    id: systemPlatform.newEventId(),
    invocationId: 'e-bench',
    author,
    timestamp,
    content: { role, parts: [{ text }] },
  });
}
