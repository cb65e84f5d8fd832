/**
 * The counted work. Turns: a text, 10 consecutive tool calls, 8 concurrent ones, and a reply of 20 chunks, each in a
 * fresh in-memory session; a text, and 8 concurrent tool calls, in a SQLite session. Also the creation of an agent with one
 * tool, and the memory of a run that waits for its model (only its bytes).
 */
export type CountedTurn = (typeof COUNTED_TURNS)[number];

const COUNTED_TURNS = [
  'text',
  'tenCalls',
  'parallelCalls',
  'chunks',
  'sqlite',
  'sqliteCalls',
  'agent',
  'waiting',
] as const;

/** The cost of one turn. */
export interface TurnCounts {
  /** Number of bytes that the turn allocates. */
  readonly bytes: number;
  /** Bytes of garbage that survive collections of the young generation, including recently sealed values. */
  readonly keptBytes: number;
  readonly promises: number;
  /** Calls of `Object.freeze`. */
  readonly freezes: number;
  /** Calls of `Date.now`. */
  readonly clockReads: number;
  /** Calls of the session service. */
  readonly storeCalls: number;
  /** SQL statements, except those that begin and end a transaction. */
  readonly statements: number;
  /** Transactions, including those of single statements. */
  readonly transactions: number;
}

/**
 * Maximum cost of each turn: its bytes are 2 % above those measured. A handwritten text turn, for comparison
 * (`src/floor.ts`): 5,800 bytes and 16 promises. One of the clock reads is for the id of the run.
 */
export const TURN_BUDGETS: Readonly<Record<CountedTurn, TurnCounts>> = {
  text: {
    bytes: 23_200,
    keptBytes: 1500,
    promises: 31,
    freezes: 10,
    clockReads: 8,
    storeCalls: 4,
    statements: 0,
    transactions: 0,
  },
  tenCalls: {
    bytes: 163_500,
    keptBytes: 3000,
    promises: 311,
    freezes: 150,
    clockReads: 58,
    storeCalls: 44,
    statements: 0,
    transactions: 0,
  },
  parallelCalls: {
    bytes: 64_300,
    keptBytes: 2000,
    promises: 59,
    freezes: 66,
    clockReads: 13,
    storeCalls: 22,
    statements: 0,
    transactions: 0,
  },
  chunks: {
    bytes: 77_500,
    keptBytes: 2000,
    promises: 277,
    freezes: 10,
    clockReads: 29,
    storeCalls: 4,
    statements: 0,
    transactions: 0,
  },
  // Begin: read the session with the records of the run, lock it, read its state and the last event that is cached (the file may have been
  // restored), insert the message. End: insert the answer, unlock the session, record the run.
  sqlite: {
    bytes: 24_900,
    keptBytes: 2000,
    promises: 27,
    freezes: 10,
    clockReads: 7,
    storeCalls: 2,
    statements: 8,
    transactions: 2,
  },
  // Between begin and end: the event with the calls, their starts, their ends, and the event with the responses.
  sqliteCalls: {
    bytes: 182_000,
    keptBytes: 3500,
    promises: 151,
    freezes: 66,
    clockReads: 12,
    storeCalls: 20,
    statements: 26,
    transactions: 6,
  },
  agent: {
    bytes: 3900,
    keptBytes: 200,
    promises: 2,
    freezes: 1,
    clockReads: 0,
    storeCalls: 0,
    statements: 0,
    transactions: 0,
  },
  waiting: {
    // With a ChunkShortcut: 64 bytes, of which RunControl had most before.
    bytes: 10_200,
    keptBytes: 0,
    promises: 0,
    freezes: 0,
    clockReads: 0,
    storeCalls: 0,
    statements: 0,
    transactions: 0,
  },
};

/** Returns one line for each count that is over its budget. */
export function overBudget(
  counts: Readonly<Record<CountedTurn, TurnCounts>>,
  budgets: Readonly<Record<CountedTurn, TurnCounts>>,
): string[] {
  return COUNTED_TURNS.flatMap((turn) =>
    TURN_FIGURES.flatMap((figure) => {
      const count = counts[turn][figure];
      const most = budgets[turn][figure];
      return count <= most ? [] : `${turn}: ${count} ${figure}, at most ${most}`;
    }),
  );
}

const TURN_FIGURES = [
  'bytes',
  'keptBytes',
  'promises',
  'freezes',
  'clockReads',
  'storeCalls',
  'statements',
  'transactions',
] as const;
