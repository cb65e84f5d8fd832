import { ConfigurationError } from '../errors/configuration-error.ts';
import type { OnBusy } from '../session/session-lease.ts';
import type { GetSessionConfig } from '../session/session-service.ts';

/** How model replies come: whole (`none`), or chunk by chunk as well (`sse`). */
export const StreamingMode = { NONE: 'none', SSE: 'sse' } as const;
export type StreamingMode = (typeof StreamingMode)[keyof typeof StreamingMode];

/** How one run goes. */
export interface RunConfig {
  /** Default `none`: only whole events are yielded. */
  readonly streamingMode?: StreamingMode | undefined;
  /** Model calls allowed in this run, exactly. Default 500; 0 and below mean no limit. */
  readonly maxLlmCalls?: number | undefined;
  /** What to do when the session is busy. Default `queue`. */
  readonly onBusy?: OnBusy | undefined;
  /** How long `queue` waits for the session; default 60,000 ms. */
  readonly busyWaitMs?: number | undefined;
  /** Tool calls of one model reply that run at the same time. Default 16. */
  readonly maxParallelToolCalls?: number | undefined;
  /** Saves the user's inline data as artifacts and leaves a text in its place. Default false. */
  readonly saveInputBlobsAsArtifacts?: boolean | undefined;
  /** Put under `customMetadata` of every event of the run; an event's own keys win. */
  readonly customMetadata?: Readonly<Record<string, unknown>> | undefined;
  /** Which of the session's events the run reads. Default: all of them. */
  readonly getSessionConfig?: GetSessionConfig | undefined;
  /** Ends the stream with a `runner.completion` event. Default false. */
  readonly completionEvent?: boolean | undefined;
  /** The caller's own id for this request, put on every event. */
  readonly requestId?: string | undefined;
}

/** The defaults of what is not given. */
export const RUN_CONFIG_DEFAULTS = {
  streamingMode: StreamingMode.NONE,
  maxLlmCalls: 500,
  onBusy: 'queue',
  busyWaitMs: 60_000,
  maxParallelToolCalls: 16,
} as const satisfies RunConfig;

const CHECKS: { readonly [K in keyof Required<RunConfig>]: (value: unknown) => string | undefined } = {
  streamingMode: oneOf('none', 'sse'),
  maxLlmCalls: integer(Number.NEGATIVE_INFINITY),
  onBusy: oneOf('queue', 'reject', 'interrupt'),
  busyWaitMs: integer(0),
  maxParallelToolCalls: integer(1),
  saveInputBlobsAsArtifacts: ofType('boolean'),
  customMetadata: ofType('object'),
  getSessionConfig: ofType('object'),
  completionEvent: ofType('boolean'),
  requestId: ofType('string'),
};

function oneOf(...allowed: string[]) {
  return (value: unknown) => (allowed.includes(value as string) ? undefined : `must be one of ${allowed.join(', ')}`);
}

function integer(minimum: number) {
  return (value: unknown) =>
    Number.isInteger(value) && (value as number) >= minimum
      ? undefined
      : `must be an integer${minimum >= 0 ? ` of at least ${minimum}` : ''}`;
}

function ofType(type: string) {
  return (value: unknown) => (typeof value === type && value !== null ? undefined : `must be a ${type}`);
}

/** @throws ConfigurationError for a value that makes no sense, and for an option that this version does not have. */
export function checkRunConfig(config: RunConfig): void {
  for (const [key, value] of Object.entries(config)) {
    if (value === undefined) continue;
    const check = Object.hasOwn(CHECKS, key) ? CHECKS[key as keyof RunConfig] : undefined;
    if (!check)
      throw new ConfigurationError(
        `runConfig.${key}: this version has no such option; it has ${Object.keys(CHECKS).join(', ')}`,
      );
    const fault = check(value);
    if (fault !== undefined) throw new ConfigurationError(`runConfig.${key}: ${fault}, is ${JSON.stringify(value)}`);
  }
}
