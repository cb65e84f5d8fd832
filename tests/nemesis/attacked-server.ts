import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { AttackOptions } from './attacked-process.ts';

/** An attacked server in its own process. */
export interface AttackedServer {
  readonly url: string;
  /** Failures that the server reported, as JSON. */
  readonly reports: readonly string[];
  /** Sends a signal. For a signal that ends the process, resolves when it has ended. */
  signal(signal: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT'): Promise<void>;
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
  readonly hasEnded: boolean;
  /** Takes away the room in the store, or returns it. */
  setRoom(hasRoom: boolean): void;
  /** Returns faults: output on standard error, and an exit that no test caused. */
  faults(): string[];
}

/**
 * Starts an attacked server. Resolves when it answers; with `dieAt`, also if it died before, in a run that it resumed
 * at its start.
 *
 * @throws Error if it ends before it answers
 */
export async function startAttackedServer(program: string, options: AttackOptions): Promise<AttackedServer> {
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(
    process.execPath,
    [program, JSON.stringify(options)],
    { stdio: ['pipe', 'pipe', 'pipe'] },
  );
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  child.stdin.on('error', () => undefined);
  const wanted = new Set<NodeJS.Signals | null>(options.dieAt > 0 ? ['SIGKILL'] : []);
  let hasEnded = false;
  let surprise: string | undefined;
  const ended = once(child, 'close').then(([code, signal]: (number | NodeJS.Signals | null)[]) => {
    hasEnded = true;
    const isWanted = wanted.has(signal as NodeJS.Signals | null) || (code === 0 && wanted.has('SIGTERM'));
    if (!isWanted) surprise = `a server ended by itself: code ${code}, signal ${signal}`;
  });
  const reports: string[] = [];
  const url = await new Promise<string>((resolve, reject) => {
    let hasUrl = false;
    createInterface(child.stdout).on('line', (line) => {
      if (hasUrl) reports.push(line);
      else resolve(line);
      hasUrl = true;
    });
    void ended.then(() => {
      if (surprise === undefined) resolve('');
      else reject(new Error(`the server did not start: ${surprise}\n${complaints}`));
    });
  });
  return {
    url,
    reports,
    ended,
    get hasEnded() {
      return hasEnded;
    },
    async signal(signal) {
      wanted.add(signal);
      child.kill(signal);
      if (signal === 'SIGKILL' || signal === 'SIGTERM') await ended;
    },
    setRoom: (hasRoom) => void child.stdin.write(hasRoom ? 'room\n' : 'full\n'),
    faults: () => [
      ...(surprise === undefined ? [] : [surprise]),
      ...(complaints === '' ? [] : [`a server wrote to standard error: ${complaints}`]),
    ],
  };
}
