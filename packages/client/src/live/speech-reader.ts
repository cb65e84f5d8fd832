/** A piece of speech. */
interface Speech {
  /** 16 bits, one channel. */
  readonly samples: Int16Array;
  /** Samples a second. */
  readonly sampleRate: number;
}

interface SpeechFormat {
  readonly sampleRate: number;
  readonly channels: number;
}

/** The rate of raw audio whose type names none: that of live models. */
const USUAL_RATE = 24_000;
const NO_BYTES = new Uint8Array();

/** Reads speech from pieces of audio, each with its media type. A piece may end in the middle of a sample. */
export class SpeechReader {
  #type = '';
  /** The format of a WAV file whose pieces come. */
  #wav: SpeechFormat | undefined;
  /** The beginning of a sample. */
  #rest: Uint8Array = NO_BYTES;

  /**
   * Returns the samples of a piece: of raw audio, or of a WAV file of 16 bits. Undefined for other audio, and if the
   * piece has no whole sample.
   */
  read(data: ArrayBuffer, mimeType: string): Speech | undefined {
    if (mimeType !== this.#type) this.clear();
    this.#type = mimeType;
    const header = /^audio\/(?:x-|vnd\.)?wave?\b/i.test(mimeType) ? wavHeader(data) : undefined;
    if (header) {
      this.#rest = NO_BYTES;
      this.#wav = header.format;
    }
    const format = /^audio\/(?:pcm|l16)\b/i.test(mimeType) ? rawFormat(mimeType) : this.#wav;
    if (!format) return undefined;
    const added = new Uint8Array(data, header?.start ?? 0, header?.length);
    const bytes = new Uint8Array(this.#rest.length + added.length);
    bytes.set(this.#rest);
    bytes.set(added, this.#rest.length);
    const { channels, sampleRate } = format;
    const count = Math.floor(bytes.length / 2 / channels);
    this.#rest = bytes.slice(count * 2 * channels);
    if (count === 0) return undefined;
    const all = new Int16Array(bytes.buffer, 0, count * channels);
    return { samples: channels === 1 ? all : all.filter((_, index) => index % channels === 0), sampleRate };
  }

  /** Forgets the beginning of a sample: what comes next belongs to other speech. */
  clear(): void {
    this.#rest = NO_BYTES;
    this.#wav = undefined;
  }
}

function rawFormat(mimeType: string): SpeechFormat {
  return { sampleRate: Number(/;\s*rate=(\d+)/i.exec(mimeType)?.[1]) || USUAL_RATE, channels: 1 };
}

/**
 * Returns the format of a WAV file (undefined if it is not one of 16 bits) and where its samples are; undefined for a
 * piece that continues one.
 */
function wavHeader(
  data: ArrayBuffer,
): { readonly format: SpeechFormat | undefined; readonly start: number; readonly length: number } | undefined {
  const view = new DataView(data);
  const tagAt = (at: number): string => String.fromCharCode(...new Uint8Array(data, at, 4));
  if (data.byteLength < 12 || tagAt(0) !== 'RIFF' || tagAt(8) !== 'WAVE') return undefined;
  let format: SpeechFormat | undefined;
  for (let at = 12; at + 8 <= data.byteLength;) {
    const start = at + 8;
    const size = view.getUint32(at + 4, true);
    // A file that is streamed has the largest size.
    const length = Math.min(size, data.byteLength - start);
    if (tagAt(at) === 'data') return { format, start, length };
    if (tagAt(at) === 'fmt ' && length >= 16 && view.getUint16(start + 14, true) === 16)
      format = {
        channels: Math.max(1, view.getUint16(start + 2, true)),
        sampleRate: view.getUint32(start + 4, true) || USUAL_RATE,
      };
    // Chunks have an even number of bytes.
    at = start + size + (size % 2);
  }
  return { format: undefined, start: 0, length: 0 };
}
