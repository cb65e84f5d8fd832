import {
  type BaseTool,
  type Event,
  type FunctionCall,
  type FunctionResponse,
  getFunctionResponses,
} from '@eventloom/core';
import type { LiveCallsParams } from './live-calls.ts';

/** Whose call is answered, and to whom. */
export interface CallAnswersParams extends Pick<LiveCallsParams, 'context' | 'session' | 'emit' | 'answer' | 'tell'> {
  readonly call: FunctionCall;
  readonly tool: BaseTool | undefined;
}

/**
 * What the model is told of one call. A call that keeps it from speaking is answered once: with its result, or, where the tool listens
 * to the client, with the word that it is under way; what such a tool finds is then told in words. A call that does not is answered with
 * every chunk as it comes, where the service takes that, and then with its result.
 */
export class CallAnswers {
  readonly #params: CallAnswersParams;
  /** True when responses tell whether more of them come. */
  readonly #isStreamed: boolean;
  #isOpen = false;

  constructor(params: CallAnswersParams) {
    const { tool, session } = params;
    this.#params = params;
    this.#isStreamed = tool?.isNonBlocking === true && session.takesInterimResponses;
  }

  /** The tool begins to listen to the client. Stored, so that the call has a response however the tool ends. */
  async underWay(): Promise<void> {
    const { context, emit, answer, call } = this.#params;
    const { id = '', name = '' } = call;
    const functionResponse = { id, name, response: { status: 'under way; what it finds is told as it comes' } };
    await emit(context.createEvent({ content: { role: 'user', parts: [{ functionResponse }] } }));
    if (!this.#isStreamed) return answer(functionResponse);
    this.#isOpen = true;
    answer({ ...functionResponse, willContinue: true, scheduling: 'SILENT' });
  }

  /** The tool passed something on. */
  chunk(event: Event): void {
    const { tool, call, answer, tell } = this.#params;
    if (event.partial !== true || !(tool?.hasInputStream || tool?.isNonBlocking)) return;
    for (const response of getFunctionResponses(event)) {
      if (response.id !== (call.id ?? '')) continue;
      if (this.#isStreamed) {
        this.#isOpen = true;
        answer({ ...response, willContinue: true });
      } else {
        const text = `Function ${response.name} returned: ${JSON.stringify(response.response?.['output'])}`;
        tell({ role: 'user', parts: [{ text }] });
      }
    }
  }

  /** The call is over. */
  result(event: Event): void {
    const isTold = this.#params.tool?.hasInputStream && !this.#isStreamed;
    for (const response of isTold ? [] : getFunctionResponses(event))
      this.#params.answer(this.#isOpen ? { ...response, willContinue: false } : response);
    this.#isOpen = false;
  }

  /** The model stopped the call, and knows it: only that no more responses come is left to say. */
  stopped(): void {
    const { call, answer } = this.#params;
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const end: FunctionResponse = { id: call.id ?? '', name: call.name ?? '', response: {} };
    answer({ ...end, willContinue: false, scheduling: 'SILENT' });
  }
}
