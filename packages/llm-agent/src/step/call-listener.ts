import {
  type Event,
  type FunctionCall,
  type InvocationContext,
  type JsonValue,
  ObjectType,
  type ResponseScheduling,
  type ToolListener,
} from '@eventloom/core';
import type { EmittedEvents } from './emitted-events.ts';

/** Takes what the tool of one call passes on while it runs. */
export class CallListener implements ToolListener {
  readonly began: (() => Promise<void>) | undefined;
  readonly #context: InvocationContext;
  readonly #call: FunctionCall;
  readonly #emitted: EmittedEvents;

  /** @param began called when a tool begins to listen to the client of a live run */
  constructor(
    context: InvocationContext,
    call: FunctionCall,
    emitted: EmittedEvents,
    began: (() => Promise<void>) | undefined,
  ) {
    this.#context = context;
    this.#call = call;
    this.#emitted = emitted;
    this.began = began;
  }

  event(event: Event): Promise<boolean> {
    return this.#emitted.emit(event);
  }

  progress(output: JsonValue, scheduling: ResponseScheduling | undefined): Promise<boolean> {
    const { id = '', name = '' } = this.#call;
    const functionResponse = { id, name, response: { output }, ...(scheduling && { scheduling }) };
    return this.#emitted.emit(
      this.#context.createEvent({
        object: ObjectType.toolResponse,
        partial: true,
        content: { role: 'user', parts: [{ functionResponse }] },
      }),
    );
  }
}
