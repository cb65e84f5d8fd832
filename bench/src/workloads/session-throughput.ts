import { compare } from '../measure.ts';
import type { Row } from '../report.ts';
import type { BackEnd } from '../session-back-ends/back-end.ts';

const SESSIONS_AT_ONCE = [1, 10, 100] as const;
const ROUNDS = 5;
const WARMUPS = 1;

/**
 * Measures appends per second to 1, 10 and 100 concurrent sessions, each under its lease, compared with equally many
 * writers of bare inserts.
 */
export async function sessionThroughput(open: () => Promise<BackEnd>): Promise<Row[]> {
  const backEnd = await open();
  try {
    const rows: Row[] = [];
    for (const writers of SESSIONS_AT_ONCE) rows.push(await measureWriters(backEnd, writers));
    return rows;
  } finally {
    await backEnd.close();
  }
}

async function measureWriters(backEnd: BackEnd, writers: number): Promise<Row> {
  const count = backEnd.burst / writers;
  let round = 0;
  let sessionIds: string[] = [];
  const measured = await compare(
    [
      {
        name: 'ours',
        prepare: async () => {
          round++;
          sessionIds = Array.from({ length: writers }, (_, index) => `${writers} at once, ${round}, ${index}`);
          await Promise.all(
            sessionIds.map((sessionId) => backEnd.perform({ does: 'open', sessionId, events: 10, hasLease: true })),
          );
        },
        round: async () => {
          await backEnd.perform({ does: 'append', sessionIds, count });
          return backEnd.burst;
        },
      },
      {
        name: 'floor',
        round: async () => {
          await backEnd.perform({ does: 'insert', writers, count });
          return backEnd.burst;
        },
      },
      {
        name: 'nothing',
        round: async () => {
          await backEnd.perform({ does: 'nothing' });
          return backEnd.burst;
        },
      },
    ],
    ROUNDS,
    WARMUPS,
  );
  const perSecond = (name: string): number => {
    const medianUs = (name: string): number => measured.get(name)?.medianUs ?? Number.NaN;
    return 1_000_000 / (medianUs(name) - medianUs('nothing'));
  };
  return {
    workload: backEnd.name,
    figure: `appends a second, ${writers} ${writers === 1 ? 'session' : 'sessions at once'}`,
    unit: '/s',
    ours: perSecond('ours'),
    floor: perSecond('floor'),
  };
}
