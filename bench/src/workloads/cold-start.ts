import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { summarize } from '../measure.ts';
import { limitRow, type Row } from '../report.ts';

/** W7: the bundle of an agent with its runner and in-memory sessions, and its cold start over bare node's. */
export async function coldStart(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-bench-'));
  try {
    const bundled = await build({
      entryPoints: [join(import.meta.dirname, 'cold-start-entry.ts')],
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'neutral',
      mainFields: ['module', 'main'],
      write: false,
    });
    const code = bundled.outputFiles[0]?.contents ?? new Uint8Array();
    const agentFile = join(folder, 'agent.mjs');
    const bareFile = join(folder, 'bare.mjs');
    writeFileSync(agentFile, code);
    writeFileSync(bareFile, '');
    const agentMs: number[] = [];
    const bareMs: number[] = [];
    for (let round = 0; round < 25; round++) {
      bareMs.push(startMs(bareFile));
      agentMs.push(startMs(agentFile));
    }
    const added = summarize(agentMs.slice(5)).medianUs - summarize(bareMs.slice(5)).medianUs;
    return [
      limitRow('W7', 'cold import of an agent over bare node', 'ms', added, 25),
      limitRow('W7', 'bundle, minified and gzipped', 'kB', gzipSync(code).length / 1000, 66),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function startMs(file: string): number {
  const start = performance.now();
  const { status } = spawnSync(process.execPath, [file]);
  if (status !== 0) throw new Error(`${file} ended with ${status}`);
  return performance.now() - start;
}
