import {
  type BaseTool,
  ConfigurationError,
  type Event,
  EventloomError,
  type FunctionCall,
  InvalidRequestError,
  type JsonValue,
  type MaybePromise,
  ObjectType,
  type ResponseScheduling,
  StorageError,
  ToolContext,
  type ToolLedgerEntry,
  toError,
} from '@eventloom/core';
import {
  contextInTime,
  copyJson,
  getOwn,
  isEmptyActions,
  isPromiseLike,
  isToolResult,
  ledgerEntryId,
  type ObservedOperation,
  type LedgerOutcome,
  outcomeOfEntry,
  type LedgerTool,
  reportTo,
  runInTime,
  runUnderLedger,
  type ToolListener,
} from '@eventloom/core/internal';
import { deepArgsError } from './model-call.ts';
import type { AnsweredCall } from './answered-calls.ts';
import { responseWithActions, asksPerson, type ToolResponse, toToolResponse, unknownTool } from './tool-response.ts';
import type { CallBatch, RunningCalls } from './running-calls.ts';

/** The outcome of one tool call. */
export interface CallOutcome extends LedgerOutcome {
  /** Tells the model of a live run how to schedule the response; undefined outside live runs. */
  readonly scheduling?: ResponseScheduling | undefined;
}

/**
 * One function call with the callbacks around it. If the tool throws, the model gets `{ error }` as the response. The
 * run fails if a callback throws, the tool throws a StorageError, or the run loses its session.
 */
export class ToolCall implements ToolListener, LedgerTool<CallOutcome> {
  readonly #batch: CallBatch;
  readonly #call: FunctionCall;
  /** All calls of the reply, this one included. */
  readonly #siblings: RunningCalls;
  readonly #answered: AnsweredCall | undefined;
  readonly #tool: BaseTool | undefined;
  readonly toolContext: ToolContext;

  constructor(batch: CallBatch, call: FunctionCall, siblings: RunningCalls) {
    const { turn, tools } = batch;
    const { id = '', name = '' } = call;
    const answered = batch.answered?.get(id);
    this.#batch = batch;
    this.#call = call;
    this.#siblings = siblings;
    this.#answered = answered;
    this.#tool = getOwn(tools, name);
    this.toolContext = new ToolContext({
      invocationContext: this.#tool?.timeoutMs === undefined ? turn.context : contextInTime(turn.context),
      functionCallId: id,
      listener: this,
      tool: this.#tool,
      toolConfirmation: answered?.confirmation,
      inputs: answered?.inputs,
      requests: answered?.requests,
    });
    if (turn.context.invocation.live) this.toolContext.responseScheduling = this.#tool?.responseScheduling;
  }

  /**
   * Runs the call, unless it was refused or the ledger has its result. Returns synchronously unless the tool, a callback or the store is
   * asynchronous. Never throws synchronously: a failure is a rejected promise.
   */
  run(): MaybePromise<CallOutcome> {
    try {
      if (this.#answered) return this.#runAnswered(this.#answered);
      const entryId = ledgerEntryId(this.#batch.eventId, this.#call);
      return this.#start(entryId, this.#batch.entries?.get(entryId));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #runAnswered(answered: AnsweredCall): Promise<CallOutcome> {
    if (answered.refusal) return { response: answered.refusal };
    const entryId = ledgerEntryId(answered.eventId, this.#call);
    const before = this.#batch.entries?.get(entryId) ?? (await this.#findEarlierStart(answered));
    // A finished call does not run.
    if (before?.status !== 'finished') await this.toolContext.loadGivenCredentials();
    return this.#start(entryId, before);
  }

  /**
   * @param entryId the id of the call's entry in the ledger
   * @param before the entry of the call's last start; undefined if it runs for the first time
   */
  #start(entryId: string, before: ToolLedgerEntry | undefined): MaybePromise<CallOutcome> {
    const tool = this.#tool;
    const recorded = before && outcomeOfEntry(before);
    if (recorded) return recorded;
    const refused = tool ? deepArgsError(this.#call) : unknownTool(this.#call.name, this.#batch.tools);
    if (!tool || refused) {
      const { error = '' } = refused ?? {};
      this.#startOperation()?.fail(tool ? new InvalidRequestError(error) : new ConfigurationError(error));
      return { response: { error } };
    }
    return runUnderLedger(this.#batch.turn.context, { entryId, name: tool.name }, before, tool, this);
  }

  /** Runs the tool with its callbacks, inside the operation that observes the call. */
  runTool(tool: BaseTool): MaybePromise<CallOutcome> {
    const operation = this.#batch.turn.context.invocation.operations && this.#startOperation();
    const given = operation
      ? operation.around(
          () => this.#toolResponse(tool, operation),
          (response) => response?.response,
        )
      : this.#toolResponse(tool, undefined);
    return given instanceof Promise ? given.then((response) => this.#toOutcome(response)) : this.#toOutcome(given);
  }

  #toOutcome(given: ToolResponse | undefined): CallOutcome {
    const toolContext = this.toolContext;
    const { usedActions } = toolContext;
    const actions = usedActions && !isEmptyActions(usedActions) ? usedActions : undefined;
    if (toolContext.isPaused) return { actions, isPaused: true };
    const { response, parts } = (actions ? responseWithActions(this.#batch.turn, actions, given) : given) ?? {};
    return { response, parts, actions, scheduling: toolContext.responseScheduling };
  }

  /**
   * Finds the ledger entry of an answered call that an earlier answer started, in a run that was interrupted before it stored the response.
   * Undefined if no earlier answer started it.
   */
  async #findEarlierStart({ call, earlier }: AnsweredCall): Promise<ToolLedgerEntry | undefined> {
    const { invocation } = this.#batch.turn.context;
    const entriesOf = new Map<string, readonly ToolLedgerEntry[]>();
    for (const { invocationId, eventId } of earlier) {
      const entries = entriesOf.get(invocationId) ?? (await invocation.ledger.listToolCalls(invocationId));
      entriesOf.set(invocationId, entries);
      const entry = entries.find(({ entryId }) => entryId === ledgerEntryId(eventId, call));
      if (entry) return entry;
    }
    return undefined;
  }

  #startOperation(): ObservedOperation | undefined {
    const { invocation } = this.#batch.turn.context;
    const { name = '', args = {} } = this.#call;
    return invocation.operations?.start({ kind: 'tool', context: this.toolContext, name, args });
  }

  /** Returns the response of the tool and its callbacks; undefined if there is none yet. */
  #toolResponse(tool: BaseTool, operation: ObservedOperation | undefined): MaybePromise<ToolResponse | undefined> {
    const { agent, context } = this.#batch.turn;
    const { plugins } = context;
    const copied = copyJson(this.#call.args ?? {});
    if ('fault' in copied) {
      const error = `the arguments of ${tool.name} are not JSON: at ${copied.fault.path}: ${copied.fault.reason}`;
      return { response: { error } };
    }
    const running: RunningTool = { tool, args: copied.value as Record<string, unknown>, operation };
    const hasAfter = agent.afterToolCallback.length > 0 || plugins.has('afterToolCallback');
    const hasBefore = agent.beforeToolCallback.length > 0 || plugins.has('beforeToolCallback');
    if (hasBefore || hasAfter) return this.#runWithCallbacks(running, hasBefore, hasAfter);
    const returned = this.#callTool(running);
    return returned instanceof Promise
      ? returned.then((settled) => this.#toResponse(running, settled))
      : this.#toResponse(running, returned);
  }

  async #runWithCallbacks(
    running: RunningTool,
    hasBefore: boolean,
    hasAfter: boolean,
  ): Promise<ToolResponse | undefined> {
    const { context } = this.#batch.turn;
    const instead = hasBefore ? await context.untilAborted(this.#beforeTool(running)) : undefined;
    const returned = instead ?? (await this.#callTool(running));
    if (!hasAfter || this.toolContext.isPaused) return this.#toResponse(running, returned);
    // A tool that only asks a person has not returned anything yet.
    if (returned === undefined && asksPerson(this.toolContext.actions)) return undefined;
    return context.untilAborted(this.#afterTool(running, returned));
  }

  /** Runs the tool without its callbacks. Returns the tool's result, or the response for its error. */
  #callTool(running: RunningTool): unknown {
    const { tool, args } = running;
    try {
      const { timeoutMs } = tool;
      const request = { args, toolContext: this.toolContext };
      const returned = timeoutMs === undefined ? tool.runAsync(request) : runInTime(tool, timeoutMs, request);
      if (isPromiseLike(returned)) return this.#awaitTool(running, returned);
      this.#batch.turn.context.throwIfAborted();
      return returned;
    } catch (thrown) {
      return this.#replaceError(running, thrown);
    }
  }

  async #awaitTool(running: RunningTool, returned: PromiseLike<unknown>): Promise<unknown> {
    const { context } = this.#batch.turn;
    try {
      const settled = await context.untilAborted(Promise.resolve(returned));
      context.throwIfAborted();
      return settled;
    } catch (thrown) {
      return this.#replaceError(running, thrown);
    }
  }

  #toResponse({ tool, operation }: RunningTool, returned: unknown): ToolResponse | undefined {
    if (this.toolContext.isPaused) return undefined;
    if (returned === undefined && (tool.isLongRunning || asksPerson(this.toolContext.actions))) return undefined;
    const given = toToolResponse(tool.name, returned);
    if ('fault' in given) {
      // The model reads the fault; so does the developer.
      reportTo(this.#batch.turn.context.platform, given.fault);
      operation?.failWith(given.fault);
    }
    return given;
  }

  /** Returns the value that a callback gives in place of the tool's result; undefined if the tool is to run. */
  async #beforeTool({ tool, args }: RunningTool): Promise<unknown> {
    const { agent, context } = this.#batch.turn;
    const toolContext = this.toolContext;
    const ofPlugins = context.plugins.first('beforeToolCallback', { tool, toolArgs: args, toolContext });
    return firstResult(ofPlugins, agent.beforeToolCallback, { tool, args, context: toolContext });
  }

  /** Shows the callbacks the tool's result, unchanged and not copied, as the ADK does: they may change it in place. */
  async #afterTool(running: RunningTool, returned: unknown): Promise<ToolResponse | undefined> {
    const { tool, args } = running;
    const { agent, context } = this.#batch.turn;
    const toolContext = this.toolContext;
    // Typed as in the ADK, although a tool may return any value.
    const response = (isToolResult(returned) ? returned.response : returned) as Record<string, unknown>;
    const ofPlugins = context.plugins.first('afterToolCallback', {
      tool,
      toolArgs: args,
      toolContext,
      result: response,
    });
    const given = { tool, args, context: toolContext, response };
    const replaced = await firstResult(ofPlugins, agent.afterToolCallback, given);
    // A replacement also replaces the media, so that a callback that withholds a result withholds all of it.
    return this.#toResponse(running, replaced === undefined ? returned : replaced);
  }

  /** Returns the response that the model gets for an error of the tool. */
  async #replaceError({ tool, args, operation }: RunningTool, thrown: unknown): Promise<unknown> {
    const { context } = this.#batch.turn;
    // A streaming tool whose reader has left did not fail: it was stopped.
    // A StorageError fails the run, because the model can do nothing about it.
    if (context.abortSignal.aborted || this.#siblings.isClosed || StorageError.isInstance(thrown)) throw thrown;
    const response = await context.untilAborted(this.#onToolError(tool, args, toError(thrown)));
    operation?.failWith(thrown);
    return response;
  }

  async #onToolError(tool: BaseTool, args: Record<string, unknown>, error: Error): Promise<unknown> {
    const { agent, context } = this.#batch.turn;
    const toolContext = this.toolContext;
    const ofPlugins = context.plugins.first('onToolErrorCallback', { tool, toolArgs: args, toolContext, error });
    const replacement = await firstResult(ofPlugins, agent.onToolErrorCallback, {
      tool,
      args,
      context: toolContext,
      error,
    });
    if (replacement !== undefined) return replacement;
    // Clients read the response, and the error of an agent may quote what its model threw only for the program.
    const text = tool.calledAgent && EventloomError.isInstance(error) ? error.publicMessage : error.message;
    // The text of a ConfigurationError is for the developer, who does not read what the model reads.
    if (text !== error.message || ConfigurationError.isInstance(error)) reportTo(context.platform, error);
    const failed = { error: text || error.name };
    const received = copyJson(toolContext.partialOutput);
    return 'value' in received ? { ...failed, output: received.value } : failed;
  }

  /** Passes on an event that the tool emitted while it runs. */
  event(event: Event): Promise<boolean> {
    return this.#siblings.emit(event);
  }

  /** Passes on the tool's progress as a partial response. */
  progress(output: JsonValue, scheduling: ResponseScheduling | undefined): Promise<boolean> {
    // A call that took too long has its response.
    if (this.#tool?.timeoutMs !== undefined && this.toolContext.abortSignal.aborted) return Promise.resolve(false);
    const { id = '', name = '' } = this.#call;
    const functionResponse = { id, name, response: { output }, ...(scheduling && { scheduling }) };
    return this.#siblings.emit(
      this.#batch.turn.context.createEvent({
        object: ObjectType.toolResponse,
        partial: true,
        content: { role: 'user', parts: [{ functionResponse }] },
      }),
    );
  }

  /** Reports that the tool begins to listen to the client of a live run. */
  began(): Promise<void> | undefined {
    return this.#batch.onBegan?.();
  }
}

/** A running tool with the arguments of its call, which callbacks may change. */
interface RunningTool {
  readonly tool: BaseTool;
  readonly args: Record<string, unknown>;
  readonly operation: ObservedOperation | undefined;
}

type ToolCallback<P, R> = (params: P) => R | undefined | void | Promise<R | undefined | void>;

/**
 * Returns the result of a tool that the plugins give, otherwise the first of the agent's own callbacks. False, 0 and an
 * empty text are results if no later callback gives another, as in the ADK. Undefined and null are no results.
 */
async function firstResult<P, R>(
  ofPlugins: Promise<unknown>,
  callbacks: readonly ToolCallback<P, R>[],
  params: P,
): Promise<unknown> {
  const given = await ofPlugins;
  if (given !== undefined) return given;
  let result: unknown;
  for (const callback of callbacks) {
    result = await callback(params);
    if (result) break;
  }
  return result ?? undefined;
}
