import {
  type AgentPast,
  askedCallId,
  callsToRun,
  type Event,
  getOwn,
  hasTrailingCodeExecutionResult,
  type InvocationContext,
  isOutputMismatch,
  leavesAgent,
  ModelError,
  newestEntries,
  ObjectType,
  SET_MODEL_RESPONSE,
} from '@eventloom/core';
import { type Call, type CallResponse, Calls, isSettled } from '@eventloom/core/internal';
import type { CodeRun } from '../code-execution/code-run.ts';
import type { AgentTurn } from '../agent-turn.ts';
import { SetModelResponseTool } from '../set-model-response-tool.ts';
import { structuredAnswer } from './final-output.ts';
import { prepareTools } from '../request.ts';
import { answersTo } from './resumed-calls.ts';
import { type RunningCalls, startCalls } from './run-calls.ts';

/**
 * Finishes an agent's last step, which an interruption left unfinished; returns true if the model is to be asked next. A call that the
 * ledger says is finished gets the recorded response, with its recorded changes.
 *
 * @throws ModelError again if the model had failed
 */
export async function* resumeSteps(
  turn: AgentTurn,
  past: AgentPast,
  codeRun: CodeRun | undefined,
): AsyncGenerator<Event, boolean, void> {
  const { context } = turn;
  const at = past.events.findLastIndex(isReply);
  const reply = past.events[at];
  if (!reply) return true;
  if (reply.object === ObjectType.error) {
    const error = new ModelError(reply.errorMessage ?? '', { errorCode: reply.errorCode ?? 'MODEL_ERROR' });
    context.markReported(error);
    throw error;
  }
  if (callsToRun(reply.content?.parts).length > 0) {
    past.continueAfter(reply);
    return yield* new InterruptedStep(turn, reply, past.events.slice(at + 1)).finish();
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
      yield* this.#pass(startCalls(this.#turn, running, tools, { eventId, ledger, asked }));
    }
    const { resumed } = answersTo(withRequests(this.#readCalls()).filter(isAnsweredByUser), this.#context);
    if (resumed.size > 0) {
      const running = Array.from(resumed.values(), ({ call }) => call);
      yield* this.#pass(startCalls(this.#turn, running, tools, { eventId, ledger }, resumed));
    }
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
  #readCalls(): readonly Call[] {
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

function withRequests(calls: readonly Call[]): readonly Call[] {
  return [...calls, ...calls.flatMap(({ requests }) => requests)];
}

function responsesIn(calls: readonly Call[]): readonly CallResponse[] {
  return calls.flatMap(({ responses }) => responses);
}

function isAnsweredByUser({ responses }: Call): boolean {
  return responses.some(({ event }) => event.author === 'user');
}

/** True while a long-running call has no response, and while what was asked about a call is not settled. */
function isWaiting({ isLongRunning, responses, requests }: Call): boolean {
  return (isLongRunning && responses.length === 0) || requests.some((request) => !isSettled(request));
}
