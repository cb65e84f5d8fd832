import {
  type BaseTool,
  ConfigurationError,
  copyJson,
  createEventActions,
  type EventActions,
  firstAnswer,
  type FunctionCall,
  type FunctionResponsePart,
  getOwn,
  INTERRUPTED_CALL,
  type InvocationContext,
  recordedActions,
  type ResponseScheduling,
  toError,
  ToolContext,
  type ToolLedgerEntry,
  type Event,
  type JsonValue,
  ObjectType,
  type ToolListener,
  type BaseAgent,
  isRecord,
  isToolResult,
  askedCallId,
  enclosureOf,
  inputRequestOf,
  type Part,
} from '@eventloom/core';
import {
  isPromiseLike,
  ledgerCallId,
  type ObservedOperation,
  startOperation,
  sealJson,
  personRequests,
} from '@eventloom/core/internal';
import type { AgentTurn } from './agent-turn.ts';
import type { ResumedCall } from './resume.ts';
import type { EmittedEvents } from './tool-calls.ts';

/** What came of one call. */
export interface FunctionCallOutcome {
  /** Undefined while a long-running tool has nothing to say yet. */
  readonly response: Readonly<Record<string, unknown>> | undefined;
  /** The media of the response. */
  readonly parts?: readonly FunctionResponsePart[] | undefined;
  readonly actions: EventActions;
  /** How the model of a live run takes it. */
  readonly scheduling?: ResponseScheduling | undefined;
}

/**
 * Runs one function call with the callbacks around it. Whatever the tool does, the model gets an answer: what it throws is
 * answered as `{error}`. What a callback throws fails the run, as does losing the session.
 */
export async function runFunctionCall(
  turn: AgentTurn,
  call: FunctionCall,
  tools: Readonly<Record<string, BaseTool>>,
  emitted: EmittedEvents,
  origin: CallOrigin,
  resumed?: ResumedCall,
): Promise<FunctionCallOutcome> {
  const { context } = turn;
  const tool = getOwn(tools, call.name ?? '');
  const listener = new CallListener(context, call, emitted, origin.onBegan);
  const toolContext = new ToolContext({
    invocationContext: context,
    functionCallId: call.id ?? '',
    listener,
    toolConfirmation: resumed?.confirmation,
    inputs: resumed?.inputs,
    asked: resumed?.asked,
  });
  const { actions } = toolContext;
  if (context.liveRequestQueue) toolContext.responseScheduling = tool?.responseScheduling;
  if (resumed?.refusal) return { response: resumed.refusal, actions };
  const earlier = resumed && (await findEarlierRun(context, resumed));
  if (earlier) return earlier;
  const { invocation } = context;
  const callId = ledgerCallId(resumed?.eventId ?? origin.eventId, call);
  const before = origin.ledger?.get(callId);
  if (before?.status === 'finished') return outcomeOf(before);
  if (!tool) {
    const response = unknownTool(call.name, tools);
    startTool(toolContext, call)?.fail(new ConfigurationError(response.error));
    return { response, actions };
  }
  const entry = { invocationId: context.invocationId, callId, name: tool.name };
  if (before?.status === 'started' && !tool.isIdempotent && !tool.resumesCalls) {
    await invocation.recordToolCall({ ...entry, status: 'finished', response: INTERRUPTED_CALL });
    return { response: INTERRUPTED_CALL, actions };
  }
  const begun = invocation.recordToolCall({ ...entry, status: 'started' });
  if (begun instanceof Promise) await begun;
  const operation = startTool(toolContext, call);
  const answered = operation
    ? await observedAnswer(operation, turn, tool, call, toolContext, emitted)
    : await answer(turn, tool, call, toolContext, emitted);
  // It is not finished: the ledger says so, and that it was begun.
  if (toolContext.isPaused) return { response: undefined, actions };
  const isMore = actions.transferToAgent !== undefined || asksPerson(actions);
  const { response, parts } = (isMore ? answerOf(turn, actions, answered) : answered) ?? NO_RESPONSE;
  const changed = recordedActions(context, actions);
  const recorded = invocation.recordToolCall({
    ...entry,
    status: 'finished',
    ...(response ? { response } : {}),
    ...(parts ? { parts } : {}),
    ...(changed ? { actions: changed } : {}),
  });
  if (recorded instanceof Promise) await recorded;
  return { response, parts, actions, scheduling: toolContext.responseScheduling };
}

function startTool(context: ToolContext, { name = '', args = {} }: FunctionCall): ObservedOperation | undefined {
  const { invocation } = context.invocationContext;
  return invocation.instrumentation && startOperation(invocation, { kind: 'tool', context, name, args });
}

function observedAnswer(
  operation: ObservedOperation,
  turn: AgentTurn,
  tool: BaseTool,
  call: FunctionCall,
  toolContext: ToolContext,
  emitted: EmittedEvents,
): Promise<Answer> {
  return operation.around(() => answer(turn, tool, call, toolContext, emitted, operation));
}

/** What the model is told of a hand-over that cannot be, of a question, and otherwise the tool's own answer. */
function answerOf(turn: AgentTurn, actions: EventActions, answered: Answer): Answer {
  const refused = refusedTransfer(turn, actions);
  if (refused) return { response: refused };
  if (!asksPerson(actions)) return answered;
  const response = whileAsking(turn.context, actions, answered?.response);
  return response === answered?.response ? answered : response && { response };
}

/**
 * What came of a resumed call that was run for an earlier answer, in a run that was interrupted before it stored the response: what the
 * ledger has, which is nothing for a long-running tool, or that the call was interrupted. Undefined if it was not run.
 */
async function findEarlierRun(
  { invocation }: InvocationContext,
  { call, earlier }: ResumedCall,
): Promise<FunctionCallOutcome | undefined> {
  const ledgers = new Map<string, readonly ToolLedgerEntry[]>();
  for (const { invocationId, eventId } of earlier) {
    const entries = ledgers.get(invocationId) ?? (await invocation.listToolCalls?.(invocationId)) ?? [];
    ledgers.set(invocationId, entries);
    const entry = entries.find(({ callId }) => callId === ledgerCallId(eventId, call));
    if (entry)
      return entry.status === 'finished' ? outcomeOf(entry) : { ...outcomeOf(entry), response: INTERRUPTED_CALL };
  }
  return undefined;
}

/** The outcome of a finished call. */
function outcomeOf({ response, parts, actions }: ToolLedgerEntry): FunctionCallOutcome {
  return { response, parts, actions: createEventActions(actions && structuredClone(actions)) };
}

/** One call under way. */
interface ToolCall {
  readonly tool: BaseTool;
  readonly args: Record<string, unknown>;
  readonly toolContext: ToolContext;
}

type Answer = ToolResponse | undefined;

const NO_RESPONSE: Partial<ToolResponse> = {};

async function answer(
  turn: AgentTurn,
  tool: BaseTool,
  call: FunctionCall,
  toolContext: ToolContext,
  emitted: EmittedEvents,
  operation?: ObservedOperation,
): Promise<Answer> {
  const { agent, context } = turn;
  const { plugins } = context;
  const copied = copyJson(call.args ?? {});
  if ('fault' in copied) {
    const error = `the arguments of ${tool.name} are not JSON: at ${copied.fault.path}: ${copied.fault.reason}`;
    return { response: { error } };
  }
  const running: ToolCall = { tool, args: copied.value as Record<string, unknown>, toolContext };

  const asksAfter = agent.afterToolCallback.length > 0 || plugins.has('afterToolCallback');
  const asksBefore = agent.beforeToolCallback.length > 0 || plugins.has('beforeToolCallback');
  let response = asksBefore ? await context.untilAborted(askBefore(turn, running)) : undefined;
  if (!response) {
    try {
      const answered = tool.runAsync({ args: running.args, toolContext });
      const result = isPromiseLike(answered) ? await context.untilAborted(Promise.resolve(answered)) : answered;
      context.throwIfAborted();
      if (toolContext.isPaused) return undefined;
      if (result === undefined && (tool.isLongRunning || asksPerson(toolContext.actions))) return undefined;
      response = toToolResponse(tool.name, result, !asksAfter);
    } catch (thrown) {
      // A streaming tool that nobody reads any more did not fail: it was stopped.
      if (context.abortSignal.aborted || emitted.isClosed) throw thrown;
      response = await context.untilAborted(answerError(turn, running, toError(thrown)));
      operation?.failWith(thrown);
    }
  }
  return asksAfter ? context.untilAborted(askAfter(turn, running, response)) : response;
}

async function askBefore({ agent, context }: AgentTurn, { tool, args, toolContext }: ToolCall): Promise<Answer> {
  const instead =
    (await context.plugins.first('beforeToolCallback', { tool, toolArgs: args, toolContext })) ??
    (await firstAnswer(agent.beforeToolCallback, { tool, args, context: toolContext }));
  return instead && toToolResponse(tool.name, instead);
}

async function askAfter(
  { agent, context }: AgentTurn,
  { tool, args, toolContext }: ToolCall,
  { response, parts }: ToolResponse,
): Promise<ToolResponse> {
  const replaced =
    (await context.plugins.first('afterToolCallback', { tool, toolArgs: args, toolContext, result: response })) ??
    (await firstAnswer(agent.afterToolCallback, { tool, args, context: toolContext, response }));
  // What replaces a response takes the place of its media too: a callback that withholds a result withholds all of it.
  if (replaced) return toToolResponse(tool.name, replaced, true);
  // It may have been changed in place.
  return { ...toToolResponse(tool.name, response, true), parts };
}

async function answerError(
  { agent, context }: AgentTurn,
  { tool, args, toolContext }: ToolCall,
  error: Error,
): Promise<ToolResponse> {
  const answered =
    (await context.plugins.first('onToolErrorCallback', { tool, toolArgs: args, toolContext, error })) ??
    (await firstAnswer(agent.onToolErrorCallback, { tool, args, context: toolContext, error }));
  if (answered) return toToolResponse(tool.name, answered);
  const failed = { error: error.message || error.name };
  const received = copyJson(toolContext.partialOutput, { toJson: true });
  return { response: 'value' in received ? { ...failed, output: received.value } : failed };
}

function unknownTool(name: string | undefined, tools: Readonly<Record<string, BaseTool>>): { readonly error: string } {
  const names = Object.keys(tools);
  return {
    error: `there is no tool named "${name}"; ${names.length > 0 ? `the tools are: ${names.join(', ')}` : 'there are no tools'}`,
  };
}

/** Takes what the tool of one call passes on while it runs. */
class CallListener implements ToolListener {
  readonly began: (() => Promise<void>) | undefined;
  readonly #context: InvocationContext;
  readonly #call: FunctionCall;
  readonly #emitted: EmittedEvents;

  /** @param began called when a tool begins to listen to the client of a live run */
  constructor(
    context: InvocationContext,
    call: FunctionCall,
    emitted: EmittedEvents,
    began: (() => Promise<void>) | undefined,
  ) {
    this.#context = context;
    this.#call = call;
    this.#emitted = emitted;
    this.began = began;
  }

  event(event: Event): Promise<boolean> {
    return this.#emitted.emit(event);
  }

  progress(output: JsonValue, scheduling: ResponseScheduling | undefined): Promise<boolean> {
    const { id = '', name = '' } = this.#call;
    const functionResponse = { id, name, response: { output }, ...(scheduling && { scheduling }) };
    return this.#emitted.emit(
      this.#context.createEvent({
        object: ObjectType.toolResponse,
        partial: true,
        content: { role: 'user', parts: [{ functionResponse }] },
      }),
    );
  }
}

/** What sets calls off, and what came of them before when the run is resumed. */
export interface CallOrigin {
  /** The id of the event with the calls. With the id of a call it names the call in the ledger. */
  readonly eventId: string;
  /** What the ledger has of the invocation, by call id; absent when nothing was run before. */
  readonly ledger?: ReadonlyMap<string, ToolLedgerEntry>;
  /** What a person was asked about the calls already. */
  readonly asked?: readonly FunctionCall[];
  /** Told when a tool begins to listen to the client of a live run. */
  readonly onBegan?: () => Promise<void>;
}

/**
 * What the model is told of a hand-over that a tool asked for and that cannot be: the tree has no such agent, it is the agent itself, or
 * the agent's transfer rules forbid it. The action is taken back. Undefined when there is nothing to refuse.
 */
function refusedTransfer({ agent, context }: AgentTurn, actions: EventActions): { error: string } | undefined {
  const name = actions.transferToAgent;
  if (name === undefined) return undefined;
  const reason = faultOf(agent, context.invocation.rootAgent, name);
  if (reason === undefined) return undefined;
  delete actions.transferToAgent;
  return { error: `cannot hand over to ${JSON.stringify(name)}: ${reason}` };
}

function faultOf(agent: BaseAgent, root: BaseAgent, name: string): string | undefined {
  if (name === agent.name) return 'it has control already';
  const target = root.findAgent(name);
  if (!target) return 'there is no agent of that name';
  if (agent.findSubAgent(name)) return undefined;
  const isAbove = target.findSubAgent(agent.name) !== undefined;
  const rules = agent.transferRules;
  if (isAbove) return rules?.toParent === false ? 'this agent may not hand over to those above it' : undefined;
  return rules?.toPeers === false ? 'this agent may hand over to none beside it' : undefined;
}

/** A tool's result in the form of a function response. */
interface ToolResponse {
  readonly response: Record<string, unknown>;
  readonly parts?: readonly FunctionResponsePart[] | undefined;
}

/**
 * Returns a tool's result in the form of a function response: an object as it is, anything else under `result`, and the media of a
 * `toolResult` as parts.
 * @param isFinal seals it, so that the tool ledger and the event share it; false where callbacks may still change it in place
 */
export function toToolResponse(toolName: string, result: unknown, isFinal = false): ToolResponse {
  if (isToolResult(result)) {
    const { response, isFault } = toResponse(toolName, result.response, isFinal);
    return isFault || result.parts.length === 0 ? { response } : { response, parts: result.parts };
  }
  return { response: toResponse(toolName, result, isFinal).response };
}

function toResponse(
  toolName: string,
  result: unknown,
  isFinal: boolean,
): { readonly response: Record<string, unknown>; readonly isFault?: boolean } {
  if (result === undefined) return { response: { result: null } };
  const copied = isFinal ? sealJson(result, { toJson: true }) : copyJson(result, { toJson: true });
  if ('fault' in copied) {
    const { path, reason } = copied.fault;
    const error = `tool ${toolName} returned something that is not JSON: the result${path === '' ? '' : ` at ${path}`} ${reason}`;
    return { response: { error }, isFault: true };
  }
  const { value } = copied;
  return { response: isRecord(value) ? value : { result: value } };
}

/**
 * What the model is told of a call while a person is asked about it: what the tool said, or that it waits. An agent that is called
 * as a tool can wait in a resumable run only: in others its questions are taken back, and its model is told so.
 */
function whileAsking(
  context: InvocationContext,
  actions: EventActions,
  response: Record<string, unknown> | undefined,
): Record<string, unknown> | undefined {
  if (enclosureOf(context.branch) !== '' && !context.isResumable) {
    delete actions.requestedAuthConfigs;
    delete actions.requestedToolConfirmations;
    delete actions.requestedInputs;
    return {
      error:
        'This tool call needs an answer of a person, for which an agent that is a tool can wait in a resumable run only.',
    };
  }
  if (response) return response;
  return { error: `This tool call requires ${whatIsAsked(actions)}.` };
}

function whatIsAsked({ requestedToolConfirmations, requestedAuthConfigs }: EventActions): string {
  if (requestedToolConfirmations) return 'confirmation, please approve or reject';
  return requestedAuthConfigs ? 'a credential' : 'input of a person';
}

/**
 * The events by which a client is asked, for credentials first: calls of the runtime's own that are answered by function
 * responses. What was asked before is not asked again.
 * @throws ConfigurationError as `personRequests`
 */
export function requestEvents(
  context: InvocationContext,
  calls: readonly FunctionCall[],
  actions: EventActions,
  before: readonly FunctionCall[] = [],
): Event[] {
  const isNew = ({ functionCall: call = {} }: Part): boolean =>
    !before.some(
      (earlier) =>
        call.name === earlier.name &&
        askedCallId(call) === askedCallId(earlier) &&
        inputRequestOf(call)?.key === inputRequestOf(earlier)?.key,
    );
  return personRequests(context, calls, actions).flatMap((requests) => {
    const parts = requests.filter(isNew);
    const longRunningToolIds = parts.flatMap(({ functionCall }) => functionCall?.id ?? []);
    return parts.length > 0 ? context.createEvent({ content: { role: 'model', parts }, longRunningToolIds }) : [];
  });
}

/** True when a person is asked something before a call goes on. */
export function asksPerson({
  requestedAuthConfigs,
  requestedToolConfirmations,
  requestedInputs,
}: EventActions): boolean {
  return (
    requestedAuthConfigs !== undefined || requestedToolConfirmations !== undefined || requestedInputs !== undefined
  );
}
