import { describeKind, getOwn, isRecord } from '../content/json.ts';
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
  /**
   * Model calls allowed in this run, exactly, and hand-overs in a row without one. Default 500; 0 and below mean no limit.
   */
  readonly maxLlmCalls?: number | undefined;
  /** What to do when the session is busy. Default `queue`. */
  readonly onBusy?: OnBusy | undefined;
  /** How long `queue` waits for the session; default 60,000 ms, at most a day. */
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
  /**
   * Agents store how far they come, in events of their own (`actions.agentState`, `actions.endOfAgent`), so that the run can be
   * resumed when its process was lost. An agent that waits for an answer then pauses those that run it. Default: the runner's.
   */
  readonly resumable?: boolean | undefined;
}

/** The defaults of what is not given. */
export const RUN_CONFIG_DEFAULTS = {
  streamingMode: StreamingMode.NONE,
  maxLlmCalls: 500,
  onBusy: 'queue',
  busyWaitMs: 60_000,
  maxParallelToolCalls: 16,
} as const satisfies RunConfig;

/** What a value must be, or undefined when it is that. */
type Check = (value: unknown) => string | undefined;

const CHECKS: { readonly [K in keyof Required<RunConfig>]: Check } = {
  streamingMode: oneOf('none', 'sse'),
  maxLlmCalls: integer(Number.NEGATIVE_INFINITY),
  onBusy: oneOf('queue', 'reject', 'interrupt'),
  busyWaitMs: integer(0),
  maxParallelToolCalls: integer(1),
  saveInputBlobsAsArtifacts: ofType('boolean'),
  customMetadata: record,
  getSessionConfig: record,
  completionEvent: ofType('boolean'),
  requestId: ofType('string'),
  resumable: ofType('boolean'),
};

const SESSION_CHECKS: { readonly [K in keyof Required<GetSessionConfig>]: Check } = {
  numRecentEvents: integer(0),
  afterTimestamp: number,
  afterSeq: integer(0),
  beforeSeq: integer(0),
  sinceCompaction: ofType('boolean'),
};

function oneOf(...allowed: string[]): Check {
  return (value) => (allowed.includes(value as string) ? undefined : `one of ${allowed.join(', ')}`);
}

function integer(minimum: number): Check {
  const wanted = minimum >= 0 ? `an integer of at least ${minimum}` : 'an integer';
  return (value) => (Number.isInteger(value) && (value as number) >= minimum ? undefined : wanted);
}

function ofType(type: 'boolean' | 'string'): Check {
  return (value) => (typeof value === type ? undefined : `a ${type}`);
}

function number(value: unknown): string | undefined {
  return Number.isFinite(value) ? undefined : 'a number';
}

function record(value: unknown): string | undefined {
  return isRecord(value) ? undefined : 'an object';
}

/** @throws ConfigurationError for a value that makes no sense, and for an option that this version does not have. */
export function checkRunConfig(config: RunConfig): void {
  checkOptions('runConfig', CHECKS, config);
  if (config.getSessionConfig) checkOptions('runConfig.getSessionConfig', SESSION_CHECKS, config.getSessionConfig);
}

function checkOptions(path: string, checks: Readonly<Record<string, Check>>, options: object): void {
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const check = getOwn(checks, key);
    if (!check) {
      const known = Object.keys(checks).join(', ');
      throw new ConfigurationError(`${path}.${key}: this version has no such option; it has ${known}`);
    }
    const wanted = check(value);
    if (wanted !== undefined) {
      const given = typeof value === 'string' ? JSON.stringify(value) : describeKind(value);
      throw new ConfigurationError(`${path}.${key}: must be ${wanted}, is ${given}`);
    }
  }
}
