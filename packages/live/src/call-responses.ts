import {
  type BaseTool,
  type Event,
  type FunctionCall,
  type FunctionResponse,
  getFunctionResponses,
  RunAbortedError,
} from '@eventloom/core';
import type { INTERRUPTED_CALL } from '@eventloom/core/internal';
import { asksPerson } from '@eventloom/llm-agent/internal';
import type { LiveToolCallsParams } from './live-tool-calls.ts';

interface CallResponsesParams extends Pick<LiveToolCallsParams, 'context' | 'serviceSession' | 'flow'> {
  readonly call: FunctionCall;
  readonly tool: BaseTool | undefined;
}

/**
 * The responses to one call of the model. A blocking call gets one response: its result, or, for a tool with an input stream, a note that
 * it is running; the chunks of such a tool, and the part of its result that does not repeat them, are then sent as text. A non-blocking
 * call gets each chunk as it arrives, if the service accepts interim responses, and then its result.
 */
export class CallResponses {
  readonly #params: CallResponsesParams;
  /** True if each response declares whether more responses follow. */
  readonly #isStreamed: boolean;
  #isOpen = false;
  #began: Promise<void> | undefined;
  readonly #chunks = new SentChunks();
  /** True when the history has a response. */
  #isStored = false;

  constructor(params: CallResponsesParams) {
    const { tool, serviceSession } = params;
    this.#params = params;
    this.#isStreamed = tool?.isNonBlocking === true && serviceSession.takesInterimResponses;
  }

  /**
   * Sends, once, the note that the tool listens to the client. The note is stored, so that the call has a response
   * however the tool ends.
   */
  underWay(): Promise<void> {
    return (this.#began ??= this.#sendUnderWay());
  }

  async #sendUnderWay(): Promise<void> {
    const { context, flow, call } = this.#params;
    const { id = '', name = '' } = call;
    const functionResponse = { id, name, response: { status: 'running; its results follow as they come' } };
    this.#isStored = true;
    await flow.emit(context.createEvent({ content: { role: 'user', parts: [{ functionResponse }] } }));
    if (!this.#isStreamed) return flow.sendResponse(functionResponse);
    this.#isOpen = true;
    flow.sendResponse({ ...functionResponse, willContinue: true, scheduling: 'SILENT' });
  }

  /** Sends a chunk of the tool. */
  async chunk(event: Event): Promise<void> {
    const { tool, call, flow } = this.#params;
    if (event.partial !== true || !(tool?.hasInputStream || tool?.isNonBlocking)) return;
    for (const response of getFunctionResponses(event)) {
      if (response.id !== (call.id ?? '')) continue;
      if (tool.hasInputStream) await this.underWay();
      if (this.#isStreamed) {
        this.#isOpen = true;
        flow.sendResponse({ ...response, willContinue: true });
      } else {
        const output = response.response?.['output'];
        if (tool.hasInputStream) this.#chunks.add(output);
        flow.send({ role: 'user', parts: [{ text: `Function ${response.name} returned: ${JSON.stringify(output)}` }] });
      }
    }
  }

  /** Emits the event with the result of the call. */
  async emit(event: Event): Promise<void> {
    this.#isStored = true;
    await this.#params.flow.emit(event);
  }

  /**
   * Stores that the call has no result, for readers of the run and of the history. The model gets no response.
   * @param ended the reason: the end of the agent's part interrupted the call, or the model took it back
   */
  async end(ended: typeof INTERRUPTED_CALL): Promise<void> {
    const { context, call } = this.#params;
    if (this.#isStored) return;
    const functionResponse = { id: call.id ?? '', name: call.name ?? '', response: { ...ended } };
    try {
      await this.emit(context.createEvent({ content: { role: 'user', parts: [{ functionResponse }] } }));
    } catch (error) {
      // Without a reader nothing is stored.
      if (!RunAbortedError.isInstance(error)) throw error;
    }
  }

  /** Sends the result of the call, or that it waits for a person. */
  result(event: Event): void {
    // With the person's answer the call runs again, and gets further responses.
    const isMore = this.#isStreamed && asksPerson(event.actions);
    for (const result of getFunctionResponses(event)) {
      const response =
        this.#isStreamed || !this.#began ? result.response : this.#chunks.newPartOf(result.response ?? {});
      if (!response) continue;
      this.#params.flow.sendResponse({
        ...result,
        response,
        ...(this.#isOpen || isMore ? { willContinue: isMore } : {}),
      });
    }
    this.#isOpen = false;
  }

  /** Declares to the model that no more responses follow, after the model stopped the call. */
  stopped(): void {
    const { call, flow } = this.#params;
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const end: FunctionResponse = { id: call.id ?? '', name: call.name ?? '', response: {} };
    flow.sendResponse({ ...end, willContinue: false, scheduling: 'SILENT' });
  }
}

type ResponseValue = NonNullable<FunctionResponse['response']>;

/** The chunks of a tool that were sent to the model. The tool's response repeats them as one value. */
class SentChunks {
  readonly #chunks: unknown[] = [];

  add(chunk: unknown): void {
    this.#chunks.push(chunk);
  }

  /**
   * Returns the part of a response that does not repeat the chunks: an error without its output, or a result that is
   * not among the chunks. Undefined if there is none.
   */
  newPartOf(response: ResponseValue): ResponseValue | undefined {
    if ('error' in response) {
      const { output, ...failure } = response;
      return this.#isSent(output) ? failure : response;
    }
    const [key, ...others] = Object.keys(response);
    const isResult = (key === 'result' || key === 'results') && others.length === 0;
    return isResult && this.#isSent(response[key]) ? undefined : response;
  }

  /**
   * True if a value is equal to the chunks as a streaming tool joins them: texts as one text, others as a list, null or
   * undefined without chunks.
   */
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
