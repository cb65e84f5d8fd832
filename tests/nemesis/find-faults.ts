import { type Event, getFunctionCalls, getFunctionResponses, ObjectType } from '@eventloom/core';
import { finalText } from './attacked-agent.ts';
import type { Answer, AnswerEnd, ClientSession } from './client.ts';

/** A session as it is stored when all attacks are over. */
export interface StoredSession {
  readonly session: ClientSession;
  readonly events: readonly Event[];
  /** The invocation ids of the runs that the store has as begun and not ended. */
  readonly openRuns: readonly string[];
}

/** All that is known after an attack. */
export interface Evidence {
  readonly sessions: readonly StoredSession[];
  /** The answers that clients got. */
  readonly answers: readonly Answer[];
  /** A line for each time that a tool ran that must not run twice. */
  readonly ran: readonly string[];
}

const PERSON_REQUEST = /^adk_request_/;
/** The sessions that are called in have ids that begin so. */
export const LIVE_SESSION = 'live-';
/** Told to a client that may send its message again: nothing of the message was stored. */
const REFUSALS = new Set(['SESSION_BUSY', 'SERVER_BUSY', 'SHUTTING_DOWN', 'SESSION_NOT_FOUND']);
/** These say nothing of the run: the client asks again. */
const NO_CLAIM = new Set(['STORAGE_UNAVAILABLE', 'RUN_RELAY', 'SLOW_READER', 'TOO_MANY_READERS']);
/** No agent here fails by itself, so that a client is never told that one did. */
const FALSE_ALARMS = new Set([
  'INTERNAL',
  'AGENT',
  'MODEL',
  'NODE',
  'CONFIGURATION',
  'INVALID_REQUEST',
  'NO_ANSWER',
  // With `onOpenRun: 'finish'` a message waits for the open run.
  'RUN_OPEN',
]);

/**
 * Finds what must not be, after any attack: a run without an end, a call without a response, anything twice, and a client that was told what is
 * not so. Returns one sentence for each fault.
 */
export function findFaults({ sessions, answers, ran }: Evidence): string[] {
  const calls = answers.filter(({ asked }) => asked === 'call');
  return [
    ...sessions.flatMap((session) => faultsOfSession(session, calls)),
    ...answers.flatMap((answer) => faultsOfAnswer(answer, answers, sessions)),
    ...repeated(ran).map((line) => `a tool ran twice that must not: ${line}`),
  ];
}

const isRefusal = (end: AnswerEnd): boolean => end.kind === 'error' && REFUSALS.has(end.code);
const nameOf = ({ appName, userId, sessionId }: ClientSession): string => `${appName}/${userId}/${sessionId}`;
const hasResponse = (event: Event, callId: string | undefined): boolean =>
  getFunctionResponses(event).some(({ id }) => id === callId);
const textsOf = ({ content }: Event): string[] => content?.parts?.flatMap(({ text }) => text ?? []) ?? [];
/** True for events of agents that run as tools, which are stored and not streamed. */
const isEnclosed = ({ branch = '' }: Event): boolean => branch.includes('@');
/** True for stored events that readers of their run get, unless these are enclosed. */
export const isStreamed = (event: Event): boolean =>
  event.author !== 'user' &&
  event.partial !== true &&
  (event.content !== undefined || event.errorCode !== undefined) &&
  event.object !== ObjectType.runnerCompletion &&
  event.object !== ObjectType.agentTransfer;

function repeated(items: readonly string[]): string[] {
  return [...new Set(items.filter((item, index) => items.indexOf(item) !== index))];
}

/** Names a stored message; answers to calls on several branches are an event on each. Nothing for messages that cannot be told apart. */
function messageKey(event: Event): string[] {
  const { author, requestId, branch = '' } = event;
  return author !== 'user' || requestId === undefined || isEnclosed(event) ? [] : [`of ${requestId} on "${branch}"`];
}

function faultsOfSession({ session, events, openRuns }: StoredSession, calls: readonly Answer[]): string[] {
  const faults = [
    ...openRuns.map((run) => `the run ${run} has no end: it is open`),
    ...repeated(events.map(({ id }) => id)).map((id) => `the event ${id} is stored twice`),
    ...repeated(events.filter((event) => event.author === 'user' && !isEnclosed(event)).flatMap(textsOf)).map(
      (text) => `the message "${text}" is stored twice`,
    ),
    ...repeated(events.flatMap(messageKey)).map((key) => `the message ${key} is stored twice`),
  ];
  for (const [id, run] of Map.groupBy(events, ({ invocationId }) => invocationId)) {
    faults.push(...faultsOfCalls(id, run, events));
    // Messages of text runs have request ids.
    const isLive = session.sessionId.startsWith(LIVE_SESSION) && run.every(({ requestId }) => requestId === undefined);
    faults.push(...(isLive ? faultsOfLiveRun(id, run, calls) : faultsOfRun(id, run, events)));
  }
  return faults.map((fault) => `${nameOf(session)}: ${fault}`);
}

/** A call of a run, and the responses to it. */
interface RunCall {
  readonly id: string | undefined;
  readonly responses: readonly Event[];
  /** True if the run may end without its response, which comes later. */
  readonly isWaiting: boolean;
  readonly mostResponses: number;
}

/** @param events all events of the session: a later run may answer a call */
function callsOfRun(id: string, run: readonly Event[], events: readonly Event[]): RunCall[] {
  return run.flatMap((event) =>
    getFunctionCalls(event).map((call) => {
      const responses = events.filter(
        (other) => (other.branch ?? '') === (event.branch ?? '') && hasResponse(other, call.id),
      );
      const mayWait = event.longRunningToolIds?.includes(call.id ?? '') === true;
      const isAsked = events.some((other) =>
        getFunctionCalls(other).some(
          ({ name = '', args }) => PERSON_REQUEST.test(name) && JSON.stringify(args).includes(`"${call.id}"`),
        ),
      );
      const isWaiting = mayWait && !responses.some(({ invocationId }) => invocationId === id);
      return { id: call.id, responses, isWaiting, mostResponses: mayWait || isAsked ? 2 : 1 };
    }),
  );
}

function faultsOfCalls(id: string, run: readonly Event[], events: readonly Event[]): string[] {
  return callsOfRun(id, run, events).flatMap((call) => [
    ...(call.responses.length === 0 && !call.isWaiting ? [`the call ${call.id} of the run ${id} has no response`] : []),
    ...(call.responses.length > call.mostResponses
      ? [`the call ${call.id} has ${call.responses.length} responses`]
      : []),
  ]);
}

/** A call over a WebSocket says nothing to a message at which its client is gone. */
function faultsOfLiveRun(id: string, run: readonly Event[], calls: readonly Answer[]): string[] {
  if (run.some(({ errorCode }) => errorCode !== undefined)) return [];
  const isWhole = calls.some(({ invocationId, end }) => invocationId === id && end.kind === 'completed');
  const tokens = run.flatMap((event) =>
    event.author === 'user' && !isEnclosed(event) ? textsOf(event).flatMap((text) => text.split(' ')[1] ?? []) : [],
  );
  const toBeAnswered = isWhole ? tokens : tokens.slice(0, -1);
  return toBeAnswered.flatMap((token) => {
    const own = run.filter((event) => !isEnclosed(event));
    const finals = own.filter((event) => textsOf(event).some((text) => text.includes(finalText(token))));
    return finals.length === 1 ? [] : [`the live run ${id} has ${finals.length} answers to "${token}"`];
  });
}

function faultsOfRun(id: string, run: readonly Event[], events: readonly Event[]): string[] {
  const faults: string[] = [];
  const isWaiting = callsOfRun(id, run, events).some((call) => call.isWaiting);
  const messages = run.filter((event) => event.author === 'user' && !isEnclosed(event));
  if (messages.length === 0) faults.push(`the run ${id} has no message`);
  const isFailed = run.some(({ errorCode }) => errorCode !== undefined);
  const [token = ''] = messages.flatMap(textsOf).flatMap((text) => text.split(' ')[1] ?? []);
  const finals = run.filter((event) => textsOf(event).some((text) => text.includes(finalText(token))));
  const speakers = finals.map(({ author, branch = '' }) => `${author} on "${branch}"`);
  if (messages.length === 1)
    faults.push(...repeated(speakers).map((speaker) => `the answer to "${token}" is stored twice, by ${speaker}`));
  const isEnded = run.some(({ object }) => object === ObjectType.runnerEnd);
  const isResumable = run[0]?.actions.agentState?.['resumable'] === true;
  if (isResumable && !isEnded && !isWaiting && !isFailed)
    faults.push(`the run ${id} has no end: no ${ObjectType.runnerEnd}, no error, and it waits for nobody`);
  // An answer to what an earlier run asked may find the model at a later message.
  const isAnswered = messages.length > 1 || token === '' || finals.length > 0;
  if (!isAnswered && !isFailed && !isWaiting)
    faults.push(`the run ${id} has no end: "${token}" is not answered, there is no error, and it waits for nobody`);
  return faults;
}

function faultsOfAnswer(answer: Answer, answers: readonly Answer[], sessions: readonly StoredSession[]): string[] {
  const { session, text, requestId, invocationId, frames, end, asked } = answer;
  const stored = sessions.find((each) => nameOf(each.session) === nameOf(session))?.events ?? [];
  const run = stored.filter((event) => event.invocationId === invocationId);
  const messages = run.filter((event) => event.author === 'user' && !isEnclosed(event));
  const faults: string[] = [];
  const streamed = run.filter((event) => isStreamed(event) && !isEnclosed(event)).map(({ id }) => id);
  const told = frames.flatMap(({ event }) => (isStreamed(event) ? event.id : []));
  const from = told[0] === undefined ? 0 : streamed.indexOf(told[0]);
  if (told.some((id) => !streamed.includes(id))) faults.push('it was told events that are not stored');
  else if (told.some((id, index) => streamed[from + index] !== id))
    faults.push(`it was told events out of order or with gaps: ${told.join()} of ${streamed.join()}`);
  else if (from > 0 && (asked === 'follow' || asked === 'call' || (asked === 'send' && text !== undefined)))
    faults.push(`it was not told the first ${from} events`);
  const numbers = frames.map(({ id }) => Number(id));
  if (asked !== 'call' && numbers.some((number, index) => !(number > (numbers[index - 1] ?? 0))))
    faults.push(`the numbers of its events do not grow: ${numbers.join()}`);
  const failures = run.filter(({ errorCode }) => errorCode !== undefined);
  const message =
    requestId === undefined
      ? undefined
      : stored.find((event) => event.author === 'user' && event.requestId === requestId);
  if (end.kind === 'completed' || end.kind === 'nothing') {
    if (run.length === 0) faults.push('it was told that the run completed, which is not stored');
    // A run that waited was completed for its client, and may have failed when it was answered.
    else if (end.kind === 'completed' && messages.length === 1) {
      // The client of a run that failed gets the event that says so.
      if (failures.length > 0 && !failures.some(({ id }) => told.includes(id)))
        faults.push(`it was told that the run completed, which failed: ${failures[0]?.errorCode}`);
      else if (told.length > 0 && told.at(-1) !== streamed.at(-1))
        faults.push('it was told that the run completed before its last event');
    }
  } else if (end.kind === 'error') {
    const { code } = end;
    if (FALSE_ALARMS.has(code)) faults.push(`it was told ${code}: ${end.message}`);
    else if (code === 'RUN_GOES_ON') {
      if (run.length === 0) faults.push('it was told that the run goes on, which is not stored');
    } else if (isRefusal(end) && asked === 'call') {
      // The client of a call has to call again; what was said is stored.
    } else if (isRefusal(end)) {
      // Another request with the message may have stored it.
      const isAlone = answers.every((other) => other.requestId !== requestId || isRefusal(other.end));
      const itsRun = isAlone && message ? stored.filter((event) => event.invocationId === message.invocationId) : run;
      // A failure that is stored is one, and not to be sent again.
      if (isAlone && itsRun.length > 0 && itsRun.every(({ errorCode }) => errorCode === undefined))
        faults.push(`it was told to send again (${code}), and the message is stored`);
    } else if (code === 'INVALID_MESSAGE') {
      const unanswered = answer.callIds.filter((callId) => !stored.some((event) => hasResponse(event, callId)));
      if (message) faults.push(`its message was refused and is stored: ${end.message}`);
      // A run that was closed has responses to its calls.
      else if (answer.callIds.length === 0 || unanswered.length > 0)
        faults.push(`its message was refused: ${end.message}`);
    } else if (code === 'RUN_NOT_FOUND') {
      if (run.length > 0) faults.push('it was told that there is no such run, which is stored');
    } else if (code === 'RUN_EVENTS_GONE') {
      if (asked !== 'continue') faults.push(`it asked for all events, and was told ${code}: ${end.message}`);
    } else if (!NO_CLAIM.has(code) && !failures.some(({ errorCode }) => errorCode === code)) {
      const told = `it was told that the run failed (${code}: ${end.message})`;
      faults.push(`${told}, and no such failure is stored`);
    }
  }
  const name = `${asked} ${text === undefined ? (requestId ?? '') : `"${text}"`} to ${nameOf(session)}, run ${invocationId}`;
  return faults.map((fault) => `a client (${name}): ${fault}`);
}
