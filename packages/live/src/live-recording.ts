import {
  type Blob,
  ConfigurationError,
  decodeBase64,
  encodeBase64,
  type Event,
  type InvocationContext,
} from '@eventloom/core';
import { joinBytes, sessionKeyOf } from '@eventloom/core/internal';
import { isPcm, sampleRateOf, toWav } from './to-wav.ts';

/** Maximum length of the audio of one side that is kept in memory, in seconds: more becomes a file at once. */
const MAX_SECONDS = 120;
/** The same in bytes, for audio of unknown length and for the highest rates. */
const MAX_BYTES = 6 * 1024 * 1024;
const BYTES_PER_SAMPLE = 2;

/** The format of a file. */
interface Format {
  readonly mimeType: string;
  /** Sample rate in hertz; undefined for audio that is not raw samples. */
  readonly sampleRate: number | undefined;
}

/** Records the audio of one side of a live run. Each file is an artifact and an event that refers to it. */
export class TurnRecording {
  readonly #context: InvocationContext;
  readonly #side: 'input' | 'output';
  #pieces: Uint8Array[] = [];
  #format: Format | undefined;
  #bytes = 0;

  constructor(context: InvocationContext, side: 'input' | 'output') {
    this.#context = context;
    this.#side = side;
  }

  /**
   * Adds a piece; other media than audio is ignored. Returns a file if one is due: because of its size, or because the piece has another
   * type or rate and starts the next file.
   * @throws InvalidRequestError for data that is not base64
   */
  add({ data = '', mimeType = '' }: Blob): Promise<Event> | undefined {
    if (data === '' || !/^audio\//i.test(mimeType)) return undefined;
    const piece = decodeBase64(data);
    const format = this.#formatOf(mimeType);
    const isOther = this.#format !== undefined && !isSame(this.#format, format);
    const file = isOther ? this.flush() : undefined;
    this.#format ??= format;
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    return file ?? (this.#bytes >= maxBytes(format) ? this.flush() : undefined);
  }

  /** Saves the audio since the last file; undefined when there is none. @throws ConfigurationError without an artifact service */
  flush(): Promise<Event> | undefined {
    const format = this.#format;
    const pieces = this.#pieces;
    this.#format = undefined;
    this.#pieces = [];
    this.#bytes = 0;
    return format && this.#save(pieces, format);
  }

  async #save(pieces: readonly Uint8Array[], format: Format): Promise<Event> {
    const { artifactService, session, platform } = this.#context;
    if (!artifactService)
      throw new ConfigurationError(
        'runConfig.saveLiveBlob: saving audio needs an artifactService; write artifactService: new InMemoryArtifactService() in the options of the runner',
      );
    const { bytes, mimeType, extension } = toFile(pieces, format);
    const filename = `live_${this.#side}_audio_${platform.newUuid()}.${extension}`;
    const key = { ...sessionKeyOf(session), filename };
    const artifact = { inlineData: { data: encodeBase64(bytes), mimeType } };
    const version = await artifactService.saveArtifact({ ...key, artifact });
    const saved = await artifactService.getArtifactVersion({ ...key, version });
    const fileData = { fileUri: saved?.canonicalUri ?? filename, mimeType };
    const isInput = this.#side === 'input';
    return this.#context.createEvent({
      ...(isInput ? { author: 'user' } : {}),
      content: { role: isInput ? 'user' : 'model', parts: [{ fileData }] },
      actions: { artifactDelta: { [filename]: version } },
    });
  }

  #formatOf(mimeType: string): Format {
    // Without a rate, samples have the one that live models assume.
    const usual = this.#side === 'input' ? 16_000 : 24_000;
    return { mimeType, sampleRate: isPcm(mimeType) ? (sampleRateOf(mimeType) ?? usual) : undefined };
  }
}

function maxBytes({ sampleRate = Infinity }: Format): number {
  return Math.min(MAX_SECONDS * sampleRate * BYTES_PER_SAMPLE, MAX_BYTES);
}

/** Raw samples differ by their rate, however their type is written. */
function isSame(one: Format, other: Format): boolean {
  if (one.sampleRate !== other.sampleRate) return false;
  return one.sampleRate !== undefined || one.mimeType === other.mimeType;
}

function toFile(pieces: readonly Uint8Array[], { mimeType, sampleRate }: Format) {
  if (sampleRate !== undefined) return { bytes: toWav(pieces, sampleRate), mimeType: 'audio/wav', extension: 'wav' };
  return { bytes: joinBytes(pieces), mimeType, extension: /^audio\/([\w-]+)/i.exec(mimeType)?.[1] ?? 'audio' };
}
