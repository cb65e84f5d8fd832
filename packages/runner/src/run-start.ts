import {
  ConfigurationError,
  type Content,
  type GetSessionConfig,
  InvalidMessageError,
  type LiveRun,
  type RunBounds,
  type RunConfig,
  type RunLiveParams,
  type SessionKey,
} from '@eventloom/core';
import { checkStateDelta, mergeRunConfigs } from '@eventloom/core/internal';
import { checkNewMessage } from './new-message.ts';
import { checkRunParams, type IfKnown, type RunAsyncParams, toGivenConfig } from './run-params.ts';
import type { Runner } from './runner.ts';

/** The parameters of a run, as its caller gave them. */
export type RunInput =
  | { readonly method: 'runAsync'; readonly params: RunAsyncParams }
  | { readonly method: 'runLive'; readonly params: RunLiveParams };

/** The kinds of runs, by what starts them. */
export type RunStart =
  /** The user's words, or a file: a new run. */
  | { readonly kind: 'message'; readonly message: Content }
  /** Responses to calls: they continue the run that made the calls if it is open, and otherwise start a run of the agent that made them. */
  | { readonly kind: 'answers'; readonly message: Content }
  /** A run that the caller names goes on, maybe with responses to its calls. */
  | { readonly kind: 'resume'; readonly message: Content | undefined; readonly invocationId: string }
  /** A client speaks with the agent. */
  | { readonly kind: 'live'; readonly message: undefined; readonly live: LiveRun };

/** A run that is to start, with everything checked that can be checked without its session. */
export interface RunRequest {
  readonly start: RunStart;
  /** The ids of the calls that the message answers. */
  readonly callIds: readonly string[];
  readonly key: SessionKey;
  /** The options that the caller gave. */
  readonly given: RunConfig;
  /** These over the runner's defaults, within `bounds`. */
  readonly config: RunConfig;
  readonly bounds: RunBounds | undefined;
  /**
   * The part of the session's events that the run reads; undefined for everything that counts. A run that answers calls or goes on needs
   * the events of these calls, however old they are.
   */
  readonly window: GetSessionConfig | undefined;
  /** Written together with the message. */
  readonly stateDelta: Readonly<Record<string, unknown>>;
  /** True if the stream of a resumed run begins with its stored events. */
  readonly replay: boolean;
  readonly ifKnown: IfKnown;
}

/** @throws ConfigurationError, InvalidMessageError, InvalidRequestError, StateKeyError, StateValueError */
export function parseRunRequest(runner: Runner, input: RunInput): RunRequest {
  if (input.method === 'runLive') return parseLive(runner, input.params);
  const { params } = input;
  checkRunParams(params, runner.appName);
  const { userId, sessionId, bounds, stateDelta, replay = false, ifKnown = 'follow' } = params;
  const message = params.newMessage && checkNewMessage(params.newMessage);
  const callIds = message ? answeredCallIds(message) : NO_IDS;
  const start = startOf(params.invocationId, message, callIds);
  const given = toGivenConfig(params);
  const config = mergeRunConfigs(given, runner.runConfig, bounds);
  return {
    start,
    callIds,
    key: { appName: runner.appName, userId, sessionId },
    given,
    config,
    bounds,
    window: start.kind === 'message' ? config.getSessionConfig : undefined,
    stateDelta: stateDelta ? checkStateDelta(stateDelta) : NO_STATE,
    replay,
    ifKnown,
  };
}

function startOf(invocationId: string | undefined, message: Content | undefined, callIds: readonly string[]): RunStart {
  if (invocationId === undefined) {
    if (!message) throw new InvalidMessageError('newMessage: is missing; only a run that is resumed can do without');
    return { kind: callIds.length > 0 ? 'answers' : 'message', message };
  }
  if (message && callIds.length === 0)
    throw new InvalidMessageError(
      'newMessage: has no answers to calls, and invocationId names a run to resume, which takes nothing else; leave invocationId out to start a new run',
    );
  return { kind: 'resume', message, invocationId };
}

function parseLive(runner: Runner, params: RunLiveParams): RunRequest {
  const { appName } = runner;
  if (!runner.live)
    throw new ConfigurationError(
      "runLive: the runner has no live support; install @eventloom/live and write `new Runner({ ..., live: live() })` with `import { live } from '@eventloom/live'`, or use the Runner of `eventloom`",
    );
  const { bounds } = params;
  const given = toGivenConfig(params);
  const { resumable: _, ...defaults } = runner.runConfig;
  const config = mergeRunConfigs(given, defaults, bounds);
  // The last check: the queue of a run that is refused can serve another one.
  const live = runner.live.startRun({ ...params, runConfig: config }, runner);
  const key = { appName, userId: params.userId, sessionId: params.sessionId };
  const start: RunStart = { kind: 'live', message: undefined, live };
  const window = config.getSessionConfig;
  return {
    start,
    callIds: NO_IDS,
    key,
    given,
    config,
    bounds,
    window,
    stateDelta: NO_STATE,
    replay: false,
    ifKnown: 'reject',
  };
}

/** The ids of the calls that a message answers; empty for a message that answers none. */
export function answeredCallIds({ parts = [] }: Content): readonly string[] {
  let ids: string[] | undefined;
  for (const { functionResponse } of parts) if (functionResponse?.id) (ids ??= []).push(functionResponse.id);
  return ids ?? NO_IDS;
}

const NO_STATE: Readonly<Record<string, unknown>> = Object.freeze({});
const NO_IDS: readonly string[] = [];
