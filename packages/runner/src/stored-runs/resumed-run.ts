import {
  type BaseAgent,
  type Content,
  type Event,
  type InvocationContext,
  InvalidRequestError,
  type RunConfig,
} from '@eventloom/core';
import {
  beginsResumableRun,
  Calls,
  errorOfEvent,
  InvocationLog,
  isYielded,
  newestFirst,
  outcomeOfEvent,
  RunMark,
  type SessionCall,
  streamedRecordOf,
  toStreamed,
} from '@eventloom/core/internal';
import { FROM_THE_START } from '../history-reader.ts';
import { agentsAndTools } from '../open-toolsets.ts';
import { answersGoneAgent, lastSpeaker, type PickedAgent } from '../pick-agent.ts';
import type { Runner } from '../runner.ts';
import type { LoadedSession } from '../session-loader.ts';
import { readStoredConfig } from './run-marks.ts';

/** A run that is resumed. */
export interface ResumedRun {
  readonly log: InvocationLog;
  /** The message that started the run. */
  readonly userContent: Content;
  /** The agent that the run started with. */
  readonly picked: PickedAgent;
  /** The stored part of the run's config. */
  readonly config: RunConfig;
}

/**
 * Reads the stored part of a resumed run from the session.
 *
 * @param callIds the ids of the calls that the message answers
 * @throws InvalidRequestError for a run that the session does not have, that was not resumable, or that has ended
 * @throws InvalidMessageError for answers that an agent waits for that the tree no longer has
 */
export function readResumedRun(
  runner: Runner,
  { session, derived }: Pick<LoadedSession, 'session' | 'derived'>,
  invocationId: string,
  callIds: readonly string[],
): ResumedRun {
  const { events } = session;
  const calls = Calls.of({ session, derived });
  const own = eventsOfRun(events, invocationId);
  const [first] = own;
  const fail = (fault: string): never => {
    throw new InvalidRequestError(`invocationId: the run ${JSON.stringify(invocationId)} ${fault}`);
  };
  if (!first?.content) return fail('is not a run of this session, or was rewound; send a message without invocationId');
  if (!beginsResumableRun(first))
    return fail('was not resumable, or was imported; send a message without invocationId');
  if (calls.hasEnded(invocationId)) return fail('has ended; send a message without invocationId');
  // Records of streamed events are of the app.
  const began = own.find(
    (event) => event.author !== 'user' && event.executionId === invocationId && !streamedRecordOf(event),
  );
  const agent = began ? runner.agent.findAgent(began.author) : firstAgent(runner.agent, first, events, calls);
  const log = new InvocationLog(own);
  const gone = agent ? goneAgent(runner.agent, log, first, calls.answerable(callIds, invocationId)) : began?.author;
  if (gone !== undefined && callIds.length > 0) throw answersGoneAgent(gone);
  if (!agent) return fail(`began with the agent "${gone}", and no agent has that name`);
  return {
    log,
    userContent: first.content,
    picked: { agent, branch: first.branch },
    config: readStoredConfig(first),
  };
}

/**
 * Returns the name of an agent that made one of these calls, or that the maker of the call ran within, if the tree had
 * the agent when the run began, and no longer has it. Custom agents, callbacks and toolsets may create further agents,
 * which are never in the tree. Undefined for a run that does not have the names of its agents.
 */
function goneAgent(
  root: BaseAgent,
  log: InvocationLog,
  first: Event,
  answered: readonly (SessionCall | undefined)[],
): string | undefined {
  const before = first.actions.agentState?.[RunMark.agents];
  if (!Array.isArray(before)) return undefined;
  const names = new Set(Array.from(agentsAndTools(root), ({ name }) => name));
  const gone = new Set<unknown>(before.filter((name) => !names.has(name)));
  // The branch of a call has the names of parallel agents and of agents that were called as tools, and the ids of their calls.
  return answered
    .flatMap((request) => request?.about?.event ?? request?.event ?? [])
    .flatMap((event) => [...log.authorsAround(event), ...(event.branch ?? '').split(/[.@]/)])
    .find((name) => gone.has(name));
}

/**
 * Throws the stored error of a run that was aborted or closed, and whose process ended before it stored the end: none of
 * its agents continues. The error has its event already.
 */
export function checkNotAborted({ log }: ResumedRun, context: InvocationContext): void {
  const last = log.events.at(-1);
  if (!last || !isYielded(last) || outcomeOfEvent(last).state !== 'interrupted') return;
  const error = errorOfEvent(last);
  context.progress.markReported(error);
  throw error;
}

/** The events of a run in order, without rewound ones. Empty if the session does not have the run, or was rewound to before it. */
export function eventsOfRun(events: readonly Event[], invocationId: string): Event[] {
  return [...newestFirst(events)].filter((event) => event.invocationId === invocationId).reverse();
}

/**
 * Returns the agent that a message started, if that agent stored no event: the agent whose call the message answers, or
 * the last agent that spoke before the message.
 */
function firstAgent(root: BaseAgent, message: Event, events: readonly Event[], calls: Calls): BaseAgent {
  const [answered] = calls.respondedIn(message);
  const before = events.slice(0, events.indexOf(message));
  return (answered && root.findAgent(answered.event.author)) ?? lastSpeaker(root, before, new Map());
}

/** An event that the stream of a resumed run yields again. */
export interface ReplayedEvent {
  readonly event: Event;
  /** The sequence number of the event; of an event of a sub-invocation, that of its record. */
  readonly seq: number;
}

/**
 * Returns the stored events that the run yielded, those of sub-invocations included, in the order in which it yielded
 * them.
 *
 * @param first the index of the first effective event of the run
 */
export function replayedEvents(
  { session, places = FROM_THE_START }: LoadedSession,
  { events }: InvocationLog,
  first = 0,
): ReplayedEvent[] {
  const replayed: ReplayedEvent[] = [];
  const byId = new Map(events.map((each) => [each.id, each]));
  let index = -1;
  for (const event of events.slice(first)) {
    index = session.events.indexOf(event, index + 1);
    const record = streamedRecordOf(event);
    const stored = record && byId.get(record.id);
    const yielded = isYielded(event) ? event : stored && toStreamed(record, event, stored);
    if (yielded) replayed.push({ event: yielded, seq: places.seqOf(index) });
  }
  return replayed;
}
