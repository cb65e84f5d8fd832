import { join } from 'node:path';
import { ChildPeer } from '../child-peer.ts';
import type { GeminiOrder, GeminiReport } from './gemini-order.ts';

/** A fake Gemini in a separate process, seen from the measuring process. */
export class GeminiPeer {
  readonly url: string;
  readonly #peer: ChildPeer<GeminiOrder, GeminiReport>;

  private constructor(peer: ChildPeer<GeminiOrder, GeminiReport>, url: string) {
    this.#peer = peer;
    this.url = url;
  }

  static async start(): Promise<GeminiPeer> {
    const peer = new ChildPeer<GeminiOrder, GeminiReport>(join(import.meta.dirname, 'gemini-process.ts'));
    const report = await peer.report();
    if (!('url' in report)) throw new Error('the fake Gemini did not report its address');
    return new GeminiPeer(peer, report.url);
  }

  /** Sends a command, and resolves when it is done. One command at a time. */
  async order(order: GeminiOrder): Promise<void> {
    this.#peer.send(order);
    await this.#peer.report();
  }

  close(): void {
    this.#peer.close();
  }
}
