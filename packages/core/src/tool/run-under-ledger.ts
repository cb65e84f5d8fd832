import type { InvocationContext } from '../context/invocation-context.ts';
import type { ToolContext } from '../context/tool-context.ts';
import type { AuthConfig } from '../credential/auth-config.ts';
import { createEventActions } from '../event/create-event.ts';
import { type EventActions, isEmptyActions } from '../event/event-actions.ts';
import type { MaybePromise } from '../session/maybe-promise.ts';
import type { ToolLedgerEntry } from '../session/tool-ledger.ts';
import type { BaseTool } from './base-tool.ts';
import { INTERRUPTED_AT_END, INTERRUPTED_CALL, NOT_BEGUN } from './reserved-calls.ts';

/** The outcome of a tool call that the ledger records. */
export interface LedgerOutcome {
  /** The response; undefined if a long-running tool has not given one yet. */
  readonly response?: ToolLedgerEntry['response'] | undefined;
  /** The media of the response. */
  readonly parts?: ToolLedgerEntry['parts'] | undefined;
  /** Changes and signals of the tool and its callbacks; undefined if there are none. */
  readonly actions?: EventActions | undefined;
  /**
   * True for a call that runs an agent, if the agent waits (`ToolContext.pause`): its entry stays `started`. A call
   * that asked a person itself has a notice as its response, and is recorded as `finished`. After the answer it runs
   * under another id: see `ledgerEntryId`. Default false.
   */
  readonly isPaused?: boolean;
}

/** A tool call that `runUnderLedger` runs. */
export interface LedgerTool<Outcome extends LedgerOutcome> {
  /** The context that the tool runs with. Agents that the tool runs cannot wait for a person once it has returned. */
  readonly toolContext: ToolContext;
  /** Runs the tool, with its callbacks. */
  runTool(tool: BaseTool): MaybePromise<Outcome>;
  /** The response to a call that was interrupted and may not run again. Default: `INTERRUPTED_CALL`. */
  readonly interrupted?: Readonly<Record<string, unknown>>;
}

/**
 * Runs a tool call under the ledger of its session. Only this function, and `responseAtEnd` once nobody continues the call, decide what
 * becomes of a call that an earlier process, or a run for an earlier answer of a person, began.
 *
 * | entry      | tool                             | the call                                                            |
 * | ---------- | -------------------------------- | ------------------------------------------------------------------- |
 * | none       | any                              | is recorded as `started`, runs, and is recorded as `finished`       |
 * | `finished` | any                              | does not run again: the entry is its outcome                        |
 * | `started`  | `isIdempotent` or `resumesCalls` | runs again, as a call without an entry                              |
 * | `started`  | any other                        | gets the response `interrupted`, and is recorded as `finished`      |
 *
 * The start is recorded before each run of the tool, also before a second one: a process that lost the session fails
 * there, before the tool has an effect. Returns synchronously unless the tool or the store is asynchronous.
 *
 * @param id the call's entry in the ledger: see `ledgerEntryId`
 * @param before the entry of the call; undefined if there is none
 */
export function runUnderLedger<Outcome extends LedgerOutcome>(
  context: InvocationContext,
  id: Pick<ToolLedgerEntry, 'entryId' | 'name'>,
  before: ToolLedgerEntry | undefined,
  tool: BaseTool,
  call: LedgerTool<Outcome>,
): MaybePromise<Outcome | LedgerOutcome> {
  const recorded = before && outcomeOfEntry(before);
  if (recorded) return recorded;
  if (before && !continuesCalls(tool))
    return recordEnd(context, id, { response: call.interrupted ?? INTERRUPTED_CALL });
  const { invocation, invocationId } = context;
  const { entryId, name } = id;
  const started = invocation.ledger.recordToolCall({ invocationId, entryId, name, status: 'started' });
  const ran = started instanceof Promise ? started.then(() => call.runTool(tool)) : call.runTool(tool);
  if (!(ran instanceof Promise)) {
    call.toolContext.hasReturned = true;
    return recordEnd(context, id, ran);
  }
  return ran.then(
    (outcome) => {
      call.toolContext.hasReturned = true;
      return recordEnd(context, id, outcome);
    },
    (error: unknown) => {
      call.toolContext.hasReturned = true;
      throw error;
    },
  );
}

/** True for a tool whose call runs again if it was interrupted or waits. */
export function continuesCalls(tool: BaseTool): boolean {
  return tool.isIdempotent || tool.resumesCalls;
}

function recordEnd<Outcome extends LedgerOutcome>(
  context: InvocationContext,
  id: Pick<ToolLedgerEntry, 'entryId' | 'name'>,
  outcome: Outcome,
): MaybePromise<Outcome> {
  if (outcome.isPaused) return outcome;
  const { invocation, invocationId } = context;
  const { entryId, name } = id;
  const { response, parts, actions } = outcome;
  const entry: { -readonly [K in keyof ToolLedgerEntry]: ToolLedgerEntry[K] } = {
    invocationId,
    entryId,
    name,
    status: 'finished',
  };
  if (response) entry.response = response;
  if (parts) entry.parts = parts;
  const changed = actions && ledgerActions(context, actions);
  if (changed) entry.actions = changed;
  const recorded = invocation.ledger.recordToolCall(entry);
  return recorded instanceof Promise ? recorded.then(() => outcome) : outcome;
}

/** Returns the outcome of a finished call; undefined for one that only started. It counts even if the agent no longer has the tool. */
export function outcomeOfEntry({ status, response, parts, actions }: ToolLedgerEntry): LedgerOutcome | undefined {
  if (status !== 'finished') return undefined;
  return { response, parts, actions: actions && createEventActions(structuredClone(actions)) };
}

/**
 * Returns the response to a call whose run or agent has ended: the recorded one, or one that says that the call was interrupted. Undefined
 * for a finished call without a response: that of a long-running tool, whose result comes later.
 *
 * @param entry the entry of the call; undefined if it has not begun
 */
export function responseAtEnd(entry: ToolLedgerEntry | undefined): ToolLedgerEntry['response'] {
  if (entry?.status === 'finished') return entry.response;
  return entry ? INTERRUPTED_AT_END : NOT_BEGUN;
}

/**
 * Returns a copy of a call's actions for the ledger, without `temp:` state and secrets; undefined if nothing is left. For code that
 * runs tools.
 */
export function ledgerActions(
  context: InvocationContext,
  actions: Partial<EventActions>,
): Partial<EventActions> | undefined {
  if (isEmptyActions(actions)) return undefined;
  const { stateDelta = {}, removedState } = actions;
  const isKept = (key: string): boolean => !key.startsWith('temp:');
  const kept = Object.entries(stateDelta).filter(([key]) => isKept(key));
  const recorded: Partial<EventActions> = { ...actions, stateDelta: Object.fromEntries(kept) };
  if (removedState) recorded.removedState = removedState.filter(isKept);
  const auths = publicAuthConfigs(context, actions);
  if (auths) recorded.requestedAuthConfigs = auths;
  else delete recorded.requestedAuthConfigs;
  return isEmptyActions(recorded) ? undefined : recorded;
}

/** Returns the requests for credentials in actions, without secrets. Undefined if there are none, and without a credential service. */
export function publicAuthConfigs(
  { invocation: { credentialService } }: InvocationContext,
  { requestedAuthConfigs: auths }: Partial<EventActions>,
): Record<string, AuthConfig> | undefined {
  if (!auths || !credentialService) return undefined;
  return Object.fromEntries(Object.entries(auths).map(([id, config]) => [id, credentialService.describe(config)]));
}
