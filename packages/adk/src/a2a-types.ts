// The values of A2A 0.3 that programs written for `@google/adk` handle. They fit those of `@a2a-js/sdk` 0.3.

/** A piece of a message or an artifact. */
export type A2aPart =
  | { kind: 'text'; text: string; metadata?: Record<string, unknown> }
  | {
      kind: 'file';
      file: { bytes: string; mimeType?: string; name?: string } | { uri: string; mimeType?: string; name?: string };
      metadata?: Record<string, unknown>;
    }
  | { kind: 'data'; data: Record<string, unknown>; metadata?: Record<string, unknown> };

/** A message of the user or of the agent. */
export interface A2aMessage {
  kind: 'message';
  messageId: string;
  role: 'user' | 'agent';
  parts: A2aPart[];
  contextId?: string;
  taskId?: string;
  metadata?: Record<string, unknown>;
}

/** The state of a task. */
export interface A2aTaskStatus {
  state:
    | 'submitted'
    | 'working'
    | 'input-required'
    | 'completed'
    | 'canceled'
    | 'failed'
    | 'rejected'
    | 'auth-required'
    | 'unknown';
  message?: A2aMessage;
  timestamp?: string;
}

/** A result of an agent. */
export interface A2aArtifact {
  artifactId: string;
  parts: A2aPart[];
  metadata?: Record<string, unknown>;
}

/** A task of an agent. */
export interface A2aTask {
  kind: 'task';
  id: string;
  contextId: string;
  status: A2aTaskStatus;
  artifacts?: A2aArtifact[];
  history?: A2aMessage[];
  metadata?: Record<string, unknown>;
}

/** A new state of a task. */
export interface A2aTaskStatusUpdateEvent {
  kind: 'status-update';
  taskId: string;
  contextId: string;
  status: A2aTaskStatus;
  final: boolean;
  metadata?: Record<string, unknown>;
}

/** Parts of an artifact of a task. */
export interface A2aTaskArtifactUpdateEvent {
  kind: 'artifact-update';
  taskId: string;
  contextId: string;
  artifact: A2aArtifact;
  append?: boolean;
  lastChunk?: boolean;
  metadata?: Record<string, unknown>;
}

/** An item that a remote agent sends. */
export type A2AStreamEventData = A2aMessage | A2aTask | A2aTaskStatusUpdateEvent | A2aTaskArtifactUpdateEvent;

/** The request that sends a message. */
export interface A2aMessageSendParams {
  message: A2aMessage;
  configuration?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
}
