import { type ChildProcess, fork } from 'node:child_process';

/** A program in a separate process that receives commands and sends reports as messages. */
export class ChildPeer<Order extends object, Report> {
  readonly #process: ChildProcess;
  readonly #reports: Report[] = [];
  #isEnded = false;
  #wake: (() => void) | undefined;

  /** @param nodeOptions flags of its Node process, in addition to those of this process */
  constructor(file: string, nodeOptions: readonly string[] = []) {
    this.#process = fork(file, { execArgv: [...process.execArgv, ...nodeOptions] });
    this.#process.on('message', (report) => {
      this.#reports.push(report as Report);
      this.#wake?.();
    });
    this.#process.on('exit', () => {
      this.#isEnded = true;
      this.#wake?.();
    });
  }

  send(order: Order): void {
    this.#process.send(order);
  }

  /** Resolves with the oldest unread report. Only one reader at a time. */
  async report(): Promise<Report> {
    for (;;) {
      const report = this.#reports.shift();
      if (report !== undefined) return report;
      if (this.#isEnded) throw new Error('a process of the benchmark ended');
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  close(): void {
    if (!this.#isEnded) this.#process.disconnect();
  }
}
