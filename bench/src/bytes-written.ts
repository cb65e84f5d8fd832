import { readFileSync } from 'node:fs';

/** Returns the bytes that a process has passed to the system's write calls (Linux). */
export function bytesWrittenBy(process: 'self' | number): number {
  return Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${process}/io`, 'utf8'))?.[1] ?? Number.NaN);
}
