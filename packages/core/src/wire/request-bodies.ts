import type { Content } from '../content/content.ts';
import type { Event } from '../event/event.ts';
import { parseContent, readEvent } from '../event/parse-event.ts';
import { readBody } from './read-body.ts';

/** The body of `POST /run` and `POST /run_sse`. */
export interface RunRequest {
  readonly appName: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly newMessage?: Content;
  readonly streaming?: boolean;
  readonly stateDelta?: Record<string, unknown>;
  readonly invocationId?: string;
  readonly requestId?: string;
  readonly customMetadata?: Record<string, unknown>;
  readonly completionEvent?: boolean;
  readonly onBusy?: 'queue' | 'reject' | 'interrupt';
}

/** The body that rewinds a session. */
export interface RewindSessionRequest {
  readonly rewindBeforeInvocationId: string;
  readonly onBusy?: 'queue' | 'reject' | 'interrupt';
}

/** The body that creates a session. */
export interface CreateSessionRequest {
  readonly sessionId?: string;
  readonly state?: Record<string, unknown>;
  readonly events?: Event[];
}

const RUN = { newMessage: parseContent };
const CREATE_SESSION = { events: readEvents };

/** @throws InvalidRequestError */
export function readRunRequest(body: unknown): RunRequest {
  return readBody('RunBody', RUN, body) as unknown as RunRequest;
}

/** None at all is an empty one. @throws InvalidRequestError */
export function readCreateSessionRequest(body: unknown): CreateSessionRequest {
  return readBody('CreateSessionBody', CREATE_SESSION, body ?? {});
}

/** The body that changes a session's state. @throws InvalidRequestError */
export function readPatchSessionRequest(body: unknown): { readonly stateDelta: Record<string, unknown> } {
  return readBody('PatchSessionBody', {}, body) as { stateDelta: Record<string, unknown> };
}

/** The body that takes a session back to before an invocation. @throws InvalidRequestError */
export function readRewindSessionRequest(body: unknown): RewindSessionRequest {
  return readBody('RewindSessionBody', {}, body) as unknown as RewindSessionRequest;
}

/** What is no list is for the schema to refuse. */
function readEvents(events: unknown, path: string): unknown {
  return Array.isArray(events) ? events.map((event, at) => readEvent(event, `${path}[${at}]`)) : events;
}
