import {
  checkKnown,
  checkRunConfig,
  ConfigurationError,
  type Content,
  copyJson,
  InvalidMessageError,
  InvalidRequestError,
  isRecord,
  type OptionNames,
  type RunConfig,
} from '@eventloom/core';

/** What one run is given. */
export interface RunAsyncParams {
  /** The runner's own, for those who hand in a whole session key; another one is refused. */
  readonly appName?: string | undefined;
  readonly userId: string;
  readonly sessionId: string;
  /** What the user says. Can be absent when `invocationId` is given; then it can be nothing but answers to calls of that run. */
  readonly newMessage?: Content | undefined;
  /**
   * Resumes this run of the session: one that was resumable and was cut off, was aborted, or waits for an answer. Its request id,
   * metadata, `streamingMode`, `completionEvent`, `maxLlmCalls`, `maxParallelToolCalls` and `clientTools` are those it began with unless
   * others are given; all else of `runConfig` is not remembered.
   */
  readonly invocationId?: string | undefined;
  /** With `invocationId`: the stream begins with what is stored of the run, so that it tells all of it. Default false. */
  readonly replay?: boolean | undefined;
  /** Written to state together with the message. Keys with their scope prefix. */
  readonly stateDelta?: Readonly<Record<string, unknown>> | undefined;
  readonly runConfig?: RunConfig | undefined;
  /** Put under `customMetadata` of every event of the run, over `runConfig.customMetadata`; an event's own keys win. */
  readonly customMetadata?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Aborts the run, which then throws RunAbortedError. A resumable run can still be resumed, and is no open run any more; with a
   * ShuttingDownError as the reason it is one, and a server that starts goes on with it.
   */
  readonly abortSignal?: AbortSignal | undefined;
}

const PARAMS: OptionNames<RunAsyncParams> = {
  appName: true,
  userId: true,
  sessionId: true,
  newMessage: true,
  invocationId: true,
  replay: true,
  stateDelta: true,
  runConfig: true,
  customMetadata: true,
  abortSignal: true,
};

/** @throws ConfigurationError for a parameter this version does not have, or one of the wrong kind */
export function checkRunParams(params: RunAsyncParams, appName: string): void {
  checkKnown('runAsync', PARAMS, params);
  if (params.appName !== undefined && params.appName !== appName) {
    throw new ConfigurationError(
      `runAsync: this runner is of app "${appName}", not of ${JSON.stringify(params.appName)}`,
    );
  }
  const { invocationId, newMessage, stateDelta } = params;
  checkType('invocationId', invocationId, 'string');
  checkType('replay', params.replay, 'boolean');
  if (params.abortSignal !== undefined && typeof params.abortSignal?.aborted !== 'boolean')
    throw new ConfigurationError(
      'runAsync: abortSignal must be an AbortSignal, such as the `signal` of an AbortController',
    );
  if (newMessage === undefined && invocationId === undefined)
    throw new InvalidMessageError('newMessage: is missing; only a run that is resumed can do without');
  if (newMessage === undefined && stateDelta !== undefined)
    throw new InvalidRequestError('stateDelta: is written together with newMessage, which is missing');
  if (params.runConfig?.streamingMode === 'bidi')
    throw new ConfigurationError("runAsync: streamingMode 'bidi' is for runLive");
  checkRecord('stateDelta', stateDelta);
  checkRecord('runConfig', params.runConfig);
  checkRecord('customMetadata', params.customMetadata);
}

function checkType(name: string, value: unknown, type: string): void {
  if (value === undefined || typeof value === type) return;
  throw new ConfigurationError(`runAsync: ${name} must be a ${type}`);
}

function checkRecord(name: string, value: unknown): void {
  if (value === undefined || isRecord(value)) return;
  throw new ConfigurationError(`runAsync: ${name} must be an object`);
}

const NO_CONFIG: RunConfig = {};

/**
 * The run's config, checked, with copies of the client tools and of the metadata: the caller may go on changing its own.
 * @param defaults what goes for runs that do not say
 * @throws ConfigurationError
 */
export function toRunConfig(
  { runConfig: given = NO_CONFIG, customMetadata }: RunAsyncParams,
  { resumable, getSessionConfig }: Pick<RunConfig, 'resumable' | 'getSessionConfig'> = NO_CONFIG,
): RunConfig {
  checkRunConfig(given);
  let runConfig = resumable === true && given.resumable === undefined ? { ...given, resumable } : given;
  if (given.clientTools) runConfig = { ...runConfig, clientTools: structuredClone(given.clientTools) };
  if (getSessionConfig && given.getSessionConfig === undefined) runConfig = { ...runConfig, getSessionConfig };
  if (customMetadata === undefined && runConfig.customMetadata === undefined) return runConfig;
  const copied = copyJson({ ...runConfig.customMetadata, ...customMetadata });
  if ('fault' in copied) throw new ConfigurationError(`customMetadata.${copied.fault.path}: ${copied.fault.reason}`);
  return { ...runConfig, customMetadata: copied.value as Record<string, unknown> };
}
