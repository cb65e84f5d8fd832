import type { BaseTool, Event, InvocationContext } from '@eventloom/core';
import {
  aboutCallId,
  branchInScope,
  type SessionCall,
  type CallResponse,
  Calls,
  callsToRun,
  errorOfEvent,
  FINISH_TASK,
  getOwn,
  isFailure,
  answerOf,
  unsettledRequests,
  stateOf,
  isWholeReply,
  newestEntries,
  type Execution,
  hasTrailingCodeExecutionResult,
  SET_MODEL_RESPONSE,
} from '@eventloom/core/internal';
import type { AgentTurn } from './agent-turn.ts';
import type { CodeRun } from './code-execution/code-run.ts';
import { prepareTools } from './request.ts';
import { OutputTool, toOutputEvent, withOutput } from './output.ts';
import { effectOfAnswers, startAnswered, finishAnsweredStep } from './answered-calls.ts';
import { isOutputMismatch } from './contents/event-content.ts';
import { type CallBatch, leavesAgent, RunningCalls, type StepEnd } from './running-calls.ts';
import { asksOnlyConfirmations } from './tool-response.ts';

/**
 * Finishes what has to come before the agent's next model call:
 *
 * | the agent    | its replies in this run | the user message | what runs                                                      |
 * | ------------ | ----------------------- | ---------------- | -------------------------------------------------------------- |
 * | starts fresh | none                    | has no responses | nothing: `hasStepToFinish` in `loop.ts` is false               |
 * | starts fresh | none                    | has responses    | `finishAnsweredStep`: the calls that the responses answer      |
 * | is resumed   | none                    | any              | `finishAnsweredStep`; if it finds no call, the model is called |
 * | is resumed   | one or more             | any              | `finishReply`                                                  |
 *
 * The user message is the newest one. In a resumed run it is the one that began the run, and it concerns only the first agent.
 *
 * A call that is finished according to the tool ledger gets its recorded response and changes.
 *
 * @throws the stored failure if the interrupted step failed: a ModelError if it was the model's
 */
export async function* finishStep(turn: AgentTurn, codeRun: CodeRun | undefined): AsyncGenerator<Event, StepEnd, void> {
  const { resumedFrom } = turn.context;
  const reply = resumedFrom?.events.findLast(isReply);
  const end =
    resumedFrom && reply ? yield* finishReply(turn, reply, resumedFrom, codeRun) : yield* finishAnsweredStep(turn);
  if (end === 'callsModel' || end === 'asks') resumedFrom?.startChildrenFresh();
  return end;
}

/** Finishes the step of an agent's newest reply, and the steps of its earlier replies that still ask a person. */
async function* finishReply(
  turn: AgentTurn,
  reply: Event,
  resumedFrom: Execution,
  codeRun: CodeRun | undefined,
): AsyncGenerator<Event, StepEnd, void> {
  const { context } = turn;
  const { events } = resumedFrom;
  const asking = askingReplies(context, events.slice(0, events.indexOf(reply)));
  // The model replied again while it waited for a person.
  if (asking.length > 0) return yield* finishCalls(turn, hasCalls(reply) ? [...asking, reply] : asking, resumedFrom);
  if (isFailure(reply)) {
    const error = errorOfEvent(reply);
    context.progress.markReported(error);
    throw error;
  }
  if (hasCalls(reply)) return yield* finishCalls(turn, [reply], resumedFrom);
  if (hasTrailingCodeExecutionResult(reply) || isOutputMismatch(reply)) return 'callsModel';
  const found = codeRun?.find(reply);
  if (!codeRun || !found) return isAnsweredSince(context, reply) ? 'callsModel' : 'ends';
  const id = reply.content?.parts?.findLast((part) => part.executableCode)?.executableCode?.id;
  yield await codeRun.execute({ ...found, id: id ?? found.id });
  return 'callsModel';
}

/**
 * Returns true if the user answered a call of the agent after this reply: a long-running call that had a first
 * response, so that the model replied.
 */
function isAnsweredSince({ agent, branch, session, invocation }: InvocationContext, reply: Event): boolean {
  const calls = Calls.of(invocation);
  for (const [, event] of newestEntries(session.events)) {
    if (event.id === reply.id) return false;
    if (event.author !== 'user') continue;
    if (calls.respondedIn(event).some((call) => call.event.author === agent.name && call.branch === branch))
      return true;
  }
  return false;
}

function hasCalls(reply: Event): boolean {
  return callsToRun(reply.content?.parts).length > 0;
}

/**
 * Finishes the calls of replies, oldest first. Agents that they ran are resumed behind their reply. The model is called if a reply has all
 * results, unless another one waits. A reply that only asks does not hold it up, and needs no reply of the model, which spoke already.
 */
async function* finishCalls(
  turn: AgentTurn,
  replies: readonly Event[],
  resumedFrom: Execution,
): AsyncGenerator<Event, StepEnd, void> {
  const ends = new Set<StepEnd>();
  for (const reply of replies) {
    resumedFrom.resumeChildrenAfter(reply);
    ends.add(yield* new OpenStep(turn, reply, resumedFrom).finish());
  }
  if (ends.has('waits')) return 'waits';
  if (ends.has('callsModel')) return ends.has('asks') ? 'asks' : 'callsModel';
  return ends.has('asks') ? 'waits' : 'ends';
}

/** Returns the replies with a call that requested a person's answer and has no result. The model may have replied since. */
function askingReplies({ invocation }: InvocationContext, replies: readonly Event[]): Event[] {
  if (!replies.some(({ actions }) => actions.requestedToolConfirmations)) return [];
  const calls = Calls.of(invocation);
  return replies.filter((reply) => calls.madeIn(reply).some((call) => unsettledRequests(call).length > 0));
}

/** Returns true for a reply of the model, the result of its code, and its failure; false for events of tools and callbacks. */
function isReply(event: Event): boolean {
  if (isWholeReply(event) || isFailure(event)) return true;
  if (hasTrailingCodeExecutionResult(event)) return true;
  return callsToRun(event.content?.parts).some((call) => aboutCallId(call) === undefined);
}

/**
 * A step of an agent whose model made calls, and which did not complete: its process was lost, or it waits for a person. Answers to these
 * calls may have started other runs of this agent; the responses from those runs count as well.
 */
class OpenStep {
  readonly #turn: AgentTurn;
  readonly #context: InvocationContext;
  readonly #reply: Event;
  /** The agent's events after the reply: requests to people, and responses. */
  readonly #later: Event[];

  constructor(turn: AgentTurn, reply: Event, { events }: Execution) {
    this.#turn = turn;
    this.#context = turn.context;
    this.#reply = reply;
    this.#later = events.slice(events.indexOf(reply) + 1);
  }

  async *finish(): AsyncGenerator<Event, StepEnd, void> {
    const { invocation, invocationId } = this.#context;
    const calls = this.#readCalls();
    const elsewhere = responsesIn(withRequests(calls)).filter(({ event }) => event.invocationId !== invocationId);
    if (this.#isContinuedAfter(elsewhere)) return 'ends';
    const { tools, changes } = await prepareTools(this.#turn);
    if (changes) yield changes;
    const entries = new Map(
      (await invocation.ledger.listToolCalls(invocationId)).map((entry) => [entry.entryId, entry]),
    );
    const eventId = this.#reply.id;
    const result = await this.#readResult(calls, tools);
    const open = callsToStart(calls, tools);
    if (open.length > 0) {
      const requests = calls.flatMap(({ requests }) => requests.map(({ call }) => call));
      const batch = { turn: this.#turn, calls: open.map(({ call }) => call), tools, eventId, entries, requests };
      yield* this.#pass(new RunningCalls(batch), result);
    }
    const { toSettle } = effectOfAnswers(withRequests(this.#readCalls()).filter(answerOf), this.#context);
    if (toSettle.size > 0) yield* this.#pass(startAnswered({ turn: this.#turn, tools, eventId, entries }, toSettle));
    if (result && this.#turn.agent.mode !== 'task') {
      const hasText = this.#later.at(-1)?.content?.parts?.some(({ text }) => text !== undefined) ?? false;
      if (!hasText) yield toOutputEvent(this.#turn, result.value);
      return 'ends';
    }
    const unfinished = this.#readCalls().filter((call) => stateOf(call) !== 'done');
    if (unfinished.length > 0) return unfinished.every((call) => this.#asksBesideModel(call)) ? 'asks' : 'waits';
    // The task was finished, so the agent has nothing more to do.
    if (this.#later.some(({ output }) => output !== undefined)) return 'ends';
    const leaves = [...this.#later, ...elsewhere.map(({ event }) => event)].some(endsTurn);
    return leaves ? 'ends' : 'callsModel';
  }

  /** True for a call that asked only for a confirmation, by itself, so that its model spoke before the answer. */
  #asksBesideModel({ requests, responses }: SessionCall): boolean {
    return requests.length > 0 && responses.some(({ event }) => asksOnlyConfirmations(event.actions));
  }

  /** Returns the result that the model handed in with one of the calls; undefined if there is none, or it does not match the schema. */
  async #readResult(
    calls: readonly SessionCall[],
    tools: CallBatch['tools'],
  ): Promise<{ readonly value: unknown } | undefined> {
    const name = this.#turn.agent.mode === 'task' ? FINISH_TASK : SET_MODEL_RESPONSE;
    const tool = getOwn(tools, name);
    const handedIn = calls.find(({ call }) => call.name === name)?.call;
    return handedIn && tool instanceof OutputTool ? tool.check(handedIn.args ?? {}) : undefined;
  }

  /** Reads the calls of the reply that the runtime runs, with their stored responses and requests. */
  #readCalls(): readonly SessionCall[] {
    const { invocation } = this.#context;
    const toRun = new Set(callsToRun(this.#reply.content?.parts).map(({ id }) => id));
    return Calls.of(invocation)
      .madeIn(this.#reply)
      .filter(({ call }) => toRun.has(call.id));
  }

  /** Returns true if another run already continued the turn: the agent's model replied there after one of these responses. */
  #isContinuedAfter(responses: readonly CallResponse[]): boolean {
    const { agent, branch, session } = this.#context;
    for (const [index, event] of responses.length > 0 ? newestEntries(session.events) : []) {
      if (event.author !== agent.name || branchInScope(event) !== branch || !isWholeReply(event)) continue;
      const isAfter = (response: CallResponse): boolean =>
        response.event.invocationId === event.invocationId && response.eventIndex < index;
      if (responses.some(isAfter)) return true;
    }
    return false;
  }

  /** Yields the events of running calls, the response event included. That of a task has the result. */
  async *#pass(running: RunningCalls, result?: { readonly value: unknown }): AsyncGenerator<Event, void, void> {
    const { event: responses } = yield* running.events();
    if (!responses) return;
    const isTask = this.#turn.agent.mode === 'task';
    const event = isTask && result ? withOutput(this.#turn, responses, result.value) : responses;
    this.#later.push(event);
    yield event;
  }
}

function withRequests(calls: readonly SessionCall[]): readonly SessionCall[] {
  return [...calls, ...calls.flatMap(({ requests }) => requests)];
}

function responsesIn(calls: readonly SessionCall[]): readonly CallResponse[] {
  return calls.flatMap(({ responses }) => responses);
}

/**
 * Returns the calls of a reply that start, perhaps again: all without a user's answer if none has a response of a tool. The
 * responses of a reply's tools are stored in one event, so a call that lacks one beside others waits, or called an agent: it
 * starts if its tool may wait.
 */
function callsToStart(calls: readonly SessionCall[], tools: CallBatch['tools']): SessionCall[] {
  const unanswered = calls.filter((call) => !answerOf(call));
  if (responsesIn(calls).every(({ event }) => event.author === 'user')) return unanswered;
  return unanswered.filter(({ call, responses }) => responses.length === 0 && mayWait(getOwn(tools, call.name ?? '')));
}

/**
 * True for an event after which the agent has nothing more to do. Not so after the notice that a call waits for a confirmation: the person
 * has answered since. A transfer beside the notice counts.
 */
function endsTurn({ author, actions }: Event): boolean {
  const isNotice = Object.keys(actions.requestedToolConfirmations ?? {}).length > 0;
  return author !== 'user' && (isNotice ? actions.transferToAgent !== undefined : leavesAgent(actions));
}

/**
 * True for a tool whose call may wait: it runs again when it has no response beside calls that have theirs. An idempotent
 * function may run an agent, and an agent waits only in a call that runs again.
 */
function mayWait(tool: BaseTool | undefined): boolean {
  return tool !== undefined && (tool.resumesCalls || (tool.isIdempotent && !tool.isLongRunning));
}
