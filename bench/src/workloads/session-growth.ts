import { compare, type Contestant } from '../measure.ts';
import { limitedGrowth, type Row } from '../report.ts';
import type { BackEnd } from '../session-back-ends/back-end.ts';
import type { SessionTask } from '../session-back-ends/session-task.ts';

const SIZES = [10, 1000, 100_000] as const;
/** Number of events of the largest session, which is created once and shared by all figures. */
const LARGEST = 100_000;
const ROUNDS = 21;
const WARMUPS = 4;
/** The number of repetitions in a process before it is measured. */
const EARLIER_ROUNDS = 30;
/** Number of appends over which the bytes of one are averaged. */
const COUNTED_APPENDS = 1000;

/** An operation that must cost the same for every length of the session. */
interface Figure {
  readonly name: string;
  /** True for values that are compared with a bare insert. */
  readonly hasFloor: boolean;
  /** Number of sessions of a size: one per round if they grow, so that every round begins with the size. */
  readonly sessions: 'one' | 'one a round';
  /** Work before each round that is not measured. */
  readonly prepare: (sessionId: string, events: number) => readonly SessionTask[];
  readonly measure: (sessionId: string, batch: number) => SessionTask & { readonly count: number };
}

const FIGURES: readonly Figure[] = [
  {
    name: 'append under a lease',
    hasFloor: true,
    sessions: 'one a round',
    prepare: (sessionId, events) => [
      { does: 'open', sessionId, events, hasLease: true },
      { does: 'append', sessionIds: [sessionId], count: 1 },
    ],
    measure: (sessionId, count) => ({ does: 'append', sessionIds: [sessionId], count }),
  },
  {
    name: 'append without a lease',
    hasFloor: true,
    sessions: 'one a round',
    prepare: (sessionId, events) => [
      { does: 'open', sessionId, events, hasLease: false },
      { does: 'append', sessionIds: [sessionId], count: 1 },
    ],
    measure: (sessionId, count) => ({ does: 'append', sessionIds: [sessionId], count }),
  },
  {
    name: 'getSession with numRecentEvents 10',
    hasFloor: false,
    sessions: 'one',
    prepare: (sessionId, events) => [{ does: 'open', sessionId, events, hasLease: false }],
    measure: (sessionId, count) => ({ does: 'read', sessionId, count }),
  },
  {
    name: 'listEvents, 4 from the middle',
    hasFloor: false,
    sessions: 'one',
    prepare: (sessionId, events) => [
      { does: 'open', sessionId, events, hasLease: false },
      { does: 'page', sessionId, count: 1 },
    ],
    measure: (sessionId, count) => ({ does: 'page', sessionId, count }),
  },
  {
    name: 'warm turn',
    hasFloor: false,
    sessions: 'one a round',
    prepare: (sessionId, events) => [
      { does: 'open', sessionId, events, hasLease: false },
      { does: 'turn', sessionId, count: 1, start: 'warm' },
    ],
    measure: (sessionId, batch) => ({ does: 'turn', sessionId, count: batch / 5, start: 'warm' }),
  },
  {
    name: 'cold turn, window of 10',
    hasFloor: false,
    sessions: 'one a round',
    prepare: (sessionId, events) => [{ does: 'open', sessionId, events, hasLease: false }],
    measure: (sessionId, batch) => ({ does: 'turn', sessionId, count: batch / 5, start: 'cold with a window' }),
  },
  // The last figure, because the session has compactions from here on. Rounds of every size have equally many of them.
  {
    name: 'cold turn, since a compaction',
    hasFloor: false,
    sessions: 'one',
    prepare: (sessionId, events) => [
      { does: 'open', sessionId, events, hasLease: false },
      { does: 'compact', sessionId },
    ],
    measure: (sessionId, batch) => ({ does: 'turn', sessionId, count: batch / 5, start: 'cold with a compaction' }),
  },
];

/** Measures the cost of a session at 10, 1,000 and 100,000 events, and of an append compared with a bare insert. */
export async function sessionGrowth(open: () => Promise<BackEnd>): Promise<Row[]> {
  const backEnd = await open();
  try {
    const rows: Row[] = [];
    await warmUp(backEnd);
    for (const figure of FIGURES) rows.push(...(await measureFigure(backEnd, figure)));
    return [...rows, ...(await measureBytes(backEnd))];
  } finally {
    await backEnd.close();
  }
}

async function warmUp(backEnd: BackEnd): Promise<void> {
  for (let round = 0; round < EARLIER_ROUNDS; round++) {
    for (const figure of FIGURES) {
      const sessionId = `warm-up ${round}, ${figure.name}`;
      for (const task of figure.prepare(sessionId, 10)) await backEnd.perform(task);
      await backEnd.perform(figure.measure(sessionId, backEnd.batch));
    }
  }
}

async function measureFigure(backEnd: BackEnd, figure: Figure): Promise<Row[]> {
  const sized = SIZES.map((events): Contestant => {
    let round = 0;
    let sessionId = '';
    return {
      name: String(events),
      prepare: async () => {
        sessionId = sessionOf(figure, events, round++);
        for (const task of figure.prepare(sessionId, events)) await backEnd.perform(task);
      },
      round: async () => {
        const task = figure.measure(sessionId, backEnd.batch);
        await backEnd.perform(task);
        return task.count;
      },
    };
  });
  const { batch } = backEnd;
  const others = [contestant(backEnd, 'nothing', { does: 'nothing' }, 1)];
  if (figure.hasFloor) others.push(contestant(backEnd, 'insert', { does: 'insert', writers: 1, count: batch }, batch));
  const measured = await compare([...sized, ...others], ROUNDS, WARMUPS);
  const medianUs = (name: string): number => measured.get(name)?.medianUs ?? Number.NaN;
  const { count } = figure.measure('', batch);
  // The cost of passing a task to its process is not counted for its operations.
  const costs = SIZES.map((events) => medianUs(String(events)) - medianUs('nothing') / count);
  const rows = growthRows(backEnd, figure.name, 'µs', costs);
  if (!figure.hasFloor) return rows;
  return [...rows, floorRow(backEnd, figure.name, 'µs', costs, medianUs('insert') - medianUs('nothing') / batch)];
}

function contestant(backEnd: BackEnd, name: string, task: SessionTask, count: number): Contestant {
  return {
    name,
    round: async () => {
      await backEnd.perform(task);
      return count;
    },
  };
}

function sessionOf({ name, sessions }: Figure, events: number, round: number): string {
  if (events === LARGEST) return 'the largest';
  return sessions === 'one' ? `${name} at ${events}` : `${name} at ${events}, round ${round}`;
}

async function measureBytes(backEnd: BackEnd): Promise<Row[]> {
  const { bytesWritten } = backEnd;
  if (!bytesWritten) return [];
  const bytesOf = async (task: SessionTask): Promise<number> => {
    const before = await bytesWritten();
    await backEnd.perform(task);
    return (await bytesWritten()) - before;
  };
  const nothing = await bytesOf({ does: 'nothing' });
  const perAppend = (bytes: number): number => (bytes - nothing) / COUNTED_APPENDS;
  const costs: number[] = [];
  for (const events of SIZES) {
    const sessionId = events === LARGEST ? 'the largest' : `bytes at ${events}`;
    await backEnd.perform({ does: 'open', sessionId, events, hasLease: true });
    costs.push(perAppend(await bytesOf({ does: 'append', sessionIds: [sessionId], count: COUNTED_APPENDS })));
  }
  const insert = perAppend(await bytesOf({ does: 'insert', writers: 1, count: COUNTED_APPENDS }));
  const name = 'bytes written per append';
  return [...growthRows(backEnd, name, 'B', costs), floorRow(backEnd, name, 'B', costs, insert)];
}

function growthRows({ name }: BackEnd, figure: string, unit: string, costs: readonly number[]): Row[] {
  const [small = Number.NaN] = costs;
  return costs.map((cost, index) => {
    const sized = `${figure} at ${(SIZES[index] ?? 0).toLocaleString('en')} events`;
    return index === 0
      ? { workload: name, figure: sized, unit, ours: cost }
      : limitedGrowth(name, sized, unit, cost, small, 1.5);
  });
}

/** Returns the row that compares the largest session with bare inserts. */
function floorRow({ name }: BackEnd, figure: string, unit: string, costs: readonly number[], floor: number): Row {
  return { workload: name, figure: `${figure}, against a bare insert`, unit, ours: costs.at(-1) ?? Number.NaN, floor };
}
