import { BARE, type ConnectedCall, type CallListener, openBareCall, openRunCall, OURS } from './calls.ts';
import type { GeminiPeer } from './gemini-peer.ts';
import { Latencies } from './latencies.ts';
import { PieceCounter } from './piece-counter.ts';

/** Callers of one kind in concurrent calls, on one fake Gemini. */
export class Callers {
  readonly #gemini: GeminiPeer;
  readonly #model: string;
  readonly #open: (url: string, listener: CallListener) => Promise<ConnectedCall>;
  readonly #counter = new PieceCounter();
  readonly #latencies: Latencies[] = [];
  readonly #calls: ConnectedCall[] = [];

  private constructor(
    gemini: GeminiPeer,
    model: string,
    open: (url: string, listener: CallListener) => Promise<ConnectedCall>,
  ) {
    this.#gemini = gemini;
    this.#model = model;
    this.#open = open;
  }

  /** Callers that use only the client of `@google/genai`. */
  static bare(gemini: GeminiPeer): Callers {
    return new Callers(gemini, BARE, openBareCall);
  }

  /** Callers that read live runs. */
  static ours(gemini: GeminiPeer): Callers {
    return new Callers(gemini, OURS, openRunCall);
  }

  /** Opens this many further calls. */
  async open(count: number): Promise<void> {
    for (let index = 0; index < count; index++) {
      const latencies = new Latencies();
      const onPiece = (): void => {
        latencies.onPiece();
        this.#counter.add();
      };
      this.#calls.push(await this.#open(this.#gemini.url, { onFrame: latencies.onFrame, onPiece }));
      latencies.begin();
      this.#latencies.push(latencies);
    }
  }

  /** Sends this number of pieces to each call. Resolves with their total number when the callers have received all of them. */
  async hear(pieces: number, everyMs?: number): Promise<number> {
    const total = pieces * this.#calls.length;
    const heard = this.#counter.more(total);
    await this.#gemini.order({ does: 'speak', model: this.#model, pieces, ...(everyMs !== undefined && { everyMs }) });
    await heard;
    return total;
  }

  /** Discards the latencies so far. */
  forget(): void {
    for (const latencies of this.#latencies) latencies.begin();
  }

  /** Latency of each piece from the socket to its caller, in microseconds. */
  get us(): number[] {
    return this.#latencies.flatMap(({ us }) => us);
  }

  async end(): Promise<void> {
    await Promise.all(this.#calls.map((call) => call.end()));
  }
}
