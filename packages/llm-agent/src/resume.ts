import {
  type Event,
  type FunctionCall,
  type InvocationContext,
  ModelError,
  type ToolConfirmation,
} from '@eventloom/core';
import {
  askedCallId,
  type RecordedCall,
  type CallResponse,
  Calls,
  callsToRun,
  confirmationOf,
  getOwn,
  inputOf,
  inputRequestOf,
  isFailure,
  isOutputMismatch,
  isSettled,
  isWholeReply,
  leavesAgent,
  newestEntries,
  openAnswers,
  type RecordedExecution,
  refusalOf,
  hasTrailingCodeExecutionResult,
  SET_MODEL_RESPONSE,
} from '@eventloom/core/internal';
import type { AgentTurn } from './agent-turn.ts';
import type { CodeRun } from './code-execution/code-run.ts';
import { prepareTools } from './request.ts';
import { SetModelResponseTool, structuredAnswer } from './output.ts';
import { type CallBatch, RunningCalls } from './tool-calls.ts';

/**
 * Finishes the step that an earlier run of the agent left open. Returns true if the model is to be called next. A call that is finished
 * according to the tool ledger gets its recorded response and changes.
 *
 * @throws ModelError if the interrupted step ended with a failure of the model
 */
export async function* resumeStep(turn: AgentTurn, codeRun: CodeRun | undefined): AsyncGenerator<Event, boolean, void> {
  const { resumedFrom } = turn.context;
  if (!resumedFrom) return yield* runAnsweredCalls(turn);
  const isFinished = yield* finishStep(turn, resumedFrom, codeRun);
  if (isFinished) resumedFrom.continueFresh();
  return isFinished;
}

/** Runs the calls that the user message of a new run answered. */
async function* runAnsweredCalls(turn: AgentTurn): AsyncGenerator<Event, boolean, void> {
  const { context } = turn;
  const { session, invocation } = context;
  const message = session.events.findLast(({ author }) => author === 'user');
  const answered = message ? Calls.of(session, invocation.derived).answeredIn(message) : [];
  const { resumed, isWaiting } = answersTo(answered, context);
  if (resumed.size > 0) {
    const { tools, changes } = await prepareTools(turn);
    if (changes) yield changes;
    // No event id for the batch: each resumed call uses the id of the event that answered it.
    const outcome = yield* runResumed({ turn, tools, eventId: '' }, resumed).events();
    if (outcome.event) yield outcome.event;
    if (outcome.isPaused) context.pause();
    if (outcome.isWaiting || outcome.leavesAgent) return false;
  }
  if (isWaiting) context.pause();
  return !isWaiting;
}

/** Runs the answered calls again, also those that a person rejected. Responds to calls with a refusal without running them. */
function runResumed(batch: Omit<CallBatch, 'calls' | 'resumed'>, resumed: ResumedCalls): RunningCalls {
  const calls = Array.from(resumed.values(), ({ call }) => call);
  return new RunningCalls({ ...batch, calls, resumed });
}

/** Finishes the last step of an agent that is resumed. */
async function* finishStep(
  turn: AgentTurn,
  resumedFrom: RecordedExecution,
  codeRun: CodeRun | undefined,
): AsyncGenerator<Event, boolean, void> {
  const { context } = turn;
  const last = resumedFrom.events.findLastIndex(isReply);
  const asking = askingReply(context, resumedFrom.events.slice(0, Math.max(last, 0)));
  if (asking >= 0) {
    const step = new InterruptedStep(turn, resumedFrom.events[last] as Event, resumedFrom.events.slice(last + 1));
    if (!step.hasOpenCalls) {
      const reply = resumedFrom.events[asking] as Event;
      resumedFrom.continueAfter(reply);
      return yield* new InterruptedStep(turn, reply, resumedFrom.events.slice(asking + 1)).finish();
    }
    context.pause();
  }
  const at = last;
  const reply = resumedFrom.events[at];
  if (!reply) return true;
  if (isFailure(reply)) {
    const error = new ModelError(reply.errorMessage ?? '', { errorCode: reply.errorCode ?? 'MODEL_ERROR' });
    context.markReported(error);
    throw error;
  }
  if (callsToRun(reply.content?.parts).length > 0) {
    resumedFrom.continueAfter(reply);
    return yield* new InterruptedStep(turn, reply, resumedFrom.events.slice(at + 1)).finish();
  }
  if (hasTrailingCodeExecutionResult(reply) || isOutputMismatch(reply)) return true;
  const found = codeRun?.find(reply);
  if (!codeRun || !found) return false;
  const id = reply.content?.parts?.findLast((part) => part.executableCode)?.executableCode?.id;
  yield await codeRun.execute({ ...found, id: id ?? found.id });
  return true;
}

/**
 * Returns the index of the newest of these replies with a call that requested a person's answer and has no result; -1 if there is none. The
 * model may have replied since.
 */
function askingReply({ session, invocation }: InvocationContext, replies: readonly Event[]): number {
  if (!replies.some(({ actions }) => actions.requestedToolConfirmations)) return -1;
  const { all } = Calls.of(session, invocation.derived);
  const asking = new Set(
    all.filter(({ requests }) => requests.some((request) => !isSettled(request))).map(({ event }) => event.id),
  );
  return replies.findLastIndex((event) => asking.has(event.id));
}

/** Returns true for a reply of the model, the result of its code, and its failure; false for events of tools and callbacks. */
function isReply(event: Event): boolean {
  if (isWholeReply(event) || isFailure(event)) return true;
  if (hasTrailingCodeExecutionResult(event)) return true;
  return callsToRun(event.content?.parts).some((call) => askedCallId(call) === undefined);
}

/**
 * The interrupted step of an agent whose model made calls. Answers to these calls may have started other runs of this agent; the responses from
 * those runs count as well.
 */
class InterruptedStep {
  readonly #turn: AgentTurn;
  readonly #context: InvocationContext;
  readonly #reply: Event;
  /** The agent's events after the reply: requests to people, and responses. */
  readonly #said: Event[];

  constructor(turn: AgentTurn, reply: Event, said: readonly Event[]) {
    this.#turn = turn;
    this.#context = turn.context;
    this.#reply = reply;
    this.#said = [...said];
  }

  /** True if a call of the reply has no response. */
  get hasOpenCalls(): boolean {
    return this.#readCalls().some(({ responses }) => responses.length === 0);
  }

  async *finish(): AsyncGenerator<Event, boolean, void> {
    const { invocation, invocationId } = this.#context;
    const calls = this.#readCalls();
    const elsewhere = responsesIn(withRequests(calls)).filter(({ event }) => event.invocationId !== invocationId);
    if (this.#isContinuedBehind(elsewhere)) return false;
    const { tools, changes } = await prepareTools(this.#turn);
    if (changes) yield changes;
    const ledger = new Map((await invocation.listToolCalls?.(invocationId))?.map((entry) => [entry.callId, entry]));
    const eventId = this.#reply.id;
    // The responses of a reply are stored in one event. A call without a response there waits, or called an agent that is resumed.
    const isResponded = responsesIn(calls).some(({ event }) => event.author !== 'user');
    const open = calls.filter(
      (call) =>
        !isAnsweredByUser(call) &&
        (!isResponded || (call.responses.length === 0 && getOwn(tools, call.call.name ?? '')?.resumesCalls === true)),
    );
    if (open.length > 0) {
      const asked = calls.flatMap(({ requests }) => requests.map(({ call }) => call));
      const running = open.map(({ call }) => call);
      yield* this.#pass(new RunningCalls({ turn: this.#turn, calls: running, tools, eventId, ledger, asked }));
    }
    const { resumed } = answersTo(withRequests(this.#readCalls()).filter(isAnsweredByUser), this.#context);
    if (resumed.size > 0) yield* this.#pass(runResumed({ turn: this.#turn, tools, eventId, ledger }, resumed));
    const tool = tools[SET_MODEL_RESPONSE];
    const answer = calls.find(({ call }) => call.name === SET_MODEL_RESPONSE)?.call;
    if (answer && tool instanceof SetModelResponseTool) {
      const accepted = await tool.check(answer.args ?? {});
      const hasText = this.#said.at(-1)?.content?.parts?.some(({ text }) => text !== undefined) ?? false;
      if (accepted && !hasText) yield structuredAnswer(this.#turn, accepted.value);
      if (accepted) return false;
    }
    if (this.#context.isPaused || this.#readCalls().some(isWaiting)) {
      this.#context.pause();
      return false;
    }
    // The task was finished, so the agent has nothing more to do.
    if (this.#said.some(({ output }) => output !== undefined)) return false;
    const said = [...this.#said, ...elsewhere.map(({ event }) => event)];
    // The response that said that a call waits for a person has done its work.
    return !said.some(
      ({ author, actions }) => author !== 'user' && !actions.requestedToolConfirmations && leavesAgent(actions),
    );
  }

  /** Reads the calls of the reply that the runtime runs, with their stored responses and requests. */
  #readCalls(): readonly RecordedCall[] {
    const { session, invocation } = this.#context;
    const { all } = Calls.of(session, invocation.derived);
    const toRun = new Set(callsToRun(this.#reply.content?.parts).map(({ id }) => id));
    return all.filter(({ event, call }) => event.id === this.#reply.id && toRun.has(call.id));
  }

  /** Returns true if another run already continued the turn: the agent's model replied there after one of these responses. */
  #isContinuedBehind(responses: readonly CallResponse[]): boolean {
    const { agent, branch, session } = this.#context;
    for (const [position, event] of responses.length > 0 ? newestEntries(session.events) : []) {
      if (event.author !== agent.name || event.branch !== branch || !isWholeReply(event)) continue;
      const isBehind = (response: CallResponse): boolean =>
        response.event.invocationId === event.invocationId && response.position < position;
      if (responses.some(isBehind)) return true;
    }
    return false;
  }

  /** Yields the events of running calls, the response event included. */
  async *#pass(running: RunningCalls): AsyncGenerator<Event, void, void> {
    const { event } = yield* running.events();
    if (!event) return;
    this.#said.push(event);
    yield event;
  }
}

function withRequests(calls: readonly RecordedCall[]): readonly RecordedCall[] {
  return [...calls, ...calls.flatMap(({ requests }) => requests)];
}

function responsesIn(calls: readonly RecordedCall[]): readonly CallResponse[] {
  return calls.flatMap(({ responses }) => responses);
}

function isAnsweredByUser({ responses }: RecordedCall): boolean {
  return responses.some(({ event }) => event.author === 'user');
}

/** Returns true if a long-running call has no response, or a request about the call is not settled. */
function isWaiting({ isLongRunning, responses, requests }: RecordedCall): boolean {
  return (isLongRunning && responses.length === 0) || requests.some((request) => !isSettled(request));
}

/** A call whose request a person answered so that it can continue: it runs again, or gets the refusal as its response. */
export interface ResumedCall {
  readonly call: FunctionCall;
  /** The response for the model if the call is not run: no credential was given, or the answer arrived too late. */
  readonly refusal: { readonly error: string } | undefined;
  /** The answer to a confirmation request; undefined if none was requested. */
  readonly confirmation: ToolConfirmation | undefined;
  /** Inputs that the call requested, by the key of their request. */
  readonly inputs: ReadonlyMap<string, unknown>;
  /** The requests to people about the call, oldest first. */
  readonly asked: readonly FunctionCall[];
  /** The id of the event with the newest answer. It is part of the call's key in the tool ledger. */
  readonly eventId: string;
  /** The earlier answers. An interrupted run may have run the call for one of them. */
  readonly earlier: readonly AnswerEvent[];
}

/** Identifies the event of an answer. */
interface AnswerEvent {
  readonly invocationId: string;
  readonly eventId: string;
}

/** Resumed calls by the id of the call. */
export type ResumedCalls = ReadonlyMap<string, ResumedCall>;

/** The effect that answers have on the agent that made the calls. */
export interface Answers {
  readonly resumed: ResumedCalls;
  /** True if other calls of the same reply still wait for a response or a person. */
  readonly isWaiting: boolean;
}

/**
 * Determines which calls the answers resume, and whether the agent still has to wait.
 *
 * The model is called once all results of a reply are known. So the agent waits while a long-running call of the reply has no response, or a
 * person did not answer a request about a call. Any other call without a response was interrupted and never gets one.
 *
 * A call is resumed when all requests about it are answered, or one answer refuses it. Requests of other agents or branches and imported calls are
 * ignored.
 */
export function answersTo(
  answered: readonly RecordedCall[],
  { agent, branch }: { readonly agent: { readonly name: string }; readonly branch: string | undefined },
): Answers {
  const onBranch = answered.filter(({ event }) => event.branch === branch);
  const calls = new Set(onBranch.map((call) => call.about ?? call).filter(({ isImported }) => !isImported));
  const replies = new Set([...calls].map(({ inReply }) => inReply));
  const resumed = new Map<string, ResumedCall>();
  // In the order of the calls, whatever the order of the answers.
  for (const call of [...replies].flat()) {
    if (!calls.has(call) || openRequests(call).some(({ event }) => event.author !== agent.name)) continue;
    const found = resume(call);
    if (found) resumed.set(call.id, found);
  }
  const waits = (call: RecordedCall): boolean =>
    (call.isLongRunning && call.responses.length === 0) ||
    (resumed.get(call.id)?.call !== call.call && openRequests(call).some(isUnanswered));
  return { resumed, isWaiting: [...replies].flat().some(waits) };
}

/** Creates the resumed call. Undefined without open requests, and while a request is unanswered and no answer refuses the call. */
function resume(call: RecordedCall): ResumedCall | undefined {
  const open = openRequests(call);
  const refusal = firstOf(open, refusalIn);
  const isRejected = open.some((request) => confirmationIn(request)?.confirmed === false);
  if (!refusal && !isRejected && open.some(isUnanswered)) return undefined;
  const [newest, ...earlier] = openAnswers(call).map(({ event: { invocationId, id } }) => ({
    invocationId,
    eventId: id,
  }));
  if (!newest) return undefined;
  const requests = call.requests.toReversed();
  const confirmation = firstOf(requests, confirmationIn);
  return {
    call: call.call,
    refusal,
    confirmation,
    inputs: inputsIn(requests),
    asked: call.requests.map((request) => request.call),
    eventId: newest.eventId,
    earlier,
  };
}

/** Returns the unsettled requests about the call, newest first. */
function openRequests({ requests }: RecordedCall): RecordedCall[] {
  return requests.filter((request) => !isSettled(request)).reverse();
}

function isUnanswered({ responses }: RecordedCall): boolean {
  return responses.length === 0;
}

function confirmationIn({ call, responses }: RecordedCall): ToolConfirmation | undefined {
  return confirmationOf(call, responses.at(-1)?.response);
}

function refusalIn({ call, responses }: RecordedCall): { readonly error: string } | undefined {
  return refusalOf(call, responses.at(-1)?.response);
}

/** Returns the newest input for each key. @param requests the requests about a call, newest first */
function inputsIn(requests: readonly RecordedCall[]): ReadonlyMap<string, unknown> {
  const inputs = new Map<string, unknown>();
  for (const { call, responses } of requests) {
    const key = inputRequestOf(call)?.key;
    const value = inputOf(responses.at(-1)?.response);
    if (key !== undefined && value !== undefined && !inputs.has(key)) inputs.set(key, value);
  }
  return inputs;
}

function firstOf<T>(requests: readonly RecordedCall[], read: (request: RecordedCall) => T | undefined): T | undefined {
  for (const request of requests) {
    const value = read(request);
    if (value !== undefined) return value;
  }
  return undefined;
}
