import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { summarize } from '../measure.ts';
import { limitRow, type Row } from '../report.ts';

/**
 * W7: the bundle of an agent with its runner and in-memory sessions, and its cold start compared with bare Node's; then
 * the same for `eventloom` with zod.
 */
export async function coldStart(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-bench-'));
  try {
    const code = await bundle('cold-start-entry.ts');
    const files = {
      bare: join(folder, 'bare.mjs'),
      scoped: join(folder, 'scoped.mjs'),
      eventloom: join(folder, 'eventloom.mjs'),
    };
    writeFileSync(files.bare, '');
    writeFileSync(files.scoped, code);
    writeFileSync(files.eventloom, await bundle('cold-start-eventloom-entry.ts'));
    const times: Record<keyof typeof files, number[]> = { bare: [], scoped: [], eventloom: [] };
    for (let round = -5; round < 20; round++) {
      for (const name of ['bare', 'scoped', 'eventloom'] as const) {
        const ms = startMs(files[name]);
        if (round >= 0) times[name].push(ms);
      }
    }
    const added = (name: 'scoped' | 'eventloom'): number =>
      summarize(times[name]).medianUs - summarize(times.bare).medianUs;
    return [
      limitRow('W7', 'cold import of an agent over bare node', 'ms', added('scoped'), 28),
      limitRow('W7', 'cold import of eventloom and zod over bare node', 'ms', added('eventloom'), 60),
      limitRow('W7', 'bundle, minified and gzipped', 'kB', gzipSync(code).length / 1000, 66),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function bundle(entry: string): Promise<Uint8Array> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, entry)],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    // The client of @google/genai for Node is loaded with the first request.
    external: ['node:*', 'ws'],
    write: false,
  });
  return outputFiles[0]?.contents ?? new Uint8Array();
}

function startMs(file: string): number {
  const start = performance.now();
  const { status } = spawnSync(process.execPath, [file]);
  if (status !== 0) throw new Error(`${file} ended with ${status}`);
  return performance.now() - start;
}
