import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { build } from 'esbuild';
import { ChildPeer } from '../child-peer.ts';
import { MESSAGE } from '../setup.ts';
import type { SseOrder, SseReport } from './sse-order.ts';

const LINE_FEED = 10;
const USER = 'u';

/** The measured times of one request. */
export interface SseAnswer {
  /** Time from the request to the first bytes of an event. */
  readonly firstMs: number;
  readonly events: number;
  readonly bytes: number;
}

/** A server in a separate process, and the client of its streams, which reuses its connections. */
export class SsePeer {
  readonly #peer: ChildPeer<SseOrder, SseReport>;
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true });
  #sessions = 0;
  readonly #made: string[] = [];

  private constructor(peer: ChildPeer<SseOrder, SseReport>, url: string) {
    this.#peer = peer;
    this.#url = url;
  }

  /**
   * Starts a program of this folder as it would be deployed: bundled, because Node keeps a compiler in memory for
   * TypeScript sources.
   *
   * @param folder folder of the bundle
   * @param nodeOptions flags of its Node process
   */
  static async start(name: string, folder: string, nodeOptions: readonly string[] = []): Promise<SsePeer> {
    const outfile = join(folder, `${name}.mjs`);
    await build({
      entryPoints: [join(import.meta.dirname, `${name}.ts`)],
      outfile,
      bundle: true,
      platform: 'node',
      format: 'esm',
      // CommonJS dependencies require modules of Node.
      banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    });
    const peer = new ChildPeer<SseOrder, SseReport>(outfile, nodeOptions);
    const report = await peer.report();
    if (!('url' in report)) throw new Error('a server of the benchmark did not report its address');
    return new SsePeer(peer, report.url);
  }

  /** Runs a turn in a new session, and reads it to its end. */
  run(appName: string, onBytes?: (bytes: Buffer) => void): Promise<SseAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<SseAnswer>();
    const sessionId = `s${this.#sessions++}`;
    this.#made.push(`${appName}/users/${USER}/sessions/${sessionId}`);
    const body = JSON.stringify({ appName, userId: USER, sessionId, newMessage: MESSAGE, streaming: true });
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const beganMs = performance.now();
    const sent = request(`${this.#url}/run_sse`, { method: 'POST', agent: this.#agent, headers }, (response) => {
      const count = new EventCount();
      let firstMs = Number.NaN;
      let bytes = 0;
      response.on('data', (data: Buffer) => {
        if (bytes === 0) firstMs = performance.now() - beganMs;
        bytes += data.length;
        count.take(data);
        onBytes?.(data);
      });
      response.on('end', () => {
        if (response.statusCode === 200) resolve({ firstMs, events: count.events, bytes });
        else reject(new Error(`a server of the benchmark answered ${response.statusCode}`));
      });
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
    return promise;
  }

  /** Deletes the sessions that were created since the previous call. */
  async deleteSessions(): Promise<void> {
    for (const path of this.#made.splice(0)) {
      const response = await fetch(`${this.#url}/apps/${path}`, { method: 'DELETE' });
      await response.arrayBuffer();
    }
  }

  /** Sends a command, and resolves when it is done. One command at a time. */
  async order(order: SseOrder): Promise<{ readonly cpuUs: number; readonly peakBytes: number }> {
    this.#peer.send(order);
    const report = await this.#peer.report();
    if ('url' in report) throw new Error('a server of the benchmark did not report');
    return report;
  }

  close(): void {
    this.#agent.destroy();
    this.#peer.close();
  }
}

/** Counts the empty lines of a stream, each of which ends an event. */
class EventCount {
  events = 0;
  #endsLine = false;

  take(data: Buffer): void {
    if (this.#endsLine && data[0] === LINE_FEED) this.events++;
    for (let at = data.indexOf('\n\n'); at !== -1; at = data.indexOf('\n\n', at + 2)) this.events++;
    this.#endsLine = data.at(-1) === LINE_FEED;
  }
}
