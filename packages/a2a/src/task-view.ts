import type { Event, FunctionCall, InputRequest } from '@eventloom/core';
import { REQUEST_CONFIRMATION, REQUEST_CREDENTIAL } from '@eventloom/core';
import { Calls, inputRequestOf, isBookkeeping, isRecord, isYielded } from '@eventloom/core/internal';
import { toA2AParts } from './parts.ts';
import type {
  A2AArtifact,
  A2AArtifactUpdate,
  A2AMessage,
  A2APart,
  A2AStatus,
  A2AStatusUpdate,
  A2ATask,
  A2ATaskState,
  Metadata,
} from './wire.ts';

/** The session that a task belongs to, and the task's id. */
interface TaskKey {
  readonly appName: string;
  readonly userId: string;
  /** Id of the session, which is the task's context id. */
  readonly sessionId: string;
  /** Id of the run that began the task. */
  readonly invocationId: string;
  readonly taskId: string;
}

/** Metadata of the message that continues a task: the task's id. Events of a remote agent have the id of the task on its server. */
export const TASK_ID = 'a2a:task_id';
/** Metadata of an event of a remote agent: true if its parts follow those that an earlier event has of the same artifact. */
export const APPENDED = 'a2a:appended';
/** Metadata of the events of a remote agent: the id of the conversation on its server. */
export const CONTEXT_ID = 'a2a:context_id';

/** Returns the id of the task that a run begins. The id contains the session id, because a request for a task has no other field for it. */
export function formatTaskId(invocationId: string, sessionId: string): string {
  return `${encodeURIComponent(invocationId)}:${sessionId}`;
}

/** Returns the run and the session of a task; undefined for another text. */
export function parseTaskId(taskId: string): { readonly invocationId: string; readonly sessionId: string } | undefined {
  const colon = taskId.indexOf(':');
  if (colon <= 0 || colon === taskId.length - 1) return undefined;
  try {
    return { invocationId: decodeURIComponent(taskId.slice(0, colon)), sessionId: taskId.slice(colon + 1) };
  } catch {
    return undefined;
  }
}

/** The part of a server's `RunState` that a task shows. Declared here, because programs that only call other servers install no server. */
interface RunOfTask {
  readonly invocationId: string;
  readonly state: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'interrupted';
  readonly error?: string;
  readonly code?: string;
  readonly waitingFor?: readonly string[];
}

const STATES: Readonly<Record<RunOfTask['state'], A2ATaskState>> = {
  queued: 'TASK_STATE_SUBMITTED',
  running: 'TASK_STATE_WORKING',
  waiting: 'TASK_STATE_INPUT_REQUIRED',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  interrupted: 'TASK_STATE_CANCELED',
};

/** A task as its client sees it: the events of its runs as artifacts, and their questions as its status. */
export class TaskView {
  readonly key: TaskKey;
  /** Id of the newest run of the task. */
  invocationId: string;
  status: A2AStatus = { state: 'TASK_STATE_SUBMITTED' };
  /** Metadata of the status: the code of an error. */
  statusMetadata: Metadata | undefined;
  /** The calls that the task waits for. */
  waiting: readonly FunctionCall[] = [];
  /** Number of characters of the artifacts. */
  chars = 0;
  /** Ids of the task's runs. */
  readonly runs: Set<string>;
  readonly #keepsArtifacts: boolean;
  readonly #history: A2AMessage[] = [];
  readonly #artifacts = new Map<string, A2AArtifact>();
  /** Ids of artifacts of which chunks were sent. */
  readonly #begun = new Set<string>();
  /** Ids of the artifacts of whole events without `responseId`, by the ids of the events. */
  readonly #artifactIds = new Map<string, string>();
  /** Number of these events by their `executionId`. */
  readonly #counts = new Map<string, number>();
  /** Ids of the events whose parts were added to an artifact. */
  readonly #appended = new Set<string>();
  readonly #calls = new Calls();
  #lastEvent: Event | undefined;

  /** @param keepsArtifacts false keeps no artifacts, for a list without them */
  constructor(key: TaskKey, keepsArtifacts = true) {
    this.key = key;
    this.#keepsArtifacts = keepsArtifacts;
    this.invocationId = key.invocationId;
    this.runs = new Set([key.invocationId]);
  }

  /** True if events of the task have long-running calls that no event responds to. */
  get isAsking(): boolean {
    return this.#calls.waiting.length > 0;
  }

  /** Adds a message of the client. */
  addMessage(message: A2AMessage): void {
    const { taskId, sessionId: contextId } = this.key;
    this.#history.push({ ...message, taskId, contextId });
  }

  /** Adds a stored event of the session, if it belongs to the task. */
  addStored(event: Event): void {
    const isInput = event.author === 'user';
    // Events of a remote agent have the id of the task on its server instead, so the message decides for its run.
    if (isInput && event.customMetadata?.[TASK_ID] === this.key.taskId) this.runs.add(event.invocationId);
    if (!this.runs.has(event.invocationId)) return;
    this.invocationId = event.invocationId;
    if (isInput) {
      this.#calls.add(event);
      const parts = toA2AParts(event.content?.parts);
      if (parts.length > 0) this.addMessage({ messageId: event.requestId ?? event.id, role: 'ROLE_USER', parts });
    } else if (isYielded(event) && !isBookkeeping(event)) {
      this.add(event);
    }
  }

  /**
   * Adds an event of a run, and returns the change that it makes; undefined if it makes none.
   * @param showsAsked true if the change has the calls that the client answers, which the status has as well
   */
  add(event: Event, showsAsked = false): A2AArtifactUpdate | undefined {
    this.#lastEvent = event;
    this.#calls.add(event);
    const longRunning = new Set(event.longRunningToolIds);
    const isChunk = event.partial === true;
    const shown = event.content?.parts?.filter(({ functionCall: call }) => {
      // The whole reply has the calls of its chunks, and which of them are long-running.
      if (isChunk) return !call;
      return !call?.id || !longRunning.has(call.id) || showsAsked;
    });
    const parts = toA2AParts(shown, longRunning);
    const isAppended = event.customMetadata?.[APPENDED] === true;
    // The whole of what is appended could not replace its chunks.
    if (parts.length === 0 || (isChunk && isAppended)) return undefined;
    const artifactId = this.#artifactIdOf(event);
    const append = isAppended || (isChunk && this.#begun.has(artifactId));
    const metadata = this.#metadataOf(event);
    if (isChunk) this.#begun.add(artifactId);
    else if (this.#keepsArtifacts) this.#keep({ artifactId, parts, metadata }, isAppended ? event.id : undefined);
    const { taskId, sessionId: contextId } = this.key;
    return {
      taskId,
      contextId,
      artifact: { artifactId, parts },
      ...(append ? { append } : {}),
      // The whole reply replaces its chunks, unless it is appended.
      ...(isChunk ? {} : { lastChunk: true }),
      metadata,
    };
  }

  /**
   * Returns `responseId`, which chunks and their whole reply share. For an event of a custom agent without one, returns
   * an id with the number of whole events that the agent yielded before, which is the same when the task is read from
   * its session.
   */
  #artifactIdOf({ id, responseId, partial, invocationId, executionId = invocationId }: Event): string {
    const known = responseId ?? this.#artifactIds.get(id);
    if (known !== undefined) return known;
    const count = this.#counts.get(executionId) ?? 0;
    const artifactId = `${executionId}:${count}`;
    if (partial !== true) {
      this.#artifactIds.set(id, artifactId);
      this.#counts.set(executionId, count + 1);
    }
    return artifactId;
  }

  /** @param appendedBy id of the event whose parts follow those of the artifact. Undefined: they replace them */
  #keep({ parts, ...artifact }: A2AArtifact, appendedBy: string | undefined): void {
    if (appendedBy !== undefined && this.#appended.has(appendedBy)) return;
    const before = this.#artifacts.get(artifact.artifactId)?.parts;
    this.chars += charsOf(parts) - (appendedBy === undefined ? charsOf(before) : 0);
    if (appendedBy !== undefined) this.#appended.add(appendedBy);
    const kept = appendedBy === undefined ? parts : [...(before ?? []), ...parts];
    this.#artifacts.set(artifact.artifactId, { ...artifact, parts: kept });
  }

  #metadataOf(event: Event): Metadata {
    const { appName, userId, sessionId } = this.key;
    const { author, branch, partial, errorCode, errorMessage, usageMetadata, groundingMetadata } = event;
    const given = {
      adk_app_name: appName,
      adk_user_id: userId,
      adk_session_id: sessionId,
      adk_invocation_id: event.invocationId,
      adk_author: author,
      adk_branch: branch,
      adk_partial: partial === true ? true : undefined,
      adk_error_code: errorCode,
      adk_error_message: errorMessage,
      adk_usage_metadata: usageMetadata,
      adk_grounding_metadata: groundingMetadata,
      adk_citation_metadata: event.citationMetadata,
    };
    return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  }

  /** Sets the status to the outcome of the newest run, and returns the change. */
  setState({ state, error, code, waitingFor = [] }: RunOfTask): A2AStatusUpdate {
    this.waiting = waitingFor.flatMap((id) => this.#calls.meantBy(id)?.call ?? []);
    const event = this.#lastEvent;
    const timestamp = event && new Date(event.timestamp * 1000).toISOString();
    const parts = state === 'waiting' ? this.waiting.flatMap(toQuestion) : error === undefined ? [] : [{ text: error }];
    const { taskId, sessionId: contextId } = this.key;
    const messageId = `${event?.id ?? this.invocationId}:status`;
    const needsCredential = this.waiting.some(({ name }) => name === REQUEST_CREDENTIAL);
    this.status = {
      state: needsCredential ? 'TASK_STATE_AUTH_REQUIRED' : STATES[state],
      ...(parts.length > 0 ? { message: { messageId, role: 'ROLE_AGENT', parts, taskId, contextId } } : {}),
      ...(timestamp === undefined ? {} : { timestamp }),
    };
    this.statusMetadata = code === undefined ? undefined : { adk_error_code: code, adk_error_message: error };
    const { status, statusMetadata: metadata } = this;
    return { taskId, contextId, status, ...(metadata ? { metadata } : {}) };
  }

  /**
   * Returns the task as JSON of A2A 1.0.
   * @param historyLength the newest messages, at most this many. Default: all
   * @param withArtifacts false leaves the artifacts out, because the changes that follow repeat them
   */
  toTask(historyLength: number | undefined, withArtifacts = true): A2ATask {
    const history = historyLength === 0 ? [] : this.#history.slice(-(historyLength ?? Infinity));
    const { taskId: id, sessionId: contextId } = this.key;
    return {
      id,
      contextId,
      status: this.status,
      ...(withArtifacts ? { artifacts: [...this.#artifacts.values()] } : {}),
      ...(history.length > 0 ? { history } : {}),
      ...(this.statusMetadata ? { metadata: this.statusMetadata } : {}),
    };
  }
}

function charsOf(parts: readonly A2APart[] = []): number {
  let chars = 0;
  for (const { text, raw, data } of parts)
    chars += (text ?? raw)?.length ?? (data === undefined ? 0 : JSON.stringify(data).length);
  return chars;
}

/** Returns a call that the client answers: in words for people, and as data for programs. */
function toQuestion(call: FunctionCall): A2APart[] {
  const ids = new Set([call.id ?? '']);
  return [{ text: questionOf(call) }, ...toA2AParts([{ functionCall: call }], ids)];
}

/** Describes in words the request that a call makes to the client. */
export function questionOf(call: FunctionCall): string {
  const { name = '', args = {} } = call;
  if (name === REQUEST_CONFIRMATION) {
    const { originalFunctionCall: original, toolConfirmation } = args;
    const hint = isRecord(toolConfirmation) ? toolConfirmation['hint'] : undefined;
    const tool = isRecord(original) ? String(original['name']) : 'a tool';
    return typeof hint === 'string' && hint !== '' ? hint : `The call of ${tool} needs a confirmation: yes or no?`;
  }
  if (name === REQUEST_CREDENTIAL) return 'A credential is needed.';
  const input: InputRequest | undefined = inputRequestOf(call);
  return input ? (input.message ?? 'Input is needed.') : `The result of ${name} is needed.`;
}
