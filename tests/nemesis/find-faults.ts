import { type Event, getFunctionResponses, ObjectType } from '@eventloom/core';
import { streamedRecordOf, toStreamed } from '@eventloom/core/internal';
import { findLooseEnds, type LooseEnd } from '@eventloom/runner';
import { finalText } from './attacked-agent.ts';
import type { Answer, AnswerEnd, CancelledRun, ClientSession } from './client.ts';
import type { WebhookMessage } from './webhook-receiver.ts';

/** A session as stored after all attacks. */
export interface StoredSession {
  readonly session: ClientSession;
  readonly events: readonly Event[];
  /** The invocation ids of the runs that are open in the store. */
  readonly openRuns: readonly string[];
}

/** All observations after an attack. */
export interface Evidence {
  readonly sessions: readonly StoredSession[];
  /** The answers that clients got. */
  readonly answers: readonly Answer[];
  /** A line for each run of a tool that must not run twice. */
  readonly ran: readonly string[];
  /** The runs that were reported as cancelled. */
  readonly cancelled?: readonly CancelledRun[];
  /** The webhooks that were received. */
  readonly webhooks?: readonly WebhookMessage[];
}

/** The ids of sessions whose runs begin with a webhook begin with this text. */
export const WEBHOOK_SESSION = 'webhook-';
/** The ids of sessions with calls begin with this text. */
export const LIVE_SESSION = 'live-';
/** Codes after which a client may send its message again, because no part of it was stored. */
const REFUSALS = new Set(['SESSION_BUSY', 'SERVER_BUSY', 'USER_LIMIT', 'SHUTTING_DOWN', 'SESSION_NOT_FOUND']);
/** Codes without information about the run: the client asks again. */
const NO_CLAIM = new Set(['STORAGE_UNAVAILABLE', 'USER_OBJECT', 'RUN_NOT_BEGUN', 'RUN_RELAY', 'TOO_MANY_READERS']);
/** Codes that no client may get, because no agent here fails by itself. */
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
  // Clients here read as fast as they can.
  'SLOW_READER',
]);

/**
 * Finds faults after any attack: a run without an end, a call without a response, duplicates, and wrong answers to
 * clients. Returns one sentence for each fault.
 */
export async function findFaults({
  sessions,
  answers,
  ran,
  cancelled = [],
  webhooks = [],
}: Evidence): Promise<string[]> {
  const calls = answers.filter(({ asked }) => asked === 'call');
  const found = await Promise.all(sessions.map((session) => faultsOfSession(session, calls)));
  return [
    ...found.flat(),
    ...answers.flatMap((answer) => faultsOfAnswer(answer, answers, sessions)),
    ...repeated(ran).map((line) => `a tool ran twice that must not: ${line}`),
    ...cancelled.flatMap((run) => faultsOfCancelled(run, sessions)),
    ...faultsOfWebhooks(sessions, webhooks),
  ];
}

const isRefusal = (end: AnswerEnd): boolean => end.kind === 'error' && REFUSALS.has(end.code);
const nameOf = ({ appName, userId, sessionId }: ClientSession): string => `${appName}/${userId}/${sessionId}`;
const hasResponse = (event: Event, callId: string | undefined): boolean =>
  getFunctionResponses(event).some(({ id }) => id === callId);
const textsOf = ({ content }: Event): string[] => content?.parts?.flatMap(({ text }) => text ?? []) ?? [];
/** True for events of agents that run as tools. */
const isEnclosed = ({ branch = '' }: Event): boolean => branch.includes('@');
/** True for events that readers of their run always get once the run has yielded them. */
export const isStreamed = (event: Event): boolean =>
  event.author !== 'user' &&
  event.partial !== true &&
  (event.content !== undefined || event.errorCode !== undefined) &&
  event.object !== ObjectType.runnerCompletion &&
  event.object !== ObjectType.agentTransfer;

/** Returns the ids of the stored events of a run that its readers get, in order. */
function streamedIds(run: readonly Event[]): string[] {
  const byId = new Map(run.map((event) => [event.id, event]));
  return run.flatMap((event) => {
    const record = streamedRecordOf(event);
    const stored = record && byId.get(record.id);
    const streamed = stored ? toStreamed(record, event, stored) : isEnclosed(event) ? undefined : event;
    return streamed && isStreamed(streamed) ? streamed.id : [];
  });
}

function repeated(items: readonly string[]): string[] {
  return [...new Set(items.filter((item, index) => items.indexOf(item) !== index))];
}

/**
 * Returns the key of a stored message; answers to calls on several branches have one event each. Empty for messages
 * that cannot be distinguished.
 */
function messageKey(event: Event): string[] {
  const { author, requestId, branch = '' } = event;
  return author !== 'user' || requestId === undefined || isEnclosed(event) ? [] : [`of ${requestId} on "${branch}"`];
}

async function faultsOfSession(stored: StoredSession, calls: readonly Answer[]): Promise<string[]> {
  const { session, events } = stored;
  const faults = [
    ...(await looseEndsOf(stored)).map(sayLooseEnd),
    ...repeated(events.map(({ id }) => id)).map((id) => `the event ${id} is stored twice`),
    ...repeated(events.filter((event) => event.author === 'user' && !isEnclosed(event)).flatMap(textsOf)).map(
      (text) => `the message "${text}" is stored twice`,
    ),
    ...repeated(events.flatMap(messageKey)).map((key) => `the message ${key} is stored twice`),
  ];
  for (const [id, run] of Map.groupBy(events, ({ invocationId }) => invocationId)) {
    // Messages of text runs have request ids.
    const isLive = session.sessionId.startsWith(LIVE_SESSION) && run.every(({ requestId }) => requestId === undefined);
    faults.push(...(isLive ? faultsOfLiveRun(id, run, calls) : faultsOfRun(id, run)));
  }
  return faults.map((fault) => `${nameOf(session)}: ${fault}`);
}

function looseEndsOf({ session, events, openRuns }: StoredSession): Promise<LooseEnd[]> {
  const run = { ...session, resumable: true, attempts: 1, heldUntilMs: 0 };
  const read = {
    listEvents: ({ order }: { readonly order?: 'asc' | 'desc' | undefined }) =>
      Promise.resolve({ events: order === 'desc' ? events.toReversed() : [...events] }),
    listOpenRuns: () => Promise.resolve({ runs: openRuns.map((invocationId) => ({ ...run, invocationId })) }),
  };
  return findLooseEnds(read, session);
}

function sayLooseEnd(end: LooseEnd): string {
  switch (end.kind) {
    case 'run-without-end':
      return `the run ${end.invocationId} has no end: it is open`;
    case 'call-without-response':
      return `the call ${end.callId} of the run ${end.invocationId} has no response`;
    case 'response-without-call':
      return `the run ${end.invocationId} has a response to ${end.callId} without its call`;
    case 'repeated-response':
      return `the call ${end.callId} of the run ${end.invocationId} has ${end.responses} responses`;
  }
}

/**
 * Checks that a run reported as cancelled stores no further event. A request that was cancelled while it waited for its
 * session can be sent again.
 */
function faultsOfCancelled(
  { session, requestId, eventIds }: CancelledRun,
  sessions: readonly StoredSession[],
): string[] {
  const stored = sessions.find((each) => nameOf(each.session) === nameOf(session))?.events ?? [];
  const message = stored.find((event) => event.author === 'user' && event.requestId === requestId);
  if (!message || !eventIds.includes(message.id)) return [];
  const late = stored.filter(({ id, invocationId }) => invocationId === message.invocationId && !eventIds.includes(id));
  if (late.length === 0) return [];
  return [`${nameOf(session)}: the run of ${requestId} was reported as cancelled and has ${late.length} later events`];
}

/** Checks that each run stored with a webhook has sent its outcome under one id, and that no webhook was sent for other runs. */
function faultsOfWebhooks(sessions: readonly StoredSession[], webhooks: readonly WebhookMessage[]): string[] {
  const faults: string[] = [];
  const known = new Set<string>();
  for (const { session, events } of sessions) {
    if (!session.sessionId.startsWith(WEBHOOK_SESSION)) continue;
    for (const [invocationId, run] of Map.groupBy(events, (event) => event.invocationId)) {
      known.add(invocationId);
      const sent = webhooks.filter(({ data }) => data.invocationId === invocationId);
      const isFailed = run.some(({ errorCode }) => errorCode !== undefined);
      const name = `${nameOf(session)}: the webhook of the run ${invocationId}`;
      if (sent.length === 0) faults.push(`${name} was not sent`);
      if (new Set(sent.map(({ id }) => id)).size > 1) faults.push(`${name} was sent under more than one id`);
      for (const { state } of sent.map(({ data }) => data))
        if (state !== (isFailed ? 'interrupted' : 'completed'))
          faults.push(`${name} says "${state}" of a run that ${isFailed ? 'was interrupted' : 'completed'}`);
    }
  }
  const others = webhooks.filter(({ data }) => !known.has(data.invocationId));
  return [
    ...faults,
    ...others.map(({ data }) => `a webhook was sent about the run ${data.invocationId}, which is not stored`),
  ];
}

/** True if the run ended at a call whose response comes later. */
function isRunWaiting(run: readonly Event[]): boolean {
  return run.some((event) =>
    event.longRunningToolIds?.some(
      (callId) => !run.some((other) => other.branch === event.branch && hasResponse(other, callId)),
    ),
  );
}

/** Returns the faults of a live run. A call does not answer a message during which its client disconnected. */
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

function faultsOfRun(id: string, run: readonly Event[]): string[] {
  const faults: string[] = [];
  const isWaiting = isRunWaiting(run);
  const messages = run.filter((event) => event.author === 'user' && !isEnclosed(event));
  if (messages.length === 0) faults.push(`the run ${id} has no message`);
  const isFailed = run.some(({ errorCode }) => errorCode !== undefined);
  const [token = ''] = messages.flatMap(textsOf).flatMap((text) => text.split(' ')[1] ?? []);
  const finals = run.filter((event) => textsOf(event).some((text) => text.includes(finalText(token))));
  const speakers = finals.map(({ author, branch = '' }) => `${author} on "${branch}"`);
  if (messages.length === 1)
    faults.push(...repeated(speakers).map((speaker) => `the answer to "${token}" is stored twice, by ${speaker}`));
  // An answer to the request of an earlier run may reach the model at a later message.
  const isAnswered = messages.length > 1 || token === '' || finals.length > 0;
  if (!isAnswered && !isFailed && !isWaiting)
    faults.push(`the run ${id} has no end: "${token}" is not answered, there is no error, and it waits for nobody`);
  return faults;
}

function faultsOfAnswer(answer: Answer, answers: readonly Answer[], sessions: readonly StoredSession[]): string[] {
  const { session, text, requestId, invocationId, frames, end, asked } = answer;
  const stored = sessions.find((each) => nameOf(each.session) === nameOf(session))?.events ?? [];
  const run = stored.filter((event) => event.invocationId === invocationId);
  // Answers to the requests of agents that run as tools are on the branches of these.
  const messages = run.filter((event) => event.author === 'user');
  const faults: string[] = [];
  const streamed = streamedIds(run);
  const received = frames.flatMap(({ event }) => (isStreamed(event) ? event.id : []));
  const from = received[0] === undefined ? 0 : streamed.indexOf(received[0]);
  if (received.some((id) => !streamed.includes(id))) faults.push('it got events that are not stored');
  else if (received.some((id, index) => streamed[from + index] !== id))
    faults.push(`it got events out of order or with gaps: ${received.join()} of ${streamed.join()}`);
  else if (from > 0 && (asked === 'follow' || asked === 'call' || (asked === 'send' && text !== undefined)))
    faults.push(`it did not get the first ${from} events`);
  const numbers = frames.map(({ id }) => Number(id));
  if (asked !== 'call' && numbers.some((number, index) => !(number > (numbers[index - 1] ?? 0))))
    faults.push(`the numbers of its events do not grow: ${numbers.join()}`);
  // A call that ended before its first event does not know its run.
  const ownEvents = asked === 'call' && invocationId === undefined ? stored : run;
  const failures = ownEvents.filter(({ errorCode }) => errorCode !== undefined);
  const message =
    requestId === undefined
      ? undefined
      : stored.find((event) => event.author === 'user' && event.requestId === requestId);
  if (end.kind === 'completed' || end.kind === 'nothing') {
    if (run.length === 0) faults.push('the answer says that the run completed, which is not stored');
    // A waiting run counts as completed for its client, and may have failed after it was answered.
    else if (end.kind === 'completed' && messages.length === 1) {
      // The client of a failed run gets the error event.
      if (failures.length > 0 && !failures.some(({ id }) => received.includes(id)))
        faults.push(`the answer says that the run completed, which failed: ${failures[0]?.errorCode}`);
      else if (received.length > 0 && received.at(-1) !== streamed.at(-1))
        faults.push('the answer says that the run completed before its last event');
    }
  } else if (end.kind === 'error') {
    const { code } = end;
    if (FALSE_ALARMS.has(code)) faults.push(`it got ${code}: ${end.message}`);
    else if (code === 'RUN_GOES_ON') {
      if (run.length === 0) faults.push('the answer says that the run continues, which is not stored');
    } else if (isRefusal(end) && asked === 'call') {
      // The client has to call again; the conversation so far is stored.
    } else if (isRefusal(end)) {
      // Another request with the message may have stored it.
      const isAlone = answers.every((other) => other.requestId !== requestId || isRefusal(other.end));
      const itsRun = isAlone && message ? stored.filter((event) => event.invocationId === message.invocationId) : run;
      // A stored failure is final, and must not be sent again.
      if (isAlone && itsRun.length > 0 && itsRun.every(({ errorCode }) => errorCode === undefined))
        faults.push(`the answer asks to send again (${code}), and the message is stored`);
    } else if (code === 'INVALID_MESSAGE') {
      const unanswered = answer.callIds.filter((callId) => !stored.some((event) => hasResponse(event, callId)));
      if (message) faults.push(`its message was refused and is stored: ${end.message}`);
      // A closed run has responses to its calls.
      else if (answer.callIds.length === 0 || unanswered.length > 0)
        faults.push(`its message was refused: ${end.message}`);
    } else if (code === 'RUN_NOT_FOUND') {
      if (run.length > 0) faults.push('the answer says that there is no such run, which is stored');
    } else if (code === 'RUN_EVENTS_GONE') {
      if (asked !== 'continue') faults.push(`it asked for all events, and got ${code}: ${end.message}`);
    } else if (!NO_CLAIM.has(code) && !failures.some(({ errorCode }) => errorCode === code)) {
      const received = `the answer says that the run failed (${code}: ${end.message})`;
      faults.push(`${received}, and no such failure is stored`);
    }
  }
  const name = `${asked} ${text === undefined ? (requestId ?? '') : `"${text}"`} to ${nameOf(session)}, run ${invocationId}`;
  return faults.map((fault) => `a client (${name}): ${fault}`);
}
