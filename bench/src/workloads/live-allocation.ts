import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PIECE_BYTES } from '../live/gemini-order.ts';
import type { Row } from '../report.ts';

const NO_COLLECTION = ['--min-semi-space-size=128', '--max-semi-space-size=256'];

/** L3: the bytes allocated for a piece of speech between the socket and the caller, in bytes of the piece as base64. */
export async function liveAllocation(): Promise<Row[]> {
  const chars = (PIECE_BYTES * 4) / 3;
  const [bare, ours] = [await allocated('bare'), await allocated('ours')];
  const row = (figure: string, unit: string, ours: number, floor: number): Row => ({
    workload: 'L3',
    figure,
    unit,
    ours,
    floor,
  });
  return [
    row(`allocated for a piece of ${chars} bytes of base64`, 'bytes', ours, bare),
    row('copies of the piece that fit into it', '', Math.floor(ours / chars), Math.floor(bare / chars)),
  ];
}

async function allocated(kind: 'bare' | 'ours'): Promise<number> {
  const file = join(import.meta.dirname, '..', 'live', 'allocation-process.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [...NO_COLLECTION, file, kind]);
  return Number(stdout);
}
