import {
  type AbortGuard,
  type Content,
  type Event,
  type FunctionCall,
  type FunctionResponse,
  getFunctionResponses,
  getOwn,
  LiveRequestQueue,
  type LlmRequest,
} from '@eventloom/core';
import { withoutClientId } from '../contents/event-content.ts';
import type { Step } from '../processors/request-processor.ts';
import { isCompletion } from './gives-control-away.ts';
import type { ResumedCalls } from '../step/resumed-calls.ts';
import { runCalls } from '../step/run-calls.ts';

/** What calls are run with. */
export interface LiveCallsParams {
  readonly step: Step;
  /** Passes an event on; settles when it was committed. */
  readonly emit: (event: Event) => Promise<void>;
  /** Takes what the model is told. */
  readonly answer: (responses: FunctionResponse[]) => void;
  /** Takes what the model is told beside its calls. */
  readonly tell: (content: Content) => void;
  /** A call was answered by which the agent gives control away. */
  readonly onHandOver: () => void;
  /** A call is over, answered or not. */
  readonly onSettled: (call: FunctionCall) => void;
  /** What no tool's failure is: a callback's, a store's. */
  readonly onFailure: (error: unknown) => void;
}

/** The calls of a live run that are under way: each runs by itself and is answered when it is done, while both sides speak on. */
export class LiveCalls {
  readonly #params: LiveCallsParams;
  readonly #running = new Map<string, Running>();
  readonly #work = new Set<Promise<void>>();

  constructor(params: LiveCallsParams) {
    this.#params = params;
  }

  /** Runs calls of an event that is committed, or those that go on because a person answered. */
  start(eventId: string, calls: readonly FunctionCall[], tools: LlmRequest['toolsDict'], resumed?: ResumedCalls): void {
    for (const call of calls) {
      const work = this.#run(eventId, call, tools, resumed)
        .catch(this.#params.onFailure)
        .then(() => void this.#work.delete(work));
      this.#work.add(work);
    }
  }

  /** Stops calls that the model takes back: nobody is told what came of them. */
  cancel(ids: readonly string[]): void {
    for (const id of ids)
      this.#running.get(id)?.guard.abort(new DOMException('the model took the call back', 'AbortError'));
  }

  /** Stops the calls of a tool that listens to the client. False when there are none. */
  stopStreaming(toolName: string): boolean {
    const streaming = [...this.#running.values()].filter(({ call, input }) => input && call.name === toolName);
    for (const { guard } of streaming) guard.abort(new DOMException('the model stopped the tool', 'AbortError'));
    return streaming.length > 0;
  }

  /** Stops all calls, and waits for those that listen. */
  async stop(): Promise<void> {
    for (const { guard } of this.#running.values()) guard.abort(new DOMException('the live run is over', 'AbortError'));
    await Promise.all(this.#work);
  }

  async #run(
    eventId: string,
    call: FunctionCall,
    tools: LlmRequest['toolsDict'],
    resumed?: ResumedCalls,
  ): Promise<void> {
    const { step, emit, answer, onHandOver, onSettled } = this.#params;
    const guard = step.context.forkAbort();
    const id = call.id ?? '';
    const input = getOwn(tools, call.name ?? '')?.hasInputStream ? this.#openInput(id) : undefined;
    const running: Running = { call, guard, input };
    this.#running.set(id, running);
    try {
      if (input) await this.#tellUnderWay(call);
      const calls = runCalls({ ...step, context: step.context.withAbort(guard) }, [call], tools, { eventId }, resumed);
      let next = await calls.next();
      for (; next.done !== true; next = await calls.next()) {
        await emit(next.value);
        if (input) this.#tellChunks(next.value);
      }
      const { event } = next.value;
      if (guard.signal.aborted || !event) return;
      await emit(event);
      const responses = getFunctionResponses(event);
      if (event.actions.transferToAgent !== undefined || isCompletion(call, step.context)) onHandOver();
      else if (responses.length > 0 && !input) answer(responses.map(toModelResponse));
    } catch (error) {
      if (!guard.signal.aborted) throw error;
    } finally {
      if (this.#running.get(id) === running) this.#running.delete(id);
      input?.close();
      step.context.invocation.activeStreamingTools?.delete(id);
      step.context.dropAbort(guard);
      onSettled(call);
    }
  }

  #openInput(callId: string): LiveRequestQueue {
    const input = new LiveRequestQueue();
    this.#params.step.context.invocation.activeStreamingTools?.set(callId, input);
    return input;
  }

  /** A model waits for the answer to its call: one that goes on as long as the client speaks is answered at once. */
  async #tellUnderWay({ id = '', name = '' }: FunctionCall): Promise<void> {
    const response = { status: 'under way; what it finds is told as it comes' };
    const functionResponse = { id, name, response };
    const content = { role: 'user', parts: [{ functionResponse }] };
    await this.#params.emit(this.#params.step.context.createEvent({ content }));
    this.#params.answer([toModelResponse(functionResponse)]);
  }

  #tellChunks(event: Event): void {
    for (const { name, response } of getFunctionResponses(event)) {
      const text = `Function ${name} returned: ${JSON.stringify(response?.['output'])}`;
      this.#params.tell({ role: 'user', parts: [{ text }] });
    }
  }
}

/** A call that is under way. */
interface Running {
  readonly call: FunctionCall;
  readonly guard: AbortGuard;
  /** What its tool hears of the client. */
  readonly input: LiveRequestQueue | undefined;
}

/** The response as the model knows its call. */
function toModelResponse(functionResponse: FunctionResponse): FunctionResponse {
  return withoutClientId({ functionResponse }).functionResponse ?? functionResponse;
}
