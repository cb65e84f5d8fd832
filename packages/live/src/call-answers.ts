import {
  type BaseTool,
  type Event,
  type FunctionCall,
  type FunctionResponse,
  getFunctionResponses,
  INTERRUPTED_CALL,
  RunAbortedError,
} from '@eventloom/core';
import { asksPerson } from '@eventloom/llm-agent/internal';
import type { LiveCallsParams } from './live-calls.ts';

/** Whose call is answered, and to whom. */
export interface CallAnswersParams extends Pick<LiveCallsParams, 'context' | 'session' | 'emit' | 'answer' | 'tell'> {
  readonly call: FunctionCall;
  readonly tool: BaseTool | undefined;
}

/**
 * What the model is told of one call. A call that keeps it from speaking is answered once: with its result, or, where the tool listens
 * to the client, with the word that it is under way; what such a tool finds is then told in words, and its end as far as it says
 * something new. A call that does not is answered with every chunk as it comes, where the service takes that, and then with its result.
 */
export class CallAnswers {
  readonly #params: CallAnswersParams;
  /** True when responses tell whether more of them come. */
  readonly #isStreamed: boolean;
  #isOpen = false;
  #began: Promise<void> | undefined;
  readonly #chunks = new SentChunks();
  /** True when the history has a response. */
  #isStored = false;

  constructor(params: CallAnswersParams) {
    const { tool, session } = params;
    this.#params = params;
    this.#isStreamed = tool?.isNonBlocking === true && session.takesInterimResponses;
  }

  /** The tool begins to listen to the client. Stored, so that the call has a response however the tool ends. Told once. */
  underWay(): Promise<void> {
    return (this.#began ??= this.#tellUnderWay());
  }

  async #tellUnderWay(): Promise<void> {
    const { context, emit, answer, call } = this.#params;
    const { id = '', name = '' } = call;
    const functionResponse = { id, name, response: { status: 'under way; what it finds is told as it comes' } };
    this.#isStored = true;
    await emit(context.createEvent({ content: { role: 'user', parts: [{ functionResponse }] } }));
    if (!this.#isStreamed) return answer(functionResponse);
    this.#isOpen = true;
    answer({ ...functionResponse, willContinue: true, scheduling: 'SILENT' });
  }

  /** The tool passed something on. */
  async chunk(event: Event): Promise<void> {
    const { tool, call, answer, tell } = this.#params;
    if (event.partial !== true || !(tool?.hasInputStream || tool?.isNonBlocking)) return;
    for (const response of getFunctionResponses(event)) {
      if (response.id !== (call.id ?? '')) continue;
      if (tool.hasInputStream) await this.underWay();
      if (this.#isStreamed) {
        this.#isOpen = true;
        answer({ ...response, willContinue: true });
      } else {
        const output = response.response?.['output'];
        if (tool.hasInputStream) this.#chunks.add(output);
        tell({ role: 'user', parts: [{ text: `Function ${response.name} returned: ${JSON.stringify(output)}` }] });
      }
    }
  }

  /** Passes on the event with what came of the call. */
  async emit(event: Event): Promise<void> {
    this.#isStored = true;
    await this.#params.emit(event);
  }

  /** The call was cut off by the end of the agent's part. Who reads the history knows of it; the model of this part is told nothing more. */
  async cutOff(): Promise<void> {
    const { context, call } = this.#params;
    if (this.#isStored) return;
    const functionResponse = { id: call.id ?? '', name: call.name ?? '', response: { ...INTERRUPTED_CALL } };
    try {
      await this.emit(context.createEvent({ content: { role: 'user', parts: [{ functionResponse }] } }));
    } catch (error) {
      // Nobody reads any more, so nothing is stored.
      if (!RunAbortedError.isInstance(error)) throw error;
    }
  }

  /** The call is over, or waits for a person. */
  result(event: Event): void {
    const { answer } = this.#params;
    // With the answer of the person it is run again, and answered further.
    const isMore = this.#isStreamed && asksPerson(event.actions);
    for (const result of getFunctionResponses(event)) {
      const response =
        this.#isStreamed || !this.#began ? result.response : this.#chunks.newPartOf(result.response ?? {});
      if (!response) continue;
      answer({ ...result, response, ...(this.#isOpen || isMore ? { willContinue: isMore } : {}) });
    }
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

type Response = NonNullable<FunctionResponse['response']>;

/** The chunks of a tool that the model has got already. The tool's response repeats them, put together. */
class SentChunks {
  readonly #chunks: unknown[] = [];

  add(chunk: unknown): void {
    this.#chunks.push(chunk);
  }

  /** Returns the part of a response that does not repeat the chunks: a failure without its output, a result of its own. Undefined when there is none. */
  newPartOf(response: Response): Response | undefined {
    if ('error' in response) {
      const { output, ...failure } = response;
      return this.#isSent(output) ? failure : response;
    }
    const isResult = Object.keys(response).length === 1 && 'result' in response;
    return isResult && this.#isSent(response['result']) ? undefined : response;
  }

  /** As a streaming tool puts its chunks together: texts as one text, others as a list, null or nothing where there are none. */
  #isSent(value: unknown): boolean {
    const chunks = this.#chunks;
    if (value === undefined || value === null) return chunks.length === 0;
    if (typeof value === 'string') return chunks.length > 0 && chunks.every(isText) && chunks.join('') === value;
    return Array.isArray(value) && value.length === chunks.length && JSON.stringify(value) === JSON.stringify(chunks);
  }
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}
