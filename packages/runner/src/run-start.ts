import {
  checkStateDelta,
  ConfigurationError,
  type Content,
  type GetSessionConfig,
  InvalidMessageError,
  type RunConfig,
  type LiveRun,
  type RunLiveParams,
  type SessionKey,
} from '@eventloom/core';
import { checkNewMessage } from './new-message.ts';
import { checkRunParams, type RunAsyncParams, toRunConfig } from './run-params.ts';
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
  | { readonly kind: 'answers'; readonly message: Content; readonly callIds: readonly string[] }
  /** A run that the caller names goes on, maybe with responses to its calls. */
  | {
      readonly kind: 'resume';
      readonly invocationId: string;
      readonly answers: Content | undefined;
      readonly callIds: readonly string[];
    }
  /** A client speaks with the agent. */
  | { readonly kind: 'live'; readonly live: LiveRun };

/** A run that is to start, with everything checked that can be checked without its session. */
export interface RunRequest {
  readonly start: RunStart;
  readonly key: SessionKey;
  readonly config: RunConfig;
  /** Written together with the message. */
  readonly stateDelta: Readonly<Record<string, unknown>>;
  /** Whether the stream of a resumed run begins with what is stored of it. */
  readonly replay: boolean;
}

/** @throws ConfigurationError, InvalidMessageError, InvalidRequestError, StateKeyError, StateValueError */
export function parseRunRequest(runner: Runner, input: RunInput): RunRequest {
  if (input.method === 'runLive') return parseLive(runner, input.params);
  const { params } = input;
  checkRunParams(params, runner.appName);
  return {
    start: parseStart(params),
    key: { appName: runner.appName, userId: params.userId, sessionId: params.sessionId },
    config: toRunConfig(params, runner),
    stateDelta: params.stateDelta ? checkStateDelta(params.stateDelta) : NO_STATE,
    replay: params.replay === true,
  };
}

function parseStart({ invocationId, newMessage }: RunAsyncParams): RunStart {
  const message = newMessage && checkNewMessage(newMessage);
  const callIds = answeredCallIds(message);
  if (invocationId !== undefined) {
    if (message && callIds.length === 0)
      throw new InvalidMessageError('newMessage: a run that is resumed takes answers to its calls and nothing else');
    return { kind: 'resume', invocationId, answers: message, callIds };
  }
  if (!message) throw new InvalidMessageError('newMessage: is missing; only a run that is resumed can do without');
  return callIds.length > 0 ? { kind: 'answers', message, callIds } : { kind: 'message', message };
}

function parseLive(runner: Runner, params: RunLiveParams): RunRequest {
  const { appName, getSessionConfig } = runner;
  if (!runner.live)
    throw new ConfigurationError(
      "runLive: the runner has no live support; install @eventloom/live and write `new Runner({ ..., live: live() })` with `import { live } from '@eventloom/live'`, or use the Runner of `eventloom`",
    );
  const config = toRunConfig(params, { getSessionConfig });
  // The last check: the queue of a run that is refused can serve another one.
  const live = runner.live.startRun(params, runner);
  const key = { appName, userId: params.userId, sessionId: params.sessionId };
  return { start: { kind: 'live', live }, key, config, stateDelta: NO_STATE, replay: false };
}

/** The ids of the calls that a message answers; empty for a message that answers none. */
export function answeredCallIds(message: Content | undefined): string[] {
  return message?.parts?.flatMap(({ functionResponse }) => functionResponse?.id ?? []) ?? [];
}

/** The ids of the calls that the run's first message answers. */
export function callIdsOf(start: RunStart): readonly string[] {
  return start.kind === 'answers' || start.kind === 'resume' ? start.callIds : NO_IDS;
}

/** The message or the answers that the run starts with; undefined for a resume without answers and for a live run. */
export function messageOf(start: RunStart): Content | undefined {
  if (start.kind === 'live') return undefined;
  return start.kind === 'resume' ? start.answers : start.message;
}

/**
 * The part of the session's events that the run reads; undefined for everything that counts. A run that answers calls or goes on needs
 * the events of these calls, however old they are.
 */
export function windowOf({ start, config }: RunRequest): GetSessionConfig | undefined {
  return start.kind === 'message' || start.kind === 'live' ? config.getSessionConfig : undefined;
}

const NO_STATE: Readonly<Record<string, unknown>> = Object.freeze({});
const NO_IDS: readonly string[] = [];
