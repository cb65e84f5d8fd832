import { PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as pass } from 'node:timers/promises';
import { collectedHeap } from '../collected-heap.ts';
import { Callers } from './callers.ts';
import { GeminiPeer } from './gemini-peer.ts';

// What is allocated for each piece of speech, as a program of its own: its young generation is so large that nothing is collected
// while it counts. Prints bytes a piece. What is outside of the heap, the socket's own buffers, is not counted.

const PIECES = 1000;
const ROUNDS = 9;

const gemini = await GeminiPeer.start();
const callers = process.argv[2] === 'bare' ? Callers.bare(gemini) : Callers.ours(gemini);
await callers.open(1);
await callers.hear(2 * PIECES);
let collections = 0;
new PerformanceObserver((list) => (collections += list.getEntries().length)).observe({ entryTypes: ['gc'] });
const bytes: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  callers.forget();
  const before = await collectedHeap();
  // The collections so far are reported.
  await pass(10);
  collections = 0;
  await callers.hear(PIECES);
  const { heapUsed } = process.memoryUsage();
  await pass(10);
  if (collections === 0) bytes.push((heapUsed - before) / PIECES);
}
await callers.end();
gemini.close();
console.log(bytes.toSorted((a, b) => a - b)[Math.floor(bytes.length / 2)] ?? Number.NaN);
