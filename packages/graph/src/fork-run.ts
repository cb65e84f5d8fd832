import {
  type BaseArtifactService,
  type BaseSessionService,
  ConfigurationError,
  createEvent,
  type Event,
  InvalidRequestError,
  type JsonValue,
  type Session,
  type SessionHeaderRecord,
  type SessionRecord,
  type ToolCallRecord,
} from '@eventloom/core';
import {
  addUnnamedArtifacts,
  APP_PREFIX,
  artifactsOf,
  beginsResumableRun,
  copyArtifacts,
  copyJson,
  USER_PREFIX,
  enclosingCallIds,
} from '@eventloom/core/internal';
import { checkpointOf, toAgentState, UPDATE } from './checkpoint.ts';
import { graphHistories } from './graph-history.ts';
import type { GraphPlan } from './graph-plan.ts';
import { START } from './names.ts';

/** Parameters of `GraphAgent.fork`: the run to fork, and the session to create. */
export interface ForkParams {
  readonly sessionService: BaseSessionService;
  /**
   * The service that stores the session's artifacts. Required if artifacts were saved before the step; the fork gets
   * their versions of that time. Artifacts that no event names, because the app saved them itself, are copied in their
   * current version. Deleted versions are not copied.
   */
  readonly artifactService?: BaseArtifactService | undefined;
  readonly appName: string;
  readonly userId: string;
  readonly sessionId: string;
  /** The invocation to fork. It must have been started with `resumable: true`. */
  readonly invocationId: string;
  /** The `executionId` of the graph's run, from its history. Default: the graph's last run in the invocation. */
  readonly executionId?: string | undefined;
  /** The last step to keep, from 1. With 0 only the beginning of the run is kept. */
  readonly step: number;
  /** The id of the session to create. */
  readonly newSessionId: string;
  /** New values of channels in the fork, by channel name, without reducers. Channels under `app:` and `user:` keys cannot be changed. */
  readonly update?: Readonly<Record<string, unknown>>;
}

/**
 * Copies a session as it was after a step of a graph, so that `runAsync({ sessionId: fork.id, invocationId })`
 * continues from there. The original session does not change. `app:` and `user:` state is shared between sessions, so
 * the fork sees its current values.
 * @throws InvalidRequestError for a run that is not resumable, a step that does not exist or is not complete, and an
 * update that does not match a channel or would change shared state
 * @throws ConfigurationError if artifacts were saved before the step and no `artifactService` is given
 * @throws SessionNotFoundError if the session does not exist
 * @throws SessionAlreadyExistsError if there is a session `newSessionId`
 */
export async function forkRun(plan: GraphPlan, params: ForkParams): Promise<Session> {
  const { sessionService, artifactService, appName, userId, sessionId, newSessionId, update } = params;
  const records: SessionRecord[] = [];
  for await (const record of sessionService.exportSession({ appName, userId, sessionId })) records.push(record);
  const events = records.flatMap((record) => (record.type === 'event' ? [record.event] : []));
  const last = lastEventOf(plan, events, params);
  const kept = events.slice(0, events.indexOf(last) + 1);
  const delta = update && (await checkedUpdate(plan, update));
  const artifacts = artifactsOf(kept);
  if (artifactService) {
    const later = artifactsOf(events.slice(kept.length).reverse());
    await addUnnamedArtifacts(artifactService, artifacts, later, { appName, userId, sessionId });
  }
  checkCopied(artifacts, artifactService);
  const copied = keptRecords(records, kept, last);
  const fork = await sessionService.importSession({ records: copied, sessionId: newSessionId });
  const target = { appName, userId, sessionId: newSessionId };
  try {
    if (artifactService) await copyArtifacts(artifactService, artifacts, { appName, userId, sessionId }, target);
    if (delta) await sessionService.appendEvent({ session: fork, event: updateEvent(plan, last, delta) });
  } catch (error) {
    await sessionService.deleteSession(target);
    throw error;
  }
  return fork;
}

/** Checks that the artifacts of a fork can be copied. @throws ConfigurationError if there are artifacts to copy and no service */
function checkCopied(artifacts: ReadonlyMap<string, number>, service: BaseArtifactService | undefined): void {
  const [filename] = artifacts.keys();
  if (filename !== undefined && !service)
    throw new ConfigurationError(
      `fork: the session saved ${JSON.stringify(filename)} before this step; pass the artifactService that stores it`,
    );
}

/** Creates the event with which a fork changes channels. */
function updateEvent(plan: GraphPlan, last: Event, { state, stateDelta }: Update): Event {
  const { invocationId, executionId = '', branch, parentExecutionId } = last;
  return createEvent({
    id: `${last.id}-update`,
    invocationId,
    author: plan.name,
    timestamp: last.timestamp,
    executionId,
    ...(branch === undefined ? {} : { branch }),
    ...(parentExecutionId === undefined ? {} : { parentExecutionId }),
    actions: { stateDelta, agentState: toAgentState({ node: START, run: UPDATE, state }) },
  });
}

function lastEventOf(
  plan: GraphPlan,
  events: readonly Event[],
  { invocationId, executionId: wanted, step }: ForkParams,
): Event {
  const history = graphHistories(plan, { events, invocationId }).findLast(
    (run) => wanted === undefined || run.executionId === wanted,
  );
  const fail = (fault: string): never => {
    throw new InvalidRequestError(`fork: the run ${JSON.stringify(invocationId)} ${fault}`);
  };
  if (!history)
    return fail(`has no run ${wanted === undefined ? '' : `${JSON.stringify(wanted)} `}of the graph "${plan.name}"`);
  if (!events.some((event) => event.invocationId === invocationId && beginsResumableRun(event)))
    return fail(
      'cannot be forked, because it was not resumable; write runConfig: { resumable: true } when you start it',
    );
  const { executionId } = history;
  const own = events.filter((event) => event.executionId === executionId && checkpointOf(event));
  const [start] = own;
  if (step === 0 && start) return start;
  const found = history.steps.find((each) => each.step === step);
  if (!found || found.open.length > 0) return fail(`has no step ${step} that has completed`);
  const ids = new Set(found.nodes.map(({ eventId }) => eventId));
  return own.findLast(({ id }) => ids.has(id)) ?? fail(`has no step ${step} that has completed`);
}

/**
 * Yields the records of a session that has only the kept events. Calls that enclose the last event are recorded as
 * started, not finished.
 */
function* keptRecords(
  records: readonly SessionRecord[],
  kept: readonly Event[],
  last: Event,
): Generator<SessionRecord> {
  const enclosing = new Set(enclosingCallIds(last.branch));
  const ids = new Set(kept.map(({ id }) => id));
  const runs = new Map<string, Set<string>>();
  for (const event of kept) {
    const checkpoint = checkpointOf(event);
    if (checkpoint)
      runs.set(event.executionId ?? '', (runs.get(event.executionId ?? '') ?? new Set()).add(checkpoint.run));
  }
  const starts = new Map(kept.map((event) => [event.id, checkpointOf(event) ? event.executionId : undefined]));
  const isKept = ({ toolCall }: ToolCallRecord): boolean => {
    const [eventId = '', ...rest] = toolCall.entryId.split('/');
    const executionId = starts.get(eventId);
    // A ledger entry of a node run is kept only if the run's completion is kept.
    return (
      ids.has(eventId) &&
      (executionId === undefined || (runs.get(executionId)?.has(rest.join('/').split('+')[0] ?? '') ?? false))
    );
  };
  let toolCalls = 0;
  for (const record of records) {
    if (record.type === 'session') yield headerOf(record, kept);
    else if (record.type === 'event' && ids.has(record.event.id)) yield record;
    else if (record.type === 'toolCall' && isKept(record)) {
      toolCalls++;
      const { entryId } = record.toolCall;
      yield enclosing.has(entryId.slice(entryId.indexOf('/') + 1)) ? begunOnly(record) : record;
    } else if (record.type === 'end') yield { ...record, events: kept.length, toolCalls };
  }
}

/** Returns the record without its result: a call may have finished after the part that the fork keeps. */
function begunOnly({ type, toolCall }: ToolCallRecord): ToolCallRecord {
  const { invocationId, entryId, name } = toolCall;
  return { type, toolCall: { invocationId, entryId, name, status: 'started' } };
}

function isShared(key: string): boolean {
  return key.startsWith(APP_PREFIX) || key.startsWith(USER_PREFIX);
}

function headerOf(header: SessionHeaderRecord, kept: readonly Event[]): SessionHeaderRecord {
  // Shared state exists already and is not part of the copy.
  const state = new Map<string, unknown>(Object.entries(header.initialState).filter(([key]) => !isShared(key)));
  for (const { actions } of kept) {
    for (const [key, value] of Object.entries(actions.stateDelta)) if (!isShared(key)) state.set(key, value);
    for (const key of actions.removedState ?? []) if (!isShared(key)) state.delete(key);
  }
  const lastUpdateTime = kept.at(-1)?.timestamp ?? header.lastUpdateTime;
  return { ...header, lastUpdateTime, state: Object.fromEntries(state) };
}

interface Update {
  readonly state: Record<string, JsonValue>;
  readonly stateDelta: Record<string, JsonValue>;
}

async function checkedUpdate(
  { name, channels }: GraphPlan,
  update: Readonly<Record<string, unknown>>,
): Promise<Update> {
  const changes: Update = { state: {}, stateDelta: {} };
  for (const [key, value] of Object.entries(update)) {
    const channel = channels.get(key);
    if (!channel) throw new InvalidRequestError(`fork: the graph "${name}" has no channel "${key}"`);
    if (channel.stateKey !== undefined && isShared(channel.stateKey))
      throw new InvalidRequestError(
        `fork: the channel "${key}" is shared with other sessions, so a fork cannot change it; remove it from the update`,
      );
    const checked = await channel.schema.check(value);
    const copied = 'value' in checked ? copyJson(checked.value) : undefined;
    if (!copied || 'fault' in copied)
      throw new InvalidRequestError(
        `fork: the channel "${key}" does not accept its value: ${'issues' in checked ? checked.issues.join('; ') : 'it is not JSON'}`,
      );
    if (channel.stateKey === undefined) changes.state[key] = copied.value;
    else changes.stateDelta[channel.stateKey] = copied.value;
  }
  return changes;
}
