import { AgentError, EventloomError, type EventloomErrorOptions, InvalidMessageError } from '@eventloom/core';

/** Thrown for a name of `@google/adk` that Eventloom does not have. The message says what to write instead. */
export class NotOfferedError extends EventloomError {
  static override readonly code = 'ADK_NOT_OFFERED';
}

/** A YAML file of an agent cannot be used. `file` is its path, `line` the line in it, counted from 1. */
export class AgentConfigError extends EventloomError {
  static override readonly code = 'ADK_AGENT_CONFIG';
  readonly file: string;
  readonly line: number;

  constructor({ file, line }: AgentConfigPlace, message: string, options: EventloomErrorOptions = {}) {
    super(`${file}:${line}: ${message}`, options);
    this.file = file;
    this.line = line;
  }
}

/** A line of a YAML file. */
export interface AgentConfigPlace {
  readonly file: string;
  readonly line: number;
}

/** A credential was not exchanged for a token. */
export class CredentialExchangeError extends EventloomError {
  static override readonly code = 'CREDENTIAL_EXCHANGE';
}

/** An attempt of a workflow node took longer than its `timeout`, for programs that were written for `@google/adk`. */
export class AdkNodeTimeoutError extends EventloomError {
  /** The name of the class in error messages. */
  static override readonly name: string = 'NodeTimeoutError';
  static override readonly code = 'ADK_NODE_TIMEOUT';
  readonly nodeName: string;
  /** The time limit in seconds. */
  readonly timeout: number;

  constructor({ nodeName, timeout }: { readonly nodeName: string; readonly timeout: number }) {
    super(`Node '${nodeName}' timed out after ${timeout} seconds.`);
    // Programs recognize the error by its ADK name.
    this.name = 'NodeTimeoutError';
    this.nodeName = nodeName;
    this.timeout = timeout;
  }
}

/** A workflow node yielded an error event and no output. */
export class NodeReportedError extends EventloomError {
  static override readonly code = 'ADK_NODE_REPORTED';
  readonly nodeName: string;
  readonly errorCode: string;

  constructor({ nodeName, errorCode = 'UNKNOWN_ERROR', errorMessage }: AdkNodeReport, options?: ErrorOptions) {
    super(`Node '${nodeName}' failed: ${errorCode}${errorMessage === undefined ? '' : `: ${errorMessage}`}`, options);
    this.nodeName = nodeName;
    this.errorCode = errorCode;
  }
}

/** An error event that a workflow node yielded. */
interface AdkNodeReport {
  readonly nodeName: string;
  readonly errorCode?: string | undefined;
  readonly errorMessage?: string | undefined;
}

/** The input or the output of a workflow node does not match its schema. */
export class NodeSchemaValidationError extends EventloomError {
  static override readonly code = 'ADK_NODE_SCHEMA';
  readonly nodeName: string;
  readonly direction: 'input' | 'output';

  constructor({ nodeName, direction, cause }: NodeMismatch) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`Node '${nodeName}' ${direction} does not match its ${direction}Schema: ${why}`, { cause });
    this.nodeName = nodeName;
    this.direction = direction;
  }
}

/** A value that does not match the schema of a workflow node. */
interface NodeMismatch {
  readonly nodeName: string;
  readonly direction: 'input' | 'output';
  readonly cause: unknown;
}

/** Reasons of an `IntentMismatchError`. */
export type IntentMismatchReason =
  | 'malformed_request'
  | 'unknown_original_call'
  | 'unregistered_tool'
  | 'confirmation_not_required'
  | 'tool_name_mismatch'
  | 'arguments_mismatch';

/** A confirmation that does not belong to the call that it confirms. A run refuses such a message with `InvalidMessageError`. */
export class IntentMismatchError extends EventloomError {
  static override readonly code = 'ADK_INTENT_MISMATCH';
  readonly reason: IntentMismatchReason;
  readonly functionCallId: string | undefined;

  constructor({
    reason,
    functionCallId,
  }: {
    readonly reason: IntentMismatchReason;
    readonly functionCallId?: string | undefined;
  }) {
    super(`Tool confirmation rejected${functionCallId ? ` for function call '${functionCallId}'` : ''}: ${reason}.`);
    this.reason = reason;
    this.functionCallId = functionCallId;
  }
}

/** Returns true for an `IntentMismatchError`, and for the error with which a run refuses a message whose answers match no request. */
export function isIntentMismatchError(error: unknown): error is EventloomError {
  return IntentMismatchError.isInstance(error) || InvalidMessageError.isInstance(error);
}

/** A workflow node wrote state that its `stateSchema` does not allow. */
export class StateSchemaError extends EventloomError {
  static override readonly code = 'ADK_STATE_SCHEMA';
}

/** A node that another node ran with `context.runNode` failed. `error` is its error. */
export class DynamicNodeFailError extends EventloomError {
  static override readonly code = 'ADK_DYNAMIC_NODE';
  readonly error: Error;
  readonly errorNodePath: string;

  constructor(nodeName: string, error: Error, errorNodePath: string) {
    const publicMessage = AgentError.around(error, `node "${nodeName}"`).publicMessage;
    super(`Dynamic node ${nodeName} failed: ${error.message}`, { cause: error, publicMessage });
    this.error = error;
    this.errorNodePath = errorNodePath;
  }
}

/** Ends the function of a node while an inner node waits for a person. It is not a failure. */
export class NodeInterruptedError extends EventloomError {
  static override readonly code = 'ADK_NODE_INTERRUPTED';
}

/** Returns true for a `NodeTimeoutError`. */
export function isNodeTimeoutError(error: unknown): error is AdkNodeTimeoutError {
  return AdkNodeTimeoutError.isInstance(error);
}

/** Returns true for a `NodeReportedError`. */
export function isNodeReportedError(error: unknown): error is NodeReportedError {
  return NodeReportedError.isInstance(error);
}

/** Returns true for a `NodeSchemaValidationError`. */
export function isNodeSchemaValidationError(error: unknown): error is NodeSchemaValidationError {
  return NodeSchemaValidationError.isInstance(error);
}

/** Returns true for a `StateSchemaError`. */
export function isStateSchemaError(error: unknown): error is StateSchemaError {
  return StateSchemaError.isInstance(error);
}
