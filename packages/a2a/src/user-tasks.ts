import { type BaseSessionService, type RunRecord, SessionNotFoundError } from '@eventloom/core';
import { eventPages, isRecord } from '@eventloom/core/internal';
import { checkId, type ProtocolRequest, type RunOwner, type RunState } from '@eventloom/server';
import { A2ARequestError } from './errors.ts';
import {
  byTime,
  findTasks,
  type ListedTask,
  MAX_READ_TASKS,
  pageTokenOf,
  readListRequest,
  tooMany,
} from './task-list.ts';
import { parseTaskId, TaskView } from './task-view.ts';
import type { A2ATask, A2ATaskState } from './wire.ts';

/** A page of tasks, as `ListTasks` returns it. */
interface TaskPage {
  readonly tasks: readonly A2ATask[];
  /** Empty for the last page. */
  readonly nextPageToken: string;
  readonly pageSize: number;
  readonly totalSize: number;
}

/** Reads the tasks of the user of a request from the user's sessions. */
export class UserTasks {
  readonly #request: ProtocolRequest;
  readonly #owner: RunOwner;

  constructor(request: ProtocolRequest, owner: RunOwner) {
    this.#request = request;
    this.#owner = owner;
  }

  /** Reads a task from its session. @throws A2ARequestError if the user has no such task, or it is too large for one answer */
  async load(taskId: unknown, withArtifacts = true): Promise<TaskView> {
    const parsed = typeof taskId === 'string' ? parseTaskId(taskId) : undefined;
    if (typeof taskId !== 'string' || !parsed) throw noTask();
    const { invocationId, sessionId } = parsed;
    checkId('params.id', sessionId);
    const key = { ...this.#owner, sessionId };
    const sessions = this.#request.sessions(key.appName);
    const record = await sessions.findRun({ ...key, id: invocationId });
    // A run is found by the id of its request, too.
    if (!record || record.invocationId !== invocationId) throw noTask();
    const view = new TaskView({ ...key, invocationId, taskId }, withArtifacts);
    await this.#readEvents(sessions, view, record);
    view.setState(await this.stateOf(view));
    return view;
  }

  /** Reads the events of a task, page by page, up to the end of its last run. */
  async #readEvents(sessions: BaseSessionService, view: TaskView, first: RunRecord): Promise<void> {
    const { appName, userId, sessionId } = view.key;
    const key = { appName, userId, sessionId };
    let record: RunRecord | undefined = first;
    try {
      for await (const { seq, events } of eventPages(sessions, key, { afterSeq: first.firstSeq - 1 })) {
        for (const event of events) view.addStored(event);
        this.checkSize(view);
        if (view.isAsking) continue;
        if (record?.invocationId !== view.invocationId)
          record = await sessions.findRun({ ...key, id: view.invocationId });
        if (record?.end && !record.open && seq + events.length > record.end.lastSeq) return;
      }
    } catch (error) {
      throw SessionNotFoundError.isInstance(error) ? noTask() : error;
    }
  }

  /** Returns the state of the run that a task is in. */
  stateOf(view: TaskView): Promise<RunState> {
    const { appName, userId, sessionId } = view.key;
    return this.#request.runState({ appName, userId, sessionId, invocationId: view.invocationId });
  }

  /** Checks the size of a task. @throws A2ARequestError if the artifacts of a task are too large for one answer */
  checkSize({ chars }: TaskView): void {
    if (chars > this.#request.limits.maxRunChars)
      throw new A2ARequestError(
        'UNSUPPORTED_OPERATION',
        'the artifacts of the task exceed the maximum size of one response; send the message with the method that streams',
      );
  }

  /** Returns a page of the user's tasks, the latest first. */
  async list(params: Readonly<Record<string, unknown>>): Promise<TaskPage> {
    const { contextId, state, sinceMs, pageSize, after, withArtifacts } = readListRequest(params);
    const historyLength = historyLengthOf(params);
    if (contextId !== undefined) checkId('params.contextId', contextId);
    else if (!this.#request.user)
      throw new A2ARequestError(
        'INVALID_PARAMS',
        'params.contextId: is missing; a server without users lists the tasks of one context',
      );
    const sessions = this.#request.sessions(this.#owner.appName);
    const found = await findTasks(sessions, this.#owner, contextId, sinceMs);
    if (state !== undefined && found.length > MAX_READ_TASKS) throw tooMany(`${MAX_READ_TASKS} tasks`, contextId);
    const wanted = state === undefined ? found : await this.#inState(found, state);
    const begin = after ? wanted.findIndex((each) => byTime(each, after) > 0) : 0;
    const tasks: A2ATask[] = [];
    let next = begin === -1 ? wanted.length : begin;
    let chars = 0;
    for (; next < wanted.length && tasks.length < pageSize; next++) {
      const view = await this.#loadListed(wanted[next], withArtifacts);
      if (!view) continue;
      chars += view.chars;
      // A page may have fewer tasks.
      if (tasks.length > 0 && chars > this.#request.limits.maxRunChars) break;
      tasks.push(view.toTask(historyLength, withArtifacts));
    }
    const last = wanted[next - 1];
    const nextPageToken = last && next < wanted.length ? pageTokenOf(last) : '';
    return { tasks, nextPageToken, pageSize, totalSize: wanted.length };
  }

  async #inState(tasks: readonly ListedTask[], state: A2ATaskState): Promise<ListedTask[]> {
    const matching: ListedTask[] = [];
    for (const task of tasks) if ((await this.#loadListed(task, false))?.status.state === state) matching.push(task);
    return matching;
  }

  /** Reads a task of a list; undefined if it was deleted since the list was made. */
  async #loadListed(task: ListedTask | undefined, withArtifacts: boolean): Promise<TaskView | undefined> {
    try {
      return task && (await this.load(task.taskId, withArtifacts));
    } catch (error) {
      if (A2ARequestError.isInstance(error) && error.reason === 'TASK_NOT_FOUND') return undefined;
      throw error;
    }
  }
}

function noTask(): A2ARequestError {
  return new A2ARequestError(
    'TASK_NOT_FOUND',
    'params: the user has no task of this id; write the id of a task that was returned to this user',
  );
}

/** Reads the number of messages of a task that its client wants. Undefined means all. */
export function historyLengthOf(params: Readonly<Record<string, unknown>>): number | undefined {
  const { configuration } = params;
  const length = (isRecord(configuration) ? configuration : params)['historyLength'] ?? undefined;
  if (length === undefined || (typeof length === 'number' && Number.isInteger(length) && length >= 0)) return length;
  throw new A2ARequestError('INVALID_PARAMS', 'historyLength: expected an integer of at least 0');
}
