import {
  type AbortGuard,
  type BaseLiveRequestQueue,
  type Content,
  type Event,
  type FunctionCall,
  type FunctionResponse,
  getOwn,
  type InvocationContext,
  isTransfer,
  type LlmRequest,
  RUN_CONFIG_DEFAULTS,
  TASK_COMPLETED,
} from '@eventloom/core';
import { type ResumedCalls, startCalls, type Step } from '@eventloom/llm-agent/internal';
import { CallAnswers } from './call-answers.ts';
import type { QueueLiveRun } from './queue-live-run.ts';
import { Semaphore } from './semaphore.ts';
import type { ServiceSession } from './service-session.ts';
import { STOP_STREAMING } from './stop-streaming-tool.ts';

/** What calls are run with. */
export interface LiveCallsParams {
  readonly run: QueueLiveRun;
  readonly context: InvocationContext;
  readonly session: ServiceSession;
  /** Passes an event on; settles when it was committed. */
  readonly emit: (event: Event) => Promise<void>;
  /** Takes what the model is told of a call. */
  readonly answer: (response: FunctionResponse) => void;
  /** Takes what the model is told beside its calls. */
  readonly tell: (content: Content) => void;
  /** A call is over, answered or not. */
  readonly onSettled: (call: FunctionCall) => void;
  /** What no tool's failure is: a callback's, a store's. */
  readonly onFailure: (error: unknown) => void;
}

/** Calls that are to be run: of an event that is committed, or such as go on because a person answered. */
export interface CallsToStart {
  /** Whose calls they are. */
  readonly step: Step;
  readonly tools: LlmRequest['toolsDict'];
  readonly eventId: string;
  readonly calls: readonly FunctionCall[];
  readonly resumed?: ResumedCalls;
}

/** The calls of a live run that are under way: each runs by itself and is answered when it is done, while both sides speak on. */
export class LiveCalls {
  readonly #params: LiveCallsParams;
  readonly #slots: Semaphore;
  readonly #running = new Set<Running>();
  readonly #work = new Set<Promise<void>>();
  #isHandingOver = false;
  /** True once a call is about to be answered by which the agent gives control away. */
  #isGivingControl = false;

  constructor(params: LiveCallsParams) {
    this.#params = params;
    const { maxParallelToolCalls } = params.context.runConfig;
    this.#slots = new Semaphore(maxParallelToolCalls ?? RUN_CONFIG_DEFAULTS.maxParallelToolCalls);
  }

  /** True while a call is under way that comes to an end by itself: one that listens to the client may not. */
  get isBusy(): boolean {
    for (const { input } of this.#running) if (!input) return true;
    return false;
  }

  /** True when a call was answered by which the agent gives control away. */
  get isHandingOver(): boolean {
    return this.#isHandingOver;
  }

  /** Runs calls, at most `maxParallelToolCalls` at once. None when the agent hands over: they are nobody's any more. */
  start({ calls, ...rest }: CallsToStart): void {
    if (this.#isHandingOver) return;
    for (const call of calls) {
      const work = this.#run(call, rest)
        .catch(this.#params.onFailure)
        .then(() => void this.#work.delete(work));
      this.#work.add(work);
    }
  }

  /** Stops calls that the model takes back: nobody is told what came of them. */
  cancel(ids: readonly string[]): void {
    for (const { call, guard } of this.#running)
      if (ids.includes(call.id ?? '')) guard.abort(new DOMException('the model took the call back', 'AbortError'));
  }

  /** Stops the calls of a tool that listens to the client. False when there are none. */
  stopStreaming(toolName: string): boolean {
    const streaming = [...this.#running].filter(({ call, input }) => input && call.name === toolName);
    for (const { guard, answers } of streaming) {
      guard.abort(new DOMException('the model stopped the tool', 'AbortError'));
      answers.stopped();
    }
    return streaming.length > 0;
  }

  /** Stops all calls, and waits until they are over. Those that have no response get one, so that a later run knows of it. */
  async stop(): Promise<void> {
    this.#cutOff(() => true);
    await Promise.all(this.#work);
  }

  #cutOff(isMeant: (call: FunctionCall) => boolean): void {
    for (const running of this.#running) {
      const { call, guard } = running;
      if (guard.signal.aborted || !isMeant(call)) continue;
      running.isCutOff = true;
      guard.abort(new DOMException('the agent speaks with the model no longer', 'AbortError'));
    }
  }

  async #run(call: FunctionCall, { step, tools, eventId, resumed }: Omit<CallsToStart, 'calls'>): Promise<void> {
    const { run, context, onSettled, emit } = this.#params;
    const guard = context.forkAbort();
    const id = call.id ?? '';
    const tool = getOwn(tools, call.name ?? '');
    const input = tool?.hasInputStream ? run.openInput(id) : undefined;
    const answers = new CallAnswers({ ...this.#params, context: step.context, call, tool });
    const running: Running = { call, guard, input, answers, isCutOff: false };
    this.#running.add(running);
    // Calls that never end by themselves, that end such, and that speech waits for, wait for no others.
    const isCounted = !input && call.name !== STOP_STREAMING && !givesControlAway(call, context);
    if (isCounted) await this.#slots.take();
    try {
      if (guard.signal.aborted) return;
      const origin = { eventId, ...(input && { onBegan: () => answers.underWay() }) };
      const part = { ...step, context: step.context.withAbort(guard) };
      const calls = startCalls(part, [call], tools, origin, resumed).events();
      let next = await calls.next();
      for (; next.done !== true; next = await calls.next()) {
        await emit(next.value);
        await answers.chunk(next.value);
      }
      const { event } = next.value;
      if (guard.signal.aborted || !event) return;
      const givesControl = event.actions.transferToAgent !== undefined || isCompletion(call, step.context);
      // Control goes to one agent.
      running.isCutOff = givesControl && this.#isGivingControl;
      if (running.isCutOff) return;
      this.#isGivingControl ||= givesControl;
      await answers.emit(event);
      if (!givesControl) answers.result(event);
      else {
        this.#isHandingOver = true;
        this.#cutOff((other) => givesControlAway(other, context));
      }
    } catch (error) {
      if (!guard.signal.aborted) throw error;
    } finally {
      if (running.isCutOff) await answers.cutOff().catch(this.#params.onFailure);
      if (isCounted) this.#slots.give();
      this.#running.delete(running);
      if (input) run.closeInput(id, input);
      context.dropAbort(guard);
      onSettled(call);
    }
  }
}

/** A call that is under way. */
interface Running {
  readonly call: FunctionCall;
  readonly guard: AbortGuard;
  /** What its tool hears of the client. */
  readonly input: BaseLiveRequestQueue | undefined;
  readonly answers: CallAnswers;
  /** Stopped by the runtime and not by the model. */
  isCutOff: boolean;
}

/** True for a call by which an agent of a sequence says that its part is done. An agent's own tool may have the name elsewhere. */
function isCompletion(call: FunctionCall, { extraTools }: InvocationContext): boolean {
  return call.name === TASK_COMPLETED && extraTools.some(({ name }) => name === TASK_COMPLETED);
}

/** True for a call after which another agent is to have the conversation, when it succeeds. */
export function givesControlAway(call: FunctionCall, context: InvocationContext): boolean {
  return isTransfer(call) || isCompletion(call, context);
}
