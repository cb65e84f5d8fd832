import { createEvent, type Event, type EventParams } from '@eventloom/core';
import { expect, test } from 'vitest';
import { finalText } from './attacked-agent.ts';
import type { Answer, AnswerEnd } from './client.ts';
import { type Evidence, findFaults } from './find-faults.ts';

const session = { appName: 'front', userId: 'ann', sessionId: 's' };
let events = 0;

function eventOf(params: Omit<EventParams, 'id' | 'invocationId'>): Event {
  return createEvent({ id: `event-${++events}`, invocationId: 'e-1', ...params });
}

const MESSAGE = eventOf({
  author: 'user',
  requestId: 'r',
  content: { role: 'user', parts: [{ text: 'tools m1' }] },
  actions: { agentState: { resumable: true } },
});
const CALL = eventOf({
  author: 'front',
  content: { role: 'model', parts: [{ functionCall: { id: 'c', name: 'book' } }] },
});
const RESPONSE = eventOf({
  author: 'front',
  content: { role: 'user', parts: [{ functionResponse: { id: 'c', name: 'book', response: {} } }] },
});
const FINAL = eventOf({ author: 'front', content: { role: 'model', parts: [{ text: finalText('m1') }] } });
const END = eventOf({ author: 'front', object: 'runner.end', actions: { endOfAgent: true } });
const FAILURE = eventOf({ author: 'front', errorCode: 'RUN_ABANDONED' });
const INNER = eventOf({ author: 'helper', branch: 'helper@c', content: { role: 'model', parts: [{ text: 'found' }] } });
const RECORD = eventOf({
  author: 'front',
  object: 'runner.streamed',
  actions: { agentState: { streamed: INNER.id, seq: 3 } },
});
const STORED = [MESSAGE, CALL, RESPONSE, FINAL, END];
const ANSWER = eventOf({ author: 'user', requestId: 'a', content: RESPONSE.content ?? {} });
const SPOKEN = eventOf({ author: 'user', content: { role: 'user', parts: [{ text: 'tools m1' }] } });
const RECEIVED = [CALL, RESPONSE, FINAL];

function answerOf(end: AnswerEnd, received = RECEIVED, changes: Partial<Answer> = {}): Answer {
  const frames = received.map((event, index) => ({ id: String(index + 1), event }));
  const question = { session, text: 'tools m1', requestId: 'r', callIds: [], asked: 'send' } as const;
  return { ...question, status: 200, invocationId: 'e-1', frames, end, ...changes };
}

function faultsOf(
  stored: readonly Event[],
  answer: Answer = answerOf({ kind: 'left' }, []),
  more: Partial<Evidence> = {},
): Promise<string[]> {
  return findFaults({ sessions: [{ session, events: stored, openRuns: [] }], answers: [answer], ran: [], ...more });
}

/** Returns the faults of a call whose client got its end. */
function liveFaultsOf(stored: readonly Event[]): Promise<string[]> {
  const called = { ...session, sessionId: 'live-1' };
  const received = stored.filter(({ author }) => author !== 'user');
  const answer = answerOf({ kind: 'completed' }, received, { session: called, asked: 'call', requestId: undefined });
  return findFaults({ sessions: [{ session: called, events: stored, openRuns: [] }], answers: [answer], ran: [] });
}

/** Returns the faults of a session whose run began with a webhook. @param sent the ids and states of the webhooks that were received */
function webhookFaultsOf(
  stored: readonly Event[],
  sent: readonly (readonly [id: string, state: string])[],
  invocationId = 'e-1',
): Promise<string[]> {
  const own = { ...session, sessionId: 'webhook-1' };
  const webhooks = sent.map(([id, state]) => ({ id, data: { ...own, invocationId, state } }));
  return findFaults({ sessions: [{ session: own, events: stored, openRuns: [] }], answers: [], ran: [], webhooks });
}

/** Returns the faults of a run that was reported as cancelled when these events were stored. */
function cancelFaultsOf(stored: readonly Event[], seen: readonly Event[] = stored): Promise<string[]> {
  return faultsOf(stored, undefined, {
    cancelled: [{ session, requestId: 'r', eventIds: seen.map(({ id }) => id) }],
  });
}

const failed = (code: string): AnswerEnd => ({ kind: 'error', code, message: 'so' });

test('findFaults returns nothing for runs whose client got all events, was disconnected, or got RUN_GOES_ON', async () => {
  expect(await faultsOf(STORED, answerOf({ kind: 'completed' }))).toEqual([]);
  expect(await faultsOf(STORED, answerOf({ kind: 'cut' }, [CALL]))).toEqual([]);
  const streamed = [MESSAGE, CALL, INNER, RECORD, RESPONSE, FINAL, END];
  expect(await faultsOf(streamed, answerOf({ kind: 'completed' }, [CALL, INNER, RESPONSE, FINAL]))).toEqual([]);
  expect(await faultsOf(STORED, answerOf(failed('RUN_GOES_ON'), [CALL]))).toEqual([]);
  expect(await faultsOf([MESSAGE, FAILURE, END], answerOf(failed('RUN_ABANDONED'), [FAILURE]))).toEqual([]);
  expect(await faultsOf([], answerOf(failed('SESSION_BUSY'), []))).toEqual([]);
  expect(await liveFaultsOf([SPOKEN, CALL, RESPONSE, FINAL])).toEqual([]);
  const [sent, again] = [
    ['msg_1', 'completed'],
    ['msg_1', 'completed'],
  ] as const;
  expect(await cancelFaultsOf([MESSAGE, FAILURE, END])).toEqual([]);
  expect(await cancelFaultsOf(STORED, [])).toEqual([]);
  expect(await webhookFaultsOf(STORED, [sent, again])).toEqual([]);
  expect(await webhookFaultsOf([MESSAGE, FAILURE, END], [['msg_1', 'interrupted']])).toEqual([]);
  const late = answerOf(failed('INVALID_MESSAGE'), [], { callIds: ['c'], requestId: 'other' });
  expect(await faultsOf([MESSAGE, CALL, RESPONSE, FAILURE, END], late)).toEqual([]);
});

test.each<[string, RegExp, Promise<string[]>]>([
  ['a run without its end', /has no end: it is open/, faultsOf([MESSAGE, CALL, RESPONSE, FINAL])],
  ['a run without an answer', /"m1" is not answered/, faultsOf([MESSAGE, CALL, RESPONSE, END])],
  [
    'a run that is open',
    /it is open/,
    faultsOf(STORED, undefined, { sessions: [{ session, events: STORED, openRuns: ['e-1'] }] }),
  ],
  ['a call without a response', /the call c of the run e-1 has no response/, faultsOf([MESSAGE, CALL, FINAL, END])],
  [
    'a call with two responses',
    /2 responses/,
    faultsOf([MESSAGE, CALL, RESPONSE, { ...RESPONSE, id: 'again' }, FINAL, END]),
  ],
  ['a message that is stored twice', /"tools m1" is stored twice/, faultsOf([...STORED, { ...MESSAGE, id: 'again' }])],
  ['an event that is stored twice', /the event event-\d+ is stored twice/, faultsOf([...STORED, END])],
  [
    'an answer that is stored twice',
    /the answer to "m1" is stored twice/,
    faultsOf([...STORED, { ...FINAL, id: 'again' }]),
  ],
  ['a tool that ran twice', /a tool ran twice/, faultsOf(STORED, undefined, { ran: ['book c', 'book c'] })],
  [
    'a failure that is not stored',
    /no such failure is stored/,
    faultsOf(STORED, answerOf(failed('STALE_WRITER'), [CALL])),
  ],
  [
    'a failure that is reported as an end',
    /which failed/,
    faultsOf([MESSAGE, CALL, RESPONSE, FAILURE], answerOf({ kind: 'completed' }, [CALL, RESPONSE])),
  ],
  ['an end before the last event', /before its last event/, faultsOf(STORED, answerOf({ kind: 'completed' }, [CALL]))],
  ['a run that is reported and not stored', /which is not stored/, faultsOf([], answerOf({ kind: 'completed' }, []))],
  [
    'a run that continues and is not stored',
    /continues, which is not stored/,
    faultsOf([], answerOf(failed('RUN_GOES_ON'), [])),
  ],
  ['a stored run that is not found', /no such run/, faultsOf(STORED, answerOf(failed('RUN_NOT_FOUND'), []))],
  ['a refusal of a message that is stored', /send again/, faultsOf(STORED, answerOf(failed('SHUTTING_DOWN'), []))],
  [
    'an event that is sent and not stored',
    /not stored/,
    faultsOf([MESSAGE, FINAL, END], answerOf({ kind: 'cut' }, [CALL])),
  ],
  ['a gap', /with gaps/, faultsOf(STORED, answerOf({ kind: 'cut' }, [CALL, FINAL]))],
  [
    'an event of an agent that runs as a tool, sent and not recorded as streamed',
    /not stored/,
    faultsOf([MESSAGE, CALL, INNER, RESPONSE, FINAL, END], answerOf({ kind: 'cut' }, [CALL, INNER])),
  ],
  [
    'an event of an agent that runs as a tool, recorded as streamed and not sent',
    /with gaps/,
    faultsOf([MESSAGE, CALL, INNER, RECORD, RESPONSE, FINAL, END], answerOf({ kind: 'cut' }, [CALL, RESPONSE])),
  ],
  ['a failed run that is not ended', /it is open/, faultsOf([MESSAGE, FAILURE])],
  ['a first event that is left out', /the first 1 events/, faultsOf(STORED, answerOf({ kind: 'cut' }, [RESPONSE]))],
  [
    'a code that no agent here causes',
    /it got AGENT/,
    faultsOf([MESSAGE, FAILURE], answerOf(failed('AGENT'), [FAILURE])),
  ],
  ['all events that are gone', /asked for all events/, faultsOf(STORED, answerOf(failed('RUN_EVENTS_GONE'), []))],
  [
    'a refusal because of an open run',
    /it got RUN_OPEN/,
    faultsOf([], answerOf({ kind: 'error', code: 'RUN_OPEN', message: 'so' }, [])),
  ],
  [
    'an answer that is refused and stored',
    /refused and is stored/,
    faultsOf(STORED, answerOf(failed('INVALID_MESSAGE'), [], { callIds: ['c'] })),
  ],
  [
    'an answer that is refused, to a call that has none',
    /its message was refused/,
    faultsOf([MESSAGE, CALL], answerOf(failed('INVALID_MESSAGE'), [], { callIds: ['c'], requestId: 'other' })),
  ],
  [
    'a request whose answers are stored twice',
    /the message of a on "" is stored twice/,
    faultsOf([...STORED, { ...ANSWER, id: 'one' }, { ...ANSWER, id: 'two' }]),
  ],
  ['a run that continues after it was cancelled', /has 2 later events/, cancelFaultsOf(STORED, STORED.slice(0, 3))],
  ['a webhook that was not sent', /was not sent/, webhookFaultsOf(STORED, [])],
  [
    'a webhook with two ids',
    /under more than one id/,
    webhookFaultsOf(STORED, [
      ['msg_1', 'completed'],
      ['msg_2', 'completed'],
    ]),
  ],
  ['a webhook with a wrong outcome', /that completed/, webhookFaultsOf(STORED, [['msg_1', 'interrupted']])],
  [
    'a webhook of a run that is not stored',
    /which is not stored/,
    webhookFaultsOf([], [['msg_1', 'completed']], 'e-2'),
  ],
  ['a live run with an open call', /the call c of the run e-1 has no response/, liveFaultsOf([SPOKEN, CALL, FINAL])],
  ['a live run without an answer', /0 answers to "m1"/, liveFaultsOf([SPOKEN, CALL, RESPONSE])],
])('findFaults finds %s', async (_name, expected, faults) => {
  expect(await faults).toContainEqual(expect.stringMatching(expected));
});
