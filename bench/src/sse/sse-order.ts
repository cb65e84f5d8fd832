import { readFileSync } from 'node:fs';

/** A command to a server in a separate process. */
export type SseOrder =
  /** The bare handler answers requests for this app with these events: each in its own write, or all in one. */
  | {
      readonly does: 'write';
      readonly appName: string;
      readonly events: readonly string[];
      readonly isBatched: boolean;
    }
  | { readonly does: 'report' };

/** A report of that server: its address once it listens, and after each command the time and memory it used so far. */
export type SseReport =
  | { readonly url: string }
  | {
      /** Processor time of all threads, in microseconds. */
      readonly cpuUs: number;
      /** Maximum resident memory of the process so far, in bytes. */
      readonly peakBytes: number;
    };

/** Returns the processor time and memory that this process used so far. */
export function reportOfThisProcess(): SseReport {
  const { user, system } = process.cpuUsage();
  return { cpuUs: user + system, peakBytes: peakOfThisProcess() };
}

/** Memory as Linux reports it. `maxRSS` is not used, because that of a process starts at the value of its parent. */
function peakOfThisProcess(): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? Number.NaN) * 1024;
}
