import { checkRunConfig, ConfigurationError, type Content, copyJson, type RunConfig } from '@eventloom/core';

/** What one run is given. */
export interface RunAsyncParams {
  /** The runner's own, for those who hand in a whole session key; another one is refused. */
  readonly appName?: string | undefined;
  readonly userId: string;
  readonly sessionId: string;
  readonly newMessage: Content;
  /** Written to state together with the message. Keys with their scope prefix. */
  readonly stateDelta?: Readonly<Record<string, unknown>> | undefined;
  readonly runConfig?: RunConfig | undefined;
  /** Put under `customMetadata` of every event of the run, over `runConfig.customMetadata`; an event's own keys win. */
  readonly customMetadata?: Readonly<Record<string, unknown>> | undefined;
  /** Aborts the run, which then throws RunAbortedError. */
  readonly abortSignal?: AbortSignal | undefined;
}

const PARAMS: ReadonlySet<string> = new Set<keyof RunAsyncParams>([
  'appName',
  'userId',
  'sessionId',
  'newMessage',
  'stateDelta',
  'runConfig',
  'customMetadata',
  'abortSignal',
]);

/** @throws ConfigurationError for a parameter this version does not have, or one of the wrong kind */
export function checkRunParams(params: RunAsyncParams, appName: string): void {
  for (const name in params) {
    if (PARAMS.has(name)) continue;
    const known = [...PARAMS].join(', ');
    throw new ConfigurationError(`runAsync: ${name} is not supported by this version; it has ${known}`);
  }
  if (params.appName !== undefined && params.appName !== appName) {
    throw new ConfigurationError(
      `runAsync: this runner is of app "${appName}", not of ${JSON.stringify(params.appName)}`,
    );
  }
  checkRecord('stateDelta', params.stateDelta);
  checkRecord('runConfig', params.runConfig);
  checkRecord('customMetadata', params.customMetadata);
}

function checkRecord(name: string, value: unknown): void {
  if (value === undefined) return;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ConfigurationError(`runAsync: ${name} must be an object`);
  }
}

const NO_CONFIG: RunConfig = {};

/** The run's config, checked, with a copy of the metadata: the caller may go on changing its own. @throws ConfigurationError */
export function toRunConfig({ runConfig = NO_CONFIG, customMetadata }: RunAsyncParams): RunConfig {
  checkRunConfig(runConfig);
  if (customMetadata === undefined && runConfig.customMetadata === undefined) return runConfig;
  const copied = copyJson({ ...runConfig.customMetadata, ...customMetadata });
  if ('fault' in copied) throw new ConfigurationError(`customMetadata.${copied.fault.path}: ${copied.fault.reason}`);
  return { ...runConfig, customMetadata: copied.value as Record<string, unknown> };
}
