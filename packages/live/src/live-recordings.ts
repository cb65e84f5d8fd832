import {
  type Blob,
  createErrorEvent,
  type Event,
  type InvocationContext,
  RunAbortedError,
  toError,
} from '@eventloom/core';
import type { CloseTimeout } from './close-timeout.ts';
import { LiveRecording } from './live-recording.ts';

/** The code of the event that tells of audio that is lost because the store of artifacts failed. */
const AUDIO_NOT_SAVED = 'AUDIO_NOT_SAVED';

/** Files that may be on their way to the store; whoever has another one waits. */
const MAX_SAVING = 4;

/** What recordings are made with. */
export interface LiveRecordingsParams {
  readonly context: InvocationContext;
  /** Passes an event on; settles when it was committed. */
  readonly emit: (event: Event) => Promise<void>;
  readonly closeTimeout: CloseTimeout;
  /** Told of what is no failure of the store. */
  readonly fail: (error: unknown) => void;
}

/**
 * The audio of both sides of a live run, made files of as the turns go. They are saved beside the conversation, one after the other: only
 * the end of a turn waits for them, so that who reads to there has all of it.
 */
export class LiveRecordings {
  readonly #params: LiveRecordingsParams;
  readonly #input: LiveRecording;
  readonly #output: LiveRecording;
  #saved: Promise<void> = Promise.resolve();
  #saving = 0;

  constructor(params: LiveRecordingsParams) {
    this.#params = params;
    this.#input = new LiveRecording(params.context, 'input');
    this.#output = new LiveRecording(params.context, 'output');
  }

  /** Keeps what the client says. A promise when too much is on its way. @throws InvalidRequestError for what is no base64 */
  heard(blob: Blob): Promise<void> | undefined {
    return this.#tell(this.#input.add(blob), this.#input);
  }

  /** Keeps the model's audio, and saves what is kept where an event ends it. A promise when that is to be waited for. */
  said({ content, author, turnComplete, interrupted, outputTranscription }: Event): Promise<void> | undefined {
    let isFull: Promise<void> | undefined;
    if (author !== 'user') {
      for (const { inlineData } of content?.parts ?? [])
        if (inlineData) isFull = this.#tell(this.#heardFrom(inlineData), this.#output) ?? isFull;
    }
    const isEnd = turnComplete === true || (interrupted === true && !content && !outputTranscription);
    if (isEnd) isFull = this.completed() ?? isFull;
    return turnComplete === true ? this.end() : isFull;
  }

  /** What the model says that is no base64 is no reason to end the call. */
  #heardFrom(blob: Blob): Promise<Event> | undefined {
    try {
      return this.#output.add(blob);
    } catch (error) {
      return Promise.reject(toError(error));
    }
  }

  /** The model has said all of its reply. A promise when too much is on its way. */
  completed(): Promise<void> | undefined {
    return this.#tell(this.#output.flush(), this.#output);
  }

  /** Saves what is left of both sides, and waits for it. */
  async end(): Promise<void> {
    void this.completed();
    void this.#tell(this.#input.flush(), this.#input);
    await this.#saved;
  }

  /** Passes a file's event on when it is saved, after those before it. */
  #tell(file: Promise<Event> | undefined, recording: LiveRecording): Promise<void> | undefined {
    if (!file) return undefined;
    const { closeTimeout, emit, fail } = this.#params;
    const told = closeTimeout
      .until(file, 'the store of artifacts')
      .catch((error: unknown) => this.#notSaved(error, recording));
    const before = this.#saved;
    this.#saving++;
    this.#saved = before
      .then(async () => emit(await told))
      .catch(fail)
      .then(() => void this.#saving--);
    // It is waited for in its turn.
    told.catch(() => undefined);
    return this.#saving > MAX_SAVING ? before : undefined;
  }

  /** A file is worth less than the call: when it cannot be saved, that is told, and the call goes on. */
  #notSaved(error: unknown, recording: LiveRecording): Event {
    if (RunAbortedError.isInstance(error)) throw error;
    const side = recording === this.#input ? "the user's" : "the model's";
    const message = `saveLiveBlob: ${side} audio since the last file could not be saved: ${toError(error).message}`;
    return createErrorEvent(this.#params.context.createEvent(), AUDIO_NOT_SAVED, message);
  }
}

/** The recordings of a run that asks for them. */
export function recordingsOf(params: LiveRecordingsParams): LiveRecordings | undefined {
  return params.context.runConfig.saveLiveBlob ? new LiveRecordings(params) : undefined;
}
