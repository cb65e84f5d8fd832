import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { GeminiOrder, GeminiReport } from './gemini-order.ts';

/** A fake Gemini in a process of its own, as the process that measures sees it. */
export class GeminiPeer {
  readonly url: string;
  readonly #process: ChildProcess;

  private constructor(child: ChildProcess, url: string) {
    this.#process = child;
    this.url = url;
  }

  static async start(): Promise<GeminiPeer> {
    const child = fork(join(import.meta.dirname, 'gemini-process.ts'));
    const report = await nextReport(child);
    if (!('url' in report)) throw new Error('the fake Gemini did not say where it is');
    return new GeminiPeer(child, report.url);
  }

  /** Has something done. One order at a time. */
  async order(order: GeminiOrder): Promise<void> {
    const done = nextReport(this.#process);
    this.#process.send(order);
    await done;
  }

  close(): void {
    this.#process.disconnect();
  }
}

function nextReport(child: ChildProcess): Promise<GeminiReport> {
  return new Promise((resolve, reject) => {
    const onExit = (): void => reject(new Error('the fake Gemini ended'));
    child.once('exit', onExit);
    child.once('message', (report) => {
      child.off('exit', onExit);
      resolve(report as GeminiReport);
    });
  });
}
