import {
  type AgentPast,
  askedCallId,
  callsToRun,
  type Event,
  type FunctionCall,
  getFunctionCalls,
  getFunctionResponses,
  getOwn,
  hasTrailingCodeExecutionResult,
  type InvocationContext,
  isOutputMismatch,
  leavesAgent,
  ModelError,
  ObjectType,
  SET_MODEL_RESPONSE,
  type ToolLedgerEntry,
} from '@eventloom/core';
import type { CodeRun } from '../code-execution/code-run.ts';
import type { Step } from '../processors/request-processor.ts';
import { SetModelResponseTool } from '../set-model-response-tool.ts';
import { CallHistory } from './call-history.ts';
import { structuredAnswer } from './final-output.ts';
import { prepareTools } from '../request.ts';
import { answersTo } from './resumed-calls.ts';
import { type RunningCalls, startCalls } from './run-calls.ts';

/**
 * Does what is left of an agent's last step, as far as the log and the ledger say that it is left; true when the model is to be
 * asked next. A call that is finished in the ledger is answered with what is recorded there, with all that it changed.
 * @throws ModelError again when the model had failed
 */
export async function* resumeSteps(
  step: Step,
  past: AgentPast,
  codeRun: CodeRun | undefined,
): AsyncGenerator<Event, boolean, void> {
  const { context } = step;
  const at = past.events.findLastIndex(isReply);
  const reply = past.events[at];
  if (!reply) return true;
  if (reply.object === ObjectType.error) {
    const error = new ModelError(reply.errorMessage ?? '', { errorCode: reply.errorCode ?? 'MODEL_ERROR' });
    context.markReported(error);
    throw error;
  }
  const calls = callsToRun(reply.content?.parts);
  if (calls.length > 0) {
    past.goOnAfter(reply);
    return yield* new CutOffStep(step, reply, calls, past.events.slice(at + 1)).goOn();
  }
  if (hasTrailingCodeExecutionResult(reply) || isOutputMismatch(reply)) return true;
  const found = codeRun?.find(reply);
  if (!codeRun || !found) return false;
  const id = reply.content?.parts?.findLast((part) => part.executableCode)?.executableCode?.id;
  yield await codeRun.execute({ ...found, id: id ?? found.id });
  return true;
}

/** True for what the model said, the result of its code, and its failure; not for what tools and callbacks said. */
function isReply(event: Event): boolean {
  if (event.usageMetadata?.timingInfo || event.object === ObjectType.error) return true;
  if (hasTrailingCodeExecutionResult(event)) return true;
  return callsToRun(event.content?.parts).some((call) => askedCallId(call) === undefined);
}

/** The last step of an agent whose model made calls. */
class CutOffStep {
  readonly #step: Step;
  readonly #context: InvocationContext;
  readonly #reply: Event;
  readonly #calls: readonly FunctionCall[];
  /** What the agent said behind the reply: questions to a person, and responses. */
  readonly #said: Event[];

  constructor(step: Step, reply: Event, calls: readonly FunctionCall[], said: readonly Event[]) {
    this.#step = step;
    this.#context = step.context;
    this.#reply = reply;
    this.#calls = calls;
    this.#said = [...said];
  }

  async *goOn(): AsyncGenerator<Event, boolean, void> {
    const history = new CallHistory(this.#context, this.#reply);
    if (history.isTurnOver()) return false;
    this.#said.push(...history.responsesElsewhere());
    const { tools, changes } = await prepareTools(this.#step);
    if (changes) yield changes;
    const ledger = await readLedger(this.#context);
    const asked = this.#questions();
    const eventId = this.#reply.id;
    const answers = history.answered();
    const responded = new Set(this.#responses());
    // Calls of a reply are told of together. What was told without a response waits; a call that goes on by itself is asked again.
    const open = this.#calls.filter(
      ({ id = '', name = '' }) =>
        !answers.has(id) && (responded.size === 0 || (!responded.has(id) && getOwn(tools, name)?.goesOn === true)),
    );
    if (open.length > 0) yield* this.#keep(startCalls(this.#step, open, tools, { eventId, ledger, asked }));
    const { resumed } = answersTo(history.events, [...answers], this.#context);
    if (resumed.size > 0) {
      const going = Array.from(resumed.values(), ({ call }) => call);
      yield* this.#keep(startCalls(this.#step, going, tools, { eventId, ledger }, resumed));
    }
    const tool = tools[SET_MODEL_RESPONSE];
    const answer = this.#calls.find(({ name }) => name === SET_MODEL_RESPONSE);
    if (answer && tool instanceof SetModelResponseTool) {
      const accepted = await tool.check(answer.args ?? {});
      const isTold = this.#said.at(-1)?.content?.parts?.some(({ text }) => text !== undefined) ?? false;
      if (accepted && !isTold) yield structuredAnswer(this.#step, accepted.value);
      if (accepted) return false;
    }
    if (this.#context.isPaused || this.#isWaiting(answers)) {
      this.#context.pause();
      return false;
    }
    return !this.#said.some(({ actions }) => leavesAgent(actions));
  }

  /** Passes on what comes of calls, and keeps it. */
  async *#keep(running: RunningCalls): AsyncGenerator<Event, void, void> {
    const outcome = yield* running.events();
    this.#said.push(...outcome.requests);
    if (!outcome.event) return;
    this.#said.push(outcome.event);
    yield outcome.event;
  }

  #questions(): FunctionCall[] {
    return this.#said.flatMap(getFunctionCalls).filter((call) => askedCallId(call) !== undefined);
  }

  /** The ids of the calls that were answered since a place in what was said, an answer each. */
  #responses(since = 0): string[] {
    return this.#said
      .slice(since)
      .flatMap(getFunctionResponses)
      .map(({ id = '' }) => id);
  }

  /** True while a long-running call has no response, or a call that a person was asked about not its second one since then. */
  #isWaiting(answers: ReadonlySet<string>): boolean {
    const responses = this.#responses();
    const own = new Set(this.#calls.map(({ id = '' }) => id));
    return (
      this.#said.some((event, index) => {
        const since = this.#responses(index);
        return getFunctionCalls(event).some((call) => {
          const callId = askedCallId(call);
          return callId !== undefined && own.has(callId) && since.filter((id) => id === callId).length < 2;
        });
      }) ||
      this.#reply.longRunningToolIds?.some((id) => own.has(id) && !answers.has(id) && !responses.includes(id)) === true
    );
  }
}

async function readLedger({ invocation, invocationId }: InvocationContext): Promise<Map<string, ToolLedgerEntry>> {
  const entries = (await invocation.listToolCalls?.(invocationId)) ?? [];
  return new Map(entries.map((entry) => [entry.callId, entry]));
}
