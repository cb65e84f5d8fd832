import type { Event, InvocationContext, Transcription } from '@eventloom/core';

/** Speech of one side as text: a partial event for each piece, and one with all of it at the end. */
export class LiveSpeech {
  readonly #context: InvocationContext;
  readonly #field: 'inputTranscription' | 'outputTranscription';
  #text = '';

  constructor(context: InvocationContext, field: 'inputTranscription' | 'outputTranscription') {
    this.#context = context;
    this.#field = field;
  }

  /** The event of a piece; with the last one also the event of the whole. */
  *take({ text, finished }: Transcription): Generator<Event, void, void> {
    if (text) {
      this.#text += text;
      yield this.#event({ text, finished: false }, true);
    }
    if (finished === true) yield* this.flush();
  }

  /** The event of the whole, when anything was said since the last one. */
  *flush(isInterrupted = false): Generator<Event, void, void> {
    if (this.#text === '') return;
    const text = this.#text;
    this.#text = '';
    yield this.#event({ text, finished: true }, false, isInterrupted);
  }

  #event(transcription: Transcription, partial: boolean, isInterrupted = false): Event {
    return this.#context.createEvent({
      ...(this.#field === 'inputTranscription' ? { author: 'user' } : {}),
      ...(partial ? { partial } : {}),
      ...(isInterrupted ? { interrupted: true } : {}),
      [this.#field]: transcription,
    });
  }
}
