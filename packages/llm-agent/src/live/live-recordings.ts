import type { Blob, Event, InvocationContext } from '@eventloom/core';
import { LiveRecording } from './live-recording.ts';

/** The audio of both sides of a live run, made files of as the turns go. */
export class LiveRecordings {
  readonly #input: LiveRecording;
  readonly #output: LiveRecording;
  readonly #emit: (event: Event) => Promise<void>;

  constructor(context: InvocationContext, emit: (event: Event) => Promise<void>) {
    this.#input = new LiveRecording(context, 'input');
    this.#output = new LiveRecording(context, 'output');
    this.#emit = emit;
  }

  /** Keeps what the client says. A promise when a file was due. @throws InvalidRequestError for what is no base64 */
  heard(blob: Blob): Promise<void> | undefined {
    const file = this.#input.add(blob);
    return file && this.#tell(file);
  }

  /** Keeps the model's audio, and saves what is kept before the event that ends it. */
  async said({ content, author, turnComplete, interrupted, outputTranscription }: Event): Promise<void> {
    if (author !== 'user') {
      for (const { inlineData } of content?.parts ?? []) {
        const file = inlineData && this.#output.add(inlineData);
        if (file) await this.#tell(file);
      }
    }
    const isEnd = turnComplete === true || (interrupted === true && !content && !outputTranscription);
    if (isEnd) await this.#save(this.#output);
    if (turnComplete === true) await this.#save(this.#input);
  }

  /** The model has said all of its reply. */
  async completed(): Promise<void> {
    await this.#save(this.#output);
  }

  /** Saves what is left of both sides. */
  async end(): Promise<void> {
    await this.#save(this.#output);
    await this.#save(this.#input);
  }

  #save(recording: LiveRecording): Promise<void> {
    return this.#tell(recording.flush());
  }

  async #tell(file: Promise<Event | undefined>): Promise<void> {
    const event = await file;
    if (event) await this.#emit(event);
  }
}
