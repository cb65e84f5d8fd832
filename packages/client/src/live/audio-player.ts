/** The rate of the speech of most live models. */
const USUAL_RATE = 24_000;

/**
 * Plays the speech of a call, piece after piece, in a browser. Create it in a handler of a click: browsers allow sound only after one.
 *
 * @example
 * const player = new AudioPlayer();
 * call.onAudio = (samples, sampleRate) => player.play(samples, sampleRate);
 * for await (const event of call) if (event.interrupted) player.clear();
 */
export class AudioPlayer {
  readonly #context = new AudioContext({ sampleRate: USUAL_RATE });
  readonly #meter = this.#context.createAnalyser();
  readonly #playing = new Set<AudioBufferSourceNode>();
  /** End of the last piece, in seconds of the context's clock. */
  #endsAt = 0;

  constructor() {
    this.#meter.fftSize = 512;
    this.#meter.connect(this.#context.destination);
  }

  /**
   * Plays samples after all earlier ones.
   * @param samples 16 bits, one channel
   * @param sampleRate samples a second, from 8,000 to 96,000. Default 24,000
   */
  play(samples: Int16Array, sampleRate: number = USUAL_RATE): void {
    if (samples.length === 0) return;
    // The browser converts a rate other than that of the context.
    const buffer = this.#context.createBuffer(1, samples.length, sampleRate);
    buffer.copyToChannel(
      Float32Array.from(samples, (sample) => sample / 32_768),
      0,
    );
    const source = new AudioBufferSourceNode(this.#context, { buffer });
    source.connect(this.#meter);
    this.#endsAt = Math.max(this.#endsAt, this.#context.currentTime);
    source.start(this.#endsAt);
    this.#endsAt += buffer.duration;
    this.#playing.add(source);
    source.addEventListener('ended', () => this.#playing.delete(source));
  }

  /** Discards audio that has not been played yet: call it when an event is `interrupted`. */
  clear(): void {
    for (const source of this.#playing) source.stop();
    this.#playing.clear();
    this.#endsAt = 0;
  }

  /** Returns the loudness of what is played, from 0 to 1. */
  level(): number {
    return levelOf(this.#meter);
  }

  /** Ends playing and releases the device. */
  async close(): Promise<void> {
    this.clear();
    await this.#context.close();
  }
}

/** Returns the loudness that an analyser measures, from 0 to 1. */
export function levelOf(meter: AnalyserNode): number {
  const wave = new Float32Array(meter.fftSize);
  meter.getFloatTimeDomainData(wave);
  return Math.min(1, Math.sqrt(wave.reduce((sum, value) => sum + value * value, 0) / wave.length) * 3);
}
