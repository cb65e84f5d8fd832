import { describeKind, isRecord } from '@eventloom/core/internal';
import { A2AProtocolError } from './errors.ts';

// The JSON of A2A 1.0, and its translation from and to A2A 0.3. Values of 0.3 have a `kind`, and their states and roles
// are lower-case words.

/** Data of applications beside a value. */
export type Metadata = Readonly<Record<string, unknown>>;

/** One piece of a message or an artifact. Has exactly one of `text`, `raw`, `url` and `data`. */
export interface A2APart {
  readonly text?: string;
  /** The bytes of a file as base64. */
  readonly raw?: string;
  /** The address of a file. */
  readonly url?: string;
  readonly data?: unknown;
  readonly metadata?: Metadata;
  readonly filename?: string;
  readonly mediaType?: string;
}

type A2ARole = 'ROLE_USER' | 'ROLE_AGENT';

export interface A2AMessage {
  readonly messageId: string;
  readonly role: A2ARole;
  readonly parts: readonly A2APart[];
  readonly contextId?: string;
  readonly taskId?: string;
  readonly metadata?: Metadata;
}

/** A request that sends a message. */
export interface A2ASendRequest {
  readonly message: A2AMessage;
  /** Fields beside the message, such as `historyLength`. Default: none. */
  readonly configuration?: Readonly<Record<string, unknown>>;
}

/** The states of a task, with their names in A2A 0.3. */
const LEGACY_STATES = {
  TASK_STATE_UNSPECIFIED: 'unknown',
  TASK_STATE_SUBMITTED: 'submitted',
  TASK_STATE_WORKING: 'working',
  TASK_STATE_COMPLETED: 'completed',
  TASK_STATE_FAILED: 'failed',
  TASK_STATE_CANCELED: 'canceled',
  TASK_STATE_INPUT_REQUIRED: 'input-required',
  TASK_STATE_REJECTED: 'rejected',
  TASK_STATE_AUTH_REQUIRED: 'auth-required',
} as const;

export type A2ATaskState = keyof typeof LEGACY_STATES;

const STATES = new Map<unknown, A2ATaskState>(
  (Object.keys(LEGACY_STATES) as A2ATaskState[]).flatMap((state) => [
    [state, state],
    [LEGACY_STATES[state], state],
  ]),
);

/** True for a task that will not change any more. */
export function isTerminal(state: A2ATaskState): boolean {
  return (
    state === 'TASK_STATE_COMPLETED' ||
    state === 'TASK_STATE_FAILED' ||
    state === 'TASK_STATE_CANCELED' ||
    state === 'TASK_STATE_REJECTED'
  );
}

/** True for a task that waits for its client. */
export function isWaiting(state: A2ATaskState): boolean {
  return state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED';
}

export interface A2AStatus {
  readonly state: A2ATaskState;
  readonly message?: A2AMessage;
  /** ISO 8601. */
  readonly timestamp?: string;
}

export interface A2AArtifact {
  readonly artifactId: string;
  readonly parts: readonly A2APart[];
  readonly metadata?: Metadata;
}

export interface A2ATask {
  readonly id: string;
  readonly contextId?: string;
  readonly status: A2AStatus;
  readonly artifacts?: readonly A2AArtifact[];
  readonly history?: readonly A2AMessage[];
  readonly metadata?: Metadata;
}

export interface A2AStatusUpdate {
  readonly taskId: string;
  readonly contextId?: string;
  readonly status: A2AStatus;
  readonly metadata?: Metadata;
}

export interface A2AArtifactUpdate {
  readonly taskId: string;
  readonly contextId?: string;
  readonly artifact: A2AArtifact;
  /** True adds the parts to those of the artifact; otherwise they replace them. */
  readonly append?: boolean;
  readonly lastChunk?: boolean;
  readonly metadata?: Metadata;
}

/** One item of a stream, and the answer to a message. Has exactly one of the fields. */
export type A2AUpdate =
  | { readonly task: A2ATask }
  | { readonly message: A2AMessage }
  | { readonly statusUpdate: A2AStatusUpdate }
  | { readonly artifactUpdate: A2AArtifactUpdate };

// Reading: accepts both versions, whichever the sender names.

type WireObject = Readonly<Record<string, unknown>>;

function fail(path: string, wanted: string, value: unknown): never {
  throw new A2AProtocolError(`${path}: expected ${wanted}, got ${describeKind(value)}`);
}

function readRecord(path: string, value: unknown): WireObject {
  return isRecord(value) ? value : fail(path, 'an object', value);
}

/** Longest id, in characters. Ids get into every event of a task. */
const MAX_ID = 1024;

function readId(path: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') return fail(path, 'a string that is not empty', value);
  if (value.length > MAX_ID) throw new A2AProtocolError(`${path}: is longer than ${MAX_ID} characters`);
  return value;
}

/**
 * Reads an id into an object of one field, empty without an id. Servers omit an id that they do not have, or write it
 * as null or as the empty text.
 */
function readOptionalId<K extends string>(path: string, object: WireObject, key: K): { [P in K]?: string } {
  const value = readText(`${path}.${key}`, object[key]);
  return given(key, value === undefined ? undefined : readId(`${path}.${key}`, value));
}

/** Null and the empty text count as absent: programs that are generated from the schema send them. */
function readText(path: string, value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  return typeof value === 'string' ? value : fail(path, 'a string', value);
}

function readList<T>(path: string, value: unknown, read: (path: string, value: unknown) => T): T[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) return fail(path, 'a list', value);
  return value.map((each, index) => read(`${path}[${index}]`, each));
}

function readMetadata(path: string, value: unknown): { metadata?: Metadata } {
  return value === undefined || value === null ? {} : { metadata: readRecord(path, value) };
}

function given<K extends string>(key: K, value: string | undefined): { [P in K]?: string } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: string };
}

function readPart(path: string, value: unknown): A2APart {
  const part = readRecord(path, value);
  const metadata = readMetadata(`${path}.metadata`, part['metadata']);
  if (part['kind'] === 'file') return { ...readLegacyFile(`${path}.file`, part['file']), ...metadata };
  const about = {
    ...metadata,
    ...given('filename', readText(`${path}.filename`, part['filename'])),
    ...given('mediaType', readText(`${path}.mediaType`, part['mediaType'])),
  };
  const { text, raw, url, data } = part;
  if (typeof text === 'string') return { text, ...about };
  if (typeof raw === 'string') return { raw, ...about };
  if (typeof url === 'string') return { url, ...about };
  if (data !== undefined) return { data, ...about };
  if ('kind' in part)
    throw new A2AProtocolError(
      `${path}: expected a part of the kind "text" with text, "file" with file or "data" with data, as in A2A 0.3`,
    );
  return fail(path, 'a part with text, raw, url or data', value);
}

function readLegacyFile(path: string, value: unknown): A2APart {
  const file = readRecord(path, value);
  const about = {
    ...given('filename', readText(`${path}.name`, file['name'])),
    ...given('mediaType', readText(`${path}.mimeType`, file['mimeType'])),
  };
  const { bytes, uri } = file;
  if (typeof bytes === 'string') return { raw: bytes, ...about };
  if (typeof uri === 'string') return { url: uri, ...about };
  return fail(path, 'a file with bytes or uri', value);
}

/** Reads a message. @throws A2AProtocolError that names the path of the fault */
export function readMessage(path: string, value: unknown): A2AMessage {
  const message = readRecord(path, value);
  const role = message['role'];
  if (role !== 'user' && role !== 'agent' && role !== 'ROLE_USER' && role !== 'ROLE_AGENT')
    throw new A2AProtocolError(`${path}.role: expected "ROLE_USER" or "ROLE_AGENT", or "user" or "agent" in A2A 0.3`);
  return {
    messageId: readId(`${path}.messageId`, message['messageId']),
    role: role === 'user' || role === 'ROLE_USER' ? 'ROLE_USER' : 'ROLE_AGENT',
    parts: readList(`${path}.parts`, message['parts'], readPart),
    ...readOptionalId(path, message, 'contextId'),
    ...readOptionalId(path, message, 'taskId'),
    ...readMetadata(`${path}.metadata`, message['metadata']),
  };
}

/** Reads the state of a task. @throws A2AProtocolError for another value */
export function readState(path: string, value: unknown): A2ATaskState {
  return STATES.get(value) ?? fail(path, 'a state of a task', value);
}

function readStatus(path: string, value: unknown): A2AStatus {
  const status = readRecord(path, value);
  const state = readState(`${path}.state`, status['state']);
  const { message } = status;
  return {
    state,
    ...(message === undefined || message === null ? {} : { message: readMessage(`${path}.message`, message) }),
    ...given('timestamp', readText(`${path}.timestamp`, status['timestamp'])),
  };
}

function readArtifact(path: string, value: unknown): A2AArtifact {
  const artifact = readRecord(path, value);
  return {
    artifactId: readId(`${path}.artifactId`, artifact['artifactId']),
    parts: readList(`${path}.parts`, artifact['parts'], readPart),
    ...readMetadata(`${path}.metadata`, artifact['metadata']),
  };
}

function readTask(path: string, value: unknown): A2ATask {
  const task = readRecord(path, value);
  return {
    id: readId(`${path}.id`, task['id']),
    ...readOptionalId(path, task, 'contextId'),
    status: readStatus(`${path}.status`, task['status']),
    artifacts: readList(`${path}.artifacts`, task['artifacts'], readArtifact),
    history: readList(`${path}.history`, task['history'], readMessage),
    ...readMetadata(`${path}.metadata`, task['metadata']),
  };
}

function readStatusUpdate(path: string, value: unknown): A2AStatusUpdate {
  const update = readRecord(path, value);
  return {
    taskId: readId(`${path}.taskId`, update['taskId']),
    ...readOptionalId(path, update, 'contextId'),
    status: readStatus(`${path}.status`, update['status']),
    ...readMetadata(`${path}.metadata`, update['metadata']),
  };
}

function readArtifactUpdate(path: string, value: unknown): A2AArtifactUpdate {
  const update = readRecord(path, value);
  return {
    taskId: readId(`${path}.taskId`, update['taskId']),
    ...readOptionalId(path, update, 'contextId'),
    artifact: readArtifact(`${path}.artifact`, update['artifact']),
    append: update['append'] === true,
    lastChunk: update['lastChunk'] === true,
    ...readMetadata(`${path}.metadata`, update['metadata']),
  };
}

/** Reads the result of a request, or one item of a stream. @throws A2AProtocolError that names the path of the fault */
export function readUpdate(path: string, value: unknown): A2AUpdate {
  const update = readRecord(path, value);
  switch (update['kind']) {
    case 'task':
      return { task: readTask(path, update) };
    case 'message':
      return { message: readMessage(path, update) };
    case 'status-update':
      return { statusUpdate: readStatusUpdate(path, update) };
    case 'artifact-update':
      return { artifactUpdate: readArtifactUpdate(path, update) };
    default:
  }
  const { task, message, statusUpdate, artifactUpdate } = update;
  if (task !== undefined) return { task: readTask(`${path}.task`, task) };
  if (message !== undefined) return { message: readMessage(`${path}.message`, message) };
  if (statusUpdate !== undefined) return { statusUpdate: readStatusUpdate(`${path}.statusUpdate`, statusUpdate) };
  if (artifactUpdate !== undefined)
    return { artifactUpdate: readArtifactUpdate(`${path}.artifactUpdate`, artifactUpdate) };
  // The result of a request for a task is the task itself.
  if (typeof update['id'] === 'string') return { task: readTask(path, update) };
  if ('kind' in update)
    return fail(path, 'an object of the kind "task", "message", "status-update" or "artifact-update"', update['kind']);
  return fail(path, 'a task, a message, a statusUpdate or an artifactUpdate', value);
}

// Writing for A2A 0.3.

function toLegacyPart({ text, raw, url, data, metadata, filename: name, mediaType: mimeType }: A2APart): object {
  const about = metadata ? { metadata } : {};
  const file = { ...(name === undefined ? {} : { name }), ...(mimeType === undefined ? {} : { mimeType }) };
  if (text !== undefined) return { kind: 'text', text, ...about };
  if (raw !== undefined) return { kind: 'file', file: { bytes: raw, ...file }, ...about };
  if (url !== undefined) return { kind: 'file', file: { uri: url, ...file }, ...about };
  return { kind: 'data', data: isRecord(data) ? data : { value: data }, ...about };
}

/** Returns a message as A2A 0.3 writes it. */
export function toLegacyMessage({ role, parts, ...message }: A2AMessage): object {
  return {
    kind: 'message',
    ...message,
    role: role === 'ROLE_USER' ? 'user' : 'agent',
    parts: parts.map(toLegacyPart),
  };
}

function toLegacyStatus({ state, message, timestamp }: A2AStatus): object {
  return {
    state: LEGACY_STATES[state],
    ...(message ? { message: toLegacyMessage(message) } : {}),
    ...given('timestamp', timestamp),
  };
}

function toLegacyArtifact({ parts, ...artifact }: A2AArtifact): object {
  return { ...artifact, parts: parts.map(toLegacyPart) };
}

/** Returns the result of a request, or one item of a stream, as A2A 0.3 writes it. */
export function toLegacyUpdate(update: A2AUpdate): object {
  if ('message' in update) return toLegacyMessage(update.message);
  if ('task' in update) {
    const { status, artifacts, history, ...task } = update.task;
    return {
      kind: 'task',
      ...task,
      status: toLegacyStatus(status),
      ...(artifacts ? { artifacts: artifacts.map(toLegacyArtifact) } : {}),
      ...(history ? { history: history.map(toLegacyMessage) } : {}),
    };
  }
  if ('statusUpdate' in update) {
    const { status, ...rest } = update.statusUpdate;
    // `final` ends the stream, which a task that waits for its client does as well.
    const final = isTerminal(status.state) || isWaiting(status.state);
    return { kind: 'status-update', ...rest, status: toLegacyStatus(status), final };
  }
  const { artifact, ...rest } = update.artifactUpdate;
  return { kind: 'artifact-update', ...rest, artifact: toLegacyArtifact(artifact) };
}
