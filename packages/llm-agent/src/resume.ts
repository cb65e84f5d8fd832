import {
  type Event,
  type FunctionCall,
  hasTrailingCodeExecutionResult,
  type InvocationContext,
  ModelError,
  ObjectType,
  SET_MODEL_RESPONSE,
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
  isOutputMismatch,
  isSettled,
  leavesAgent,
  newestEntries,
  openAnswers,
  type RecordedExecution,
  refusalOf,
} from '@eventloom/core/internal';
import type { AgentTurn } from './agent-turn.ts';
import type { CodeRun } from './code-execution/code-run.ts';
import { prepareTools } from './request.ts';
import { SetModelResponseTool, structuredAnswer } from './output.ts';
import { type CallBatch, RunningCalls } from './tool-calls.ts';

/** True if the agent has something of an earlier run to finish before its model is asked: a step, or calls that a person answered. */
export function hasStepToResume({ resumedFrom, invocation, session }: InvocationContext): boolean {
  if (resumedFrom) return true;
  // In a resumed run, the agent that made the calls reads the answers when it is resumed itself.
  if (invocation.resumedFrom) return false;
  const { events } = session;
  let at = events.length - 1;
  while (at >= 0 && events[at]?.author !== 'user') at--;
  for (const part of events[at]?.content?.parts ?? []) if (part.functionResponse) return true;
  return false;
}

/**
 * Finishes what an earlier run left of an agent's step; returns true if the model is to be asked next. A call that the ledger says is
 * finished gets the recorded response, with its recorded changes.
 *
 * @throws ModelError again if the model had failed
 */
export async function* resumeStep(turn: AgentTurn, codeRun: CodeRun | undefined): AsyncGenerator<Event, boolean, void> {
  const { resumedFrom } = turn.context;
  if (!resumedFrom) return yield* runAnsweredCalls(turn);
  const isFinished = yield* finishStep(turn, resumedFrom, codeRun);
  if (isFinished) resumedFrom.continueFresh();
  return isFinished;
}

/** Runs the calls that the message of a new run lets run. */
async function* runAnsweredCalls(turn: AgentTurn): AsyncGenerator<Event, boolean, void> {
  const { context } = turn;
  const { session, invocation } = context;
  const message = session.events.findLast(({ author }) => author === 'user');
  const answered = message ? Calls.of(session, invocation.derived).answeredIn(message) : [];
  const { resumed, isWaiting } = answersTo(answered, context);
  if (resumed.size > 0) {
    const { tools, changes } = await prepareTools(turn);
    if (changes) yield changes;
    // Calls that an answer lets run have an event each, that of the answer.
    const outcome = yield* runResumed({ turn, tools, eventId: '' }, resumed).events();
    if (outcome.event) yield outcome.event;
    if (outcome.isWaiting) context.pause();
    if (outcome.isWaiting || outcome.leavesAgent) return false;
  }
  if (isWaiting) context.pause();
  return !isWaiting;
}

/** Runs the calls that answers let run, and responds to those that are refused. */
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
  const at = resumedFrom.events.findLastIndex(isReply);
  const reply = resumedFrom.events[at];
  if (!reply) return true;
  if (reply.object === ObjectType.error) {
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

/** True for what the model said, the result of its code, and its failure; not for events of tools and callbacks. */
function isReply(event: Event): boolean {
  if (event.usageMetadata?.timingInfo || event.object === ObjectType.error) return true;
  if (hasTrailingCodeExecutionResult(event)) return true;
  return callsToRun(event.content?.parts).some((call) => askedCallId(call) === undefined);
}

/**
 * The last step of an agent whose model made calls. Answers to its calls may have started other runs, of this agent alone: what these
 * did about the calls counts as well.
 */
class InterruptedStep {
  readonly #turn: AgentTurn;
  readonly #context: InvocationContext;
  readonly #reply: Event;
  /** Events of the agent behind the reply: requests to people, and responses. */
  readonly #said: Event[];

  constructor(turn: AgentTurn, reply: Event, said: readonly Event[]) {
    this.#turn = turn;
    this.#context = turn.context;
    this.#reply = reply;
    this.#said = [...said];
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
    // The responses of a reply are stored together. A call that they left out waits, or runs an agent that is resumed.
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
      const isTold = this.#said.at(-1)?.content?.parts?.some(({ text }) => text !== undefined) ?? false;
      if (accepted && !isTold) yield structuredAnswer(this.#turn, accepted.value);
      if (accepted) return false;
    }
    if (this.#context.isPaused || this.#readCalls().some(isWaiting)) {
      this.#context.pause();
      return false;
    }
    const said = [...this.#said, ...elsewhere.map(({ event }) => event)];
    return !said.some(({ author, actions }) => author !== 'user' && leavesAgent(actions));
  }

  /** The calls of the reply that the runtime runs, with everything stored about them so far. */
  #readCalls(): readonly RecordedCall[] {
    const { session, invocation } = this.#context;
    const { all } = Calls.of(session, invocation.derived);
    const toRun = new Set(callsToRun(this.#reply.content?.parts).map(({ id }) => id));
    return all.filter(({ event, call }) => event.id === this.#reply.id && toRun.has(call.id));
  }

  /** True if the agent's model spoke in another run after one of these responses in that run: it has had its turn. */
  #isContinuedBehind(responses: readonly CallResponse[]): boolean {
    const { agent, branch, session } = this.#context;
    for (const [position, event] of responses.length > 0 ? newestEntries(session.events) : []) {
      if (event.author !== agent.name || event.branch !== branch || !event.usageMetadata?.timingInfo) continue;
      const isBehind = (response: CallResponse): boolean =>
        response.event.invocationId === event.invocationId && response.position < position;
      if (responses.some(isBehind)) return true;
    }
    return false;
  }

  /** Passes on the events of calls. */
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

/** True while a long-running call has no response, and while what was asked about a call is not settled. */
function isWaiting({ isLongRunning, responses, requests }: RecordedCall): boolean {
  return (isLongRunning && responses.length === 0) || requests.some((request) => !isSettled(request));
}

/** A call that a person was asked about, and that is run again or refused because of the answers. */
export interface ResumedCall {
  readonly call: FunctionCall;
  /** The response for the model if the call is not run: the person refused, or answered too late. */
  readonly refusal: { readonly error: string } | undefined;
  readonly confirmation: ToolConfirmation | undefined;
  /** Input that the call requested, by the key of the request. */
  readonly inputs: ReadonlyMap<string, unknown>;
  /** The calls by which people were asked about the call, oldest first. */
  readonly asked: readonly FunctionCall[];
  /** The event of the newest answer. The ledger names this run of the call after it. */
  readonly eventId: string;
  /** Answers before it. The call may have been run for one of them, in a run that was interrupted. */
  readonly earlier: readonly AnswerEvent[];
}

/** The event of an answer. */
interface AnswerEvent {
  readonly invocationId: string;
  readonly eventId: string;
}

/** By the id of the call. */
export type ResumedCalls = ReadonlyMap<string, ResumedCall>;

/** The effect of answers to calls and requests on the agent that made the calls. */
export interface Answers {
  readonly resumed: ResumedCalls;
  /** True while calls of the same reply wait for a response or a person. */
  readonly isWaiting: boolean;
}

/**
 * Returns what these answered calls and requests mean for the agent that made them on its branch.
 *
 * The model is asked when it can be given all results of a reply. So the agent waits while a long-running call of the reply has no
 * response, or a person who was asked about a call did not answer. Any other call without a response was interrupted and gets none.
 *
 * A call is resumed when everything that was asked about it is answered, or one answer refuses it. Requests of other agents, and calls
 * that were imported, are left alone.
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

/** Undefined for a call without open requests, and while one of them is unanswered and none refuses the call. */
function resume(call: RecordedCall): ResumedCall | undefined {
  const open = openRequests(call);
  const refusal = firstOf(open, refusalIn);
  if (!refusal && open.some(isUnanswered)) return undefined;
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

/** Newest first. */
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

/** The newest input under each key. @param requests newest first */
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
