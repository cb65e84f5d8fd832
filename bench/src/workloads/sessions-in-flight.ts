import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ratioRow, type Row } from '../report.ts';
import type { InFlight } from './sessions-in-flight-process.ts';

/** W6: 1,000 concurrent sessions. */
export async function sessionsInFlight(): Promise<Row[]> {
  const file = join(import.meta.dirname, 'sessions-in-flight-process.ts');
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-flush-bytecode', file]);
  const { ours, floor } = JSON.parse(stdout) as { readonly ours: InFlight; readonly floor: InFlight };
  const megabytes = (bytes: number): number => bytes / 1e6;
  return [
    ratioRow('W6', '1,000 sessions in flight, 50 ms model', 'ms', ours.wallMs, floor.wallMs, 1.4),
    ratioRow('W6', 'memory added while all wait', 'MB', megabytes(ours.addedBytes), megabytes(floor.addedBytes), 1.6),
  ];
}
