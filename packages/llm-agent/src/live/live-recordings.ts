import {
  type Blob,
  createErrorEvent,
  type Event,
  type InvocationContext,
  RunAbortedError,
  toError,
} from '@eventloom/core';
import { LiveRecording } from './live-recording.ts';

/** The code of the event that tells of audio that is lost because the store of artifacts failed. */
const AUDIO_NOT_SAVED = 'AUDIO_NOT_SAVED';

/** The audio of both sides of a live run, made files of as the turns go. */
export class LiveRecordings {
  readonly #input: LiveRecording;
  readonly #output: LiveRecording;
  readonly #context: InvocationContext;
  readonly #emit: (event: Event) => Promise<void>;

  constructor(context: InvocationContext, emit: (event: Event) => Promise<void>) {
    this.#input = new LiveRecording(context, 'input');
    this.#output = new LiveRecording(context, 'output');
    this.#context = context;
    this.#emit = emit;
  }

  /** Keeps what the client says. A promise when a file was due. @throws InvalidRequestError for what is no base64 */
  heard(blob: Blob): Promise<void> | undefined {
    const file = this.#input.add(blob);
    return file && this.#tell(file, this.#input);
  }

  /** Keeps the model's audio, and saves what is kept before the event that ends it. */
  async said({ content, author, turnComplete, interrupted, outputTranscription }: Event): Promise<void> {
    if (author !== 'user') {
      for (const { inlineData } of content?.parts ?? []) {
        const file = inlineData && this.#output.add(inlineData);
        if (file) await this.#tell(file, this.#output);
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
    return this.#tell(recording.flush(), recording);
  }

  /** A file is worth less than the call: when it cannot be saved, that is told, and the call goes on. */
  async #tell(file: Promise<Event | undefined>, recording: LiveRecording): Promise<void> {
    const event = await file.catch((error: unknown) => this.#notSaved(error, recording));
    if (event) await this.#emit(event);
  }

  #notSaved(error: unknown, recording: LiveRecording): Event {
    if (RunAbortedError.isInstance(error)) throw error;
    const side = recording === this.#input ? "the user's" : "the model's";
    const message = `saveLiveBlob: ${side} audio since the last file could not be saved: ${toError(error).message}`;
    return createErrorEvent(this.#context.createEvent(), AUDIO_NOT_SAVED, message);
  }
}
