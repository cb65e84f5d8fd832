import { type Blob, type Event, type InvocationContext, RunAbortedError, StorageError, toError } from '@eventloom/core';
import { createErrorEvent, reportTo } from '@eventloom/core/internal';
import type { CloseTimeout } from './close-timeout.ts';
import type { LiveFlow } from './live-flow.ts';
import { TurnRecording } from './live-recording.ts';

/** The code of the error event for audio that is lost because the artifact service failed. */
const AUDIO_NOT_SAVED = 'AUDIO_NOT_SAVED';

/** Maximum number of files that are saved at a time; a further one waits. */
const MAX_SAVING = 4;

interface LiveRecordingsParams {
  readonly context: InvocationContext;
  readonly flow: LiveFlow;
  readonly closeTimeout: CloseTimeout;
}

/**
 * Records the audio of both sides of a live run, in files that end with the turns. Files are saved in the background, one after the other:
 * only the end of a turn waits for them, so that a reader of that event has all files of the turn.
 */
export class LiveRecordings {
  readonly #params: LiveRecordingsParams;
  readonly #input: TurnRecording;
  readonly #output: TurnRecording;
  #saved: Promise<void> = Promise.resolve();
  #saving = 0;

  constructor(params: LiveRecordingsParams) {
    this.#params = params;
    this.#input = new TurnRecording(params.context, 'input');
    this.#output = new TurnRecording(params.context, 'output');
  }

  /**
   * Records a piece of the client's audio. Returns a promise to wait for when too many files are being saved.
   * @throws InvalidRequestError for data that is not base64
   */
  heard(blob: Blob): Promise<void> | undefined {
    return this.#emitFile(this.#input.add(blob), this.#input);
  }

  /** Records the model's audio, and saves it when the event ends it. Returns a promise when the event is to wait for the files. */
  said({ content, author, turnComplete, interrupted, outputTranscription }: Event): Promise<void> | undefined {
    let isFull: Promise<void> | undefined;
    if (author !== 'user') {
      for (const { inlineData } of content?.parts ?? [])
        if (inlineData) isFull = this.#emitFile(this.#heardFrom(inlineData), this.#output) ?? isFull;
    }
    const isEnd = turnComplete === true || (interrupted === true && !content && !outputTranscription);
    if (isEnd) isFull = this.completed() ?? isFull;
    return turnComplete === true ? this.end() : isFull;
  }

  /** Adds a piece of the model's audio. A piece that is not base64 rejects the promise and does not end the run. */
  #heardFrom(blob: Blob): Promise<Event> | undefined {
    try {
      return this.#output.add(blob);
    } catch (error) {
      return Promise.reject(toError(error));
    }
  }

  /** Saves the model's audio at the end of its reply. Returns a promise to wait for when too many files are being saved. */
  completed(): Promise<void> | undefined {
    return this.#emitFile(this.#output.flush(), this.#output);
  }

  /** Saves the rest of both sides, and waits for all files. */
  async end(): Promise<void> {
    void this.completed();
    void this.#emitFile(this.#input.flush(), this.#input);
    await this.#saved;
  }

  /** Emits the event of a file when it is saved, after the files before it. */
  #emitFile(file: Promise<Event> | undefined, recording: TurnRecording): Promise<void> | undefined {
    if (!file) return undefined;
    const { closeTimeout, flow } = this.#params;
    const saved = closeTimeout
      .until(file, 'the artifact service')
      .catch((error: unknown) => this.#notSaved(error, recording));
    const before = this.#saved;
    this.#saving++;
    this.#saved = before
      .then(async () => flow.emit(await saved))
      .catch((error: unknown) => flow.failUnlessLost(error))
      .then(() => void this.#saving--);
    // Awaited in its turn.
    saved.catch(() => undefined);
    return this.#saving > MAX_SAVING ? before : undefined;
  }

  /** Returns the error event for a file that could not be saved. The run continues. */
  #notSaved(error: unknown, recording: TurnRecording): Event {
    if (RunAbortedError.isInstance(error)) throw error;
    const side = recording === this.#input ? "the user's" : "the model's";
    // The text of a driver may name hosts and files, so the event has the message for clients.
    if (StorageError.isInstance(error)) reportTo(this.#params.context.platform, error);
    const reason = StorageError.isInstance(error) ? error.publicMessage : toError(error).message;
    const message = `saveLiveBlob: ${side} audio since the last file could not be saved: ${reason}`;
    return createErrorEvent(this.#params.context.createEvent(), AUDIO_NOT_SAVED, message);
  }
}

/** Records a run with `saveLiveBlob`. */
export function recordingsOf(params: LiveRecordingsParams): LiveRecordings | undefined {
  return params.context.runConfig.saveLiveBlob ? new LiveRecordings(params) : undefined;
}
