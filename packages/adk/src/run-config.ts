import { ConfigurationError, type Event, type RunConfig, type VendorValue } from '@eventloom/core';
import { wrongOption } from '@eventloom/core/internal';
import type { Assignable } from './adk-types.ts';
import { getPendingUserInputRequests, getUserInputRequests } from './user-input-requests.ts';

/** Options of a run for programs that were written for `@google/adk`: those of `@eventloom/core`, and three of the ADK. */
export interface AdkRunConfig extends Assignable<RunConfig> {
  /** Voice and language of a live model, a `SpeechConfig` of `@google/genai`. */
  speechConfig?: VendorValue;
  /**
   * Only `false`: calls of functions in code that a model runs over a live connection are not offered, and fail every
   * run of `@google/adk` 2.0.0 too.
   */
  supportCfc?: boolean | undefined;
  /**
   * True lets a message that says nothing but yes or no, such as `ok` or `cancel`, answer the newest open confirmation
   * of the run before. The session gets the answer in place of the text. Default false.
   */
  plainTextToolConfirmation?: boolean | undefined;
  /** For an `A2AAgentExecutor`: true lets clients over A2A answer confirmations. Has no effect in other runs. */
  allowRemoteToolConfirmation?: boolean | undefined;
}

/** The options that only the ADK has. Each is true or false. */
const FLAGS: Readonly<Record<Exclude<keyof AdkRunConfig, keyof RunConfig>, true>> = {
  supportCfc: true,
  plainTextToolConfirmation: true,
  allowRemoteToolConfirmation: true,
};

/** Returns the options without those that only the ADK has. @throws ConfigurationError for a value that none of these takes */
export function toRunConfig(given: AdkRunConfig | undefined): RunConfig | undefined {
  if (typeof given !== 'object' || given === null) return given;
  const flags = Object.entries(given).filter(([name]) => Object.hasOwn(FLAGS, name));
  if (flags.length === 0) return given;
  for (const [flag, value] of flags)
    if (value !== undefined && typeof value !== 'boolean')
      throw wrongOption('runConfig', flag, 'true or false', value, 'false');
  if (given.supportCfc === true)
    throw new ConfigurationError(
      'runConfig.supportCfc: true is not offered; remove it, and write tools in the agent, or codeExecutor: new BuiltInCodeExecutor()',
    );
  return Object.fromEntries(Object.entries(given).filter(([name]) => !Object.hasOwn(FLAGS, name)));
}

/** Returns the parameters of a run with options that a runner of `@eventloom/runner` takes. They are converted when the run reads them. */
export function withRunConfig<P extends { readonly runConfig?: AdkRunConfig | undefined }>(params: P): P {
  if (params?.runConfig === undefined) return params;
  return Object.defineProperty({ ...params }, 'runConfig', {
    enumerable: true,
    get: () => toRunConfig(params.runConfig),
  });
}

const YES = new Set(['yes', 'y', 'true', 'approve', 'approved', 'ok', 'okay', 'confirm', 'confirmed']);
const NO = new Set(['no', 'n', 'false', 'reject', 'rejected', 'deny', 'denied', 'cancel', 'cancelled']);

/** Parses a plain text as the answer to a confirmation; undefined unless it is just yes or no. */
export function parseConfirmation(text: string): { readonly confirmed: boolean } | undefined {
  const word = text.trim().toLowerCase();
  return YES.has(word) ? { confirmed: true } : NO.has(word) ? { confirmed: false } : undefined;
}

/**
 * Returns the id of the first open confirmation of the newest event with one since the last message of the user;
 * undefined if there is none.
 */
export function openConfirmation(events: readonly Event[]): string | undefined {
  const since = events.findLastIndex(({ author }) => author === 'user');
  const recent = events.slice(since + 1);
  const open = new Set(getPendingUserInputRequests(recent).map(({ interruptId }) => interruptId));
  const asked = recent.toReversed().flatMap(getUserInputRequests);
  return asked.find(({ kind, interruptId }) => kind === 'confirmation' && open.has(interruptId))?.interruptId;
}
