import { type BaseLiveRequestQueue, type FunctionCall, type InvocationContext, type LlmRequest } from '@eventloom/core';
import {
  type AbortGuard,
  Calls,
  CANCELLED_CALL,
  getOwn,
  INTERRUPTED_CALL,
  TASK_COMPLETED,
  isTransfer,
  RUN_CONFIG_DEFAULTS,
} from '@eventloom/core/internal';
import { type AgentTurn, type AnsweredCalls, RunningCalls } from '@eventloom/llm-agent/internal';
import { CallResponses } from './call-responses.ts';
import type { LiveFlow } from './live-flow.ts';
import type { QueueLiveRun } from './queue-live-run.ts';
import { Semaphore } from '@eventloom/core/internal';
import type { ServiceSession } from './service-session.ts';
import { STOP_STREAMING } from './stop-streaming-tool.ts';

export interface LiveToolCallsParams {
  readonly run: QueueLiveRun;
  readonly context: InvocationContext;
  readonly serviceSession: ServiceSession;
  readonly flow: LiveFlow;
}

/** Calls to start: those of a committed event, or calls that resume because a person answered. */
interface CallsToStart {
  /** The agent that made the calls. */
  readonly turn: AgentTurn;
  readonly tools: LlmRequest['toolsDict'];
  readonly eventId: string;
  readonly calls: readonly FunctionCall[];
  readonly answered?: AnsweredCalls;
}

/** The running tool calls of a live run. Each runs by itself and gets its response when it is done, while the conversation continues. */
export class LiveToolCalls {
  readonly #params: LiveToolCallsParams;
  readonly #slots: Semaphore;
  readonly #running = new Set<Running>();
  readonly #work = new Set<Promise<void>>();
  #isHandingOver = false;
  /** True once a call that gives control away is about to get its response. */
  #isGivingControl = false;

  constructor(params: LiveToolCallsParams) {
    this.#params = params;
    const { maxParallelToolCalls } = params.context.runConfig;
    this.#slots = new Semaphore(maxParallelToolCalls ?? RUN_CONFIG_DEFAULTS.maxParallelToolCalls);
  }

  /** True while a call runs that ends by itself: one that listens to the client may not. */
  get isBusy(): boolean {
    for (const { input } of this.#running) if (!input) return true;
    return false;
  }

  /** True when a call that gives control away got its response. */
  get isHandingOver(): boolean {
    return this.#isHandingOver;
  }

  /** Runs calls, at most `maxParallelToolCalls` at once. Does nothing when control has moved to another agent. */
  start({ calls, ...rest }: CallsToStart): void {
    if (this.#isHandingOver) return;
    for (const call of calls) {
      this.#track(this.#run(call, rest).catch((error: unknown) => this.#params.flow.fail(error)));
    }
  }

  /**
   * Stops calls that the model cancelled: their results are dropped, and an event reports it, also of calls that wait
   * for a later result.
   */
  cancel(ids: readonly string[]): void {
    if (ids.length === 0) return;
    const others = new Set(ids);
    for (const running of this.#running) {
      const { call, guard } = running;
      if (guard.signal.aborted || !others.delete(call.id ?? '')) continue;
      running.ended = CANCELLED_CALL;
      guard.abort(new DOMException('the model cancelled the call', 'AbortError'));
    }
    const { context, flow, serviceSession } = this.#params;
    const { invocation, invocationId, branch } = context;
    serviceSession.tookBack(ids);
    for (const waiting of Calls.of(invocation).waitingIn(invocationId)) {
      const { call } = waiting;
      if (waiting.branch !== branch || !others.has(call.id ?? '')) continue;
      const responses = new CallResponses({ ...this.#params, call, tool: undefined });
      this.#track(responses.end(CANCELLED_CALL).catch((error: unknown) => flow.fail(error)));
    }
  }

  #track(working: Promise<void>): void {
    const work = working.then(() => void this.#work.delete(work));
    this.#work.add(work);
  }

  /** Stops the calls of a tool with an input stream. Returns false if there are none. */
  stopStreaming(toolName: string): boolean {
    const streaming = [...this.#running].filter(({ call, input }) => input && call.name === toolName);
    for (const { guard, responses } of streaming) {
      guard.abort(new DOMException('the model stopped the tool', 'AbortError'));
      responses.stopped();
    }
    return streaming.length > 0;
  }

  /** Stops all calls and waits for their ends. A call without a response gets one, for later runs. */
  async stop(): Promise<void> {
    this.#interrupt(() => true);
    await Promise.all(this.#work);
  }

  #interrupt(isMeant: (call: FunctionCall) => boolean): void {
    for (const running of this.#running) {
      const { call, guard } = running;
      if (guard.signal.aborted || !isMeant(call)) continue;
      running.ended = INTERRUPTED_CALL;
      guard.abort(new DOMException("the agent's conversation with the model has ended", 'AbortError'));
    }
  }

  async #run(call: FunctionCall, { turn, tools, eventId, answered }: Omit<CallsToStart, 'calls'>): Promise<void> {
    const { run, context, flow } = this.#params;
    const guard = context.abortGuard.fork();
    const id = call.id ?? '';
    const tool = getOwn(tools, call.name ?? '');
    const input = tool?.hasInputStream ? run.openInput(id) : undefined;
    const responses = new CallResponses({ ...this.#params, context: turn.context, call, tool });
    const running: Running = { call, guard, input, responses, ended: undefined };
    this.#running.add(running);
    // Calls that do not end by themselves, calls that end those, and calls that the user's speech waits for are not limited.
    const isCounted = !input && call.name !== STOP_STREAMING && !givesControlAway(call, context);
    if (isCounted) await this.#slots.take();
    try {
      if (guard.signal.aborted) return;
      const part = { ...turn, context: turn.context.withAbort(guard) };
      const listening = input && { onBegan: () => responses.underWay() };
      const calls = new RunningCalls({ turn: part, calls: [call], tools, eventId, answered, ...listening }).events();
      let next = await calls.next();
      for (; next.done !== true; next = await calls.next()) {
        await flow.emit(next.value);
        await responses.chunk(next.value);
      }
      const { event } = next.value;
      if (!event) return;
      const givesControl = event.actions.transferToAgent !== undefined || isCompletion(call, turn.context);
      if (guard.signal.aborted) {
        // The call was interrupted after its outcome was known, while the reader took its request to a person.
        if (running.ended === INTERRUPTED_CALL && !givesControl) await responses.emit(event);
        return;
      }
      // Control goes to one agent.
      if (givesControl && this.#isGivingControl) {
        running.ended = INTERRUPTED_CALL;
        return;
      }
      this.#isGivingControl ||= givesControl;
      await responses.emit(event);
      if (!givesControl) responses.result(event);
      else {
        this.#isHandingOver = true;
        this.#interrupt((other) => givesControlAway(other, context));
      }
    } catch (error) {
      if (!guard.signal.aborted) throw error;
    } finally {
      if (running.ended) await responses.end(running.ended).catch((error: unknown) => flow.fail(error));
      if (isCounted) this.#slots.give();
      this.#running.delete(running);
      if (input) run.closeInput(id, input);
      context.abortGuard.drop(guard);
      flow.callEnded(call);
    }
  }
}

/** A call that runs. */
interface Running {
  readonly call: FunctionCall;
  readonly guard: AbortGuard;
  /** The client's media for the tool. */
  readonly input: BaseLiveRequestQueue | undefined;
  readonly responses: CallResponses;
  /** The response of a call that the runtime stopped, or the model took back; undefined for other calls. */
  ended: typeof INTERRUPTED_CALL | undefined;
}

/** True for a call that ends the part of an agent in a sequence. Elsewhere an agent may have its own tool of this name. */
function isCompletion(call: FunctionCall, { extraTools }: InvocationContext): boolean {
  return call.name === TASK_COMPLETED && extraTools.some(({ name }) => name === TASK_COMPLETED);
}

/** True for a call that moves control to another agent when it succeeds. */
export function givesControlAway(call: FunctionCall, context: InvocationContext): boolean {
  return isTransfer(call) || isCompletion(call, context);
}
