import type { InvocationContext } from '../context/invocation-context.ts';
import type { LlmResponse, UsageMetadata } from '../model/llm-response.ts';
import type { Platform } from '../platform/platform.ts';
import type { ActiveOperation, Operation, OperationEnd } from './instrumentation.ts';

/** Tokens of a model call. */
interface TokenCounts {
  /** Includes the tokens of tool results that the service read itself. */
  readonly input: number | undefined;
  /** Includes the thoughts. */
  readonly output: number | undefined;
  readonly cached: number | undefined;
  readonly thoughts: number | undefined;
}

/** The times, the outcome and the tokens of an operation, for instrumentation that writes spans itself. */
export class OperationProgress implements ActiveOperation {
  readonly platform: Platform;
  /** True for a live connection to a model. */
  readonly isLive: boolean;
  readonly startMs: number;
  endMs: number | undefined;
  status: 'running' | OperationEnd['status'] = 'running';
  /** Code of the error, or the name of its class. */
  errorType: string | undefined;
  /** The time to the first chunk of a streamed reply, or to the first response of a live connection, in milliseconds. */
  firstChunkMs: number | undefined;
  hasChunks = false;
  responseModel: string | undefined;
  finishReason: string | undefined;
  usage: UsageMetadata | undefined;

  constructor(operation: Operation) {
    this.platform = placeOf(operation).platform;
    this.isLive = operation.kind === 'model' && operation.live;
    this.startMs = this.platform.now();
  }

  /** The tokens of a model call; of a live connection, those of all its turns. */
  get tokens(): TokenCounts {
    const { promptTokenCount, toolUsePromptTokenCount, candidatesTokenCount, thoughtsTokenCount } = this.usage ?? {};
    return {
      input: sum(promptTokenCount, toolUsePromptTokenCount),
      output: sum(candidatesTokenCount, thoughtsTokenCount),
      cached: this.usage?.cachedContentTokenCount,
      thoughts: thoughtsTokenCount,
    };
  }

  response(response: LlmResponse): void {
    const { usageMetadata, modelVersion, errorCode, finishReason } = response;
    if (response.partial === true || this.isLive) this.firstChunkMs ??= this.platform.now() - this.startMs;
    if (response.partial === true) this.hasChunks = true;
    else if (finishReason !== undefined) this.finishReason = finishReason;
    if (usageMetadata) this.usage = this.isLive ? sumOf(this.usage, usageMetadata) : usageMetadata;
    if (modelVersion !== undefined) this.responseModel = modelVersion;
    if (errorCode !== undefined) this.errorType = errorCode;
  }

  end(end: OperationEnd): void {
    this.endMs = this.platform.now();
    this.status = end.status === 'ok' && this.errorType !== undefined ? 'error' : end.status;
    if (end.status === 'error') this.errorType = typeOf(end.error);
  }
}

/**
 * An operation as plain fields, for spans that are kept. Keeps no context, which would keep the whole session in memory, and no content.
 * Ids are made when they are read.
 */
export class OperationRecord extends OperationProgress {
  readonly kind: Operation['kind'];
  readonly parent: OperationRecord | undefined;
  readonly appName: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly invocationId: string;
  readonly executionId: string;
  readonly agentName: string;
  /** See `subjectOf`. */
  readonly subject: string;
  /** Id of a tool call. */
  readonly callId: string | undefined;
  /** True for a resumed run. */
  readonly isResumed: boolean;
  #traceId: string | undefined;
  #spanId: string | undefined;

  constructor(operation: Operation, parent: OperationRecord | undefined) {
    super(operation);
    const { kind } = operation;
    const place = placeOf(operation);
    this.kind = kind;
    this.parent = parent;
    this.appName = place.appName;
    this.userId = place.userId;
    this.sessionId = place.invocation.session.id;
    this.invocationId = place.invocationId;
    this.executionId = place.executionId;
    this.agentName = place.agent.name;
    this.subject = subjectOf(operation);
    this.callId = kind === 'tool' ? operation.context.functionCallId : undefined;
    this.isResumed = kind === 'run' && operation.resumed;
  }

  /** Name of the span: see `operationNameOf`. */
  get name(): string {
    return `${operationNameOf(this.kind)} ${this.subject}`;
  }

  /** 32 hexadecimal digits. */
  get traceId(): string {
    return (this.#traceId ??= this.parent ? this.parent.traceId : digitsOf(this.platform.newUuid()));
  }

  /** 16 hexadecimal digits. */
  get spanId(): string {
    return (this.#spanId ??= lastDigitsOf(this.platform.newUuid()));
  }
}

/** Operations by the GenAI semantic conventions of OpenTelemetry. */
const OPERATION_NAMES: Readonly<Record<Operation['kind'], string>> = {
  run: 'invoke_workflow',
  agent: 'invoke_agent',
  model: 'chat',
  tool: 'execute_tool',
  node: 'execute_node',
};

/** Returns `invoke_workflow`, `invoke_agent`, `chat` or `execute_tool`, as the conventions name operations, or `execute_node`. */
export function operationNameOf(kind: Operation['kind']): string {
  return OPERATION_NAMES[kind];
}

/** Returns the context of the agent that the operation belongs to; of a run, its root context. */
export function placeOf(operation: Operation): InvocationContext {
  return operation.kind === 'tool' ? operation.context.invocationContext : operation.context;
}

/** Returns the name of the app, of the agent, of the requested model, of the tool or of the node. */
export function subjectOf(operation: Operation): string {
  if (operation.kind === 'run') return operation.context.appName;
  if (operation.kind === 'agent') return operation.context.agent.name;
  return operation.kind === 'model' ? (operation.request.model ?? operation.model.model) : operation.name;
}

/** Returns the 32 digits of a UUID. */
function digitsOf(uuid: string): string {
  return uuid.slice(0, 8) + uuid.slice(9, 13) + uuid.slice(14, 18) + lastDigitsOf(uuid);
}

/** Returns the last 16 digits of a UUID. */
function lastDigitsOf(uuid: string): string {
  return uuid.slice(19, 23) + uuid.slice(24);
}

function sum(first: number | undefined, second: number | undefined): number | undefined {
  return first === undefined && second === undefined ? undefined : (first ?? 0) + (second ?? 0);
}

const COUNTS = [
  'promptTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
  'toolUsePromptTokenCount',
  'cachedContentTokenCount',
] as const;

/** A live connection reports the tokens of each turn. */
function sumOf(before: UsageMetadata | undefined, usage: UsageMetadata): UsageMetadata {
  const total: UsageMetadata = {};
  for (const count of COUNTS) {
    const both = sum(before?.[count], usage[count]);
    if (both !== undefined) total[count] = both;
  }
  return total;
}

/** Returns a name with few different values: the code of the model's error, the code of the error, or its class. */
function typeOf(error: Error): string {
  if ('errorCode' in error && typeof error.errorCode === 'string') return error.errorCode;
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
