import { PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as pass } from 'node:timers/promises';
import { collectedHeap } from '../collected-heap.ts';
import { Callers } from './callers.ts';
import { GeminiPeer } from './gemini-peer.ts';

// Measures the bytes allocated for each piece of speech, in its own process, whose young generation is so large that
// nothing is collected during the count. Prints bytes per piece. Memory outside of the heap, such as the socket's
// buffers, is not counted.

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
  // Earlier collections have been reported.
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
