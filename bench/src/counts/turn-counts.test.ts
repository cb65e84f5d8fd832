import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { type CountedTurn, overBudget, TURN_BUDGETS, type TurnCounts } from './turn-counts.ts';

/**
 * V8 optimizes on the main thread: from a thread of its own, optimized code comes sooner or later with the load of the
 * machine, and parallel calls allocate between 61,000 and 72,000 bytes.
 */
const NODE_OPTIONS = [
  '--expose-gc',
  '--min-semi-space-size=256',
  '--max-semi-space-size=256',
  '--no-concurrent-recompilation',
];

/** Counts in a separate process: other work would be counted too. */
async function countTurns(): Promise<Record<CountedTurn, TurnCounts>> {
  const program = fileURLToPath(new URL('count-turns.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [...NODE_OPTIONS, program]);
  return JSON.parse(stdout) as Record<CountedTurn, TurnCounts>;
}

test('no turn, agent or waiting run costs more promises, memory, freezes, clock reads, store calls and statements than its budget', async () => {
  const counts = await countTurns();
  expect(overBudget(counts, TURN_BUDGETS)).toEqual([]);
  // Proves that the figures are counted: each exceeds a budget that is below it.
  const { text, chunks, sqlite, agent, waiting } = counts;
  const below = {
    ...counts,
    text: lessThan(text),
    chunks: { ...chunks, promises: chunks.promises - 1 },
    sqlite: lessThan(sqlite),
    agent: { ...agent, bytes: agent.bytes - 1 },
    waiting: { ...waiting, bytes: waiting.bytes - 1 },
  };
  expect(overBudget(counts, below).map((line) => line.split(',')[0])).toEqual([
    `text: ${text.bytes} bytes`,
    `text: ${text.keptBytes} keptBytes`,
    `text: ${text.promises} promises`,
    `text: ${text.freezes} freezes`,
    `text: ${text.clockReads} clockReads`,
    `text: ${text.storeCalls} storeCalls`,
    `chunks: ${chunks.promises} promises`,
    `sqlite: ${sqlite.bytes} bytes`,
    `sqlite: ${sqlite.keptBytes} keptBytes`,
    `sqlite: ${sqlite.promises} promises`,
    `sqlite: ${sqlite.freezes} freezes`,
    `sqlite: ${sqlite.clockReads} clockReads`,
    `sqlite: ${sqlite.storeCalls} storeCalls`,
    `sqlite: ${sqlite.statements} statements`,
    `sqlite: ${sqlite.transactions} transactions`,
    `agent: ${agent.bytes} bytes`,
    `waiting: ${waiting.bytes} bytes`,
  ]);
});

/** Returns a budget that is one below each figure that is not 0. */
function lessThan(counts: TurnCounts): TurnCounts {
  const { bytes, keptBytes, promises, freezes, clockReads, storeCalls, statements, transactions } = counts;
  return {
    bytes: bytes - 1,
    keptBytes: keptBytes - 1,
    promises: promises - 1,
    freezes: freezes - 1,
    clockReads: clockReads - 1,
    storeCalls: storeCalls - 1,
    statements: Math.max(0, statements - 1),
    transactions: Math.max(0, transactions - 1),
  };
}
