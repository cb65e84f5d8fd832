import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BaseSessionService, createEvent, type Event, systemPlatform } from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { summarize } from '../measure.ts';
import { InstantModel } from '../models.ts';
import type { Row } from '../report.ts';
import { APP, createRunner, turn } from '../setup.ts';

const SIZES = [10, 1000, 20_000] as const;
const KEY = { ...APP, sessionId: 's' } as const;

/** What an append, a warm turn and a windowed read cost in sessions of growing length, in memory and on SQLite. */
export async function growingSession(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-bench-'));
  const sqlite = new SqliteSessionService({ path: join(folder, 'sessions.db') });
  try {
    return [...(await measure('in memory', new InMemorySessionService())), ...(await measure('SQLite', sqlite))];
  } finally {
    sqlite.close();
    rmSync(folder, { recursive: true });
  }
}

async function measure(backEnd: string, sessions: BaseSessionService): Promise<Row[]> {
  const runner = createRunner(new InstantModel(), sessions);
  await sessions.createSession(KEY);
  const append = await appender(sessions);
  for (let index = 0; index < 200; index++) {
    await append();
    await turn(runner, KEY.sessionId);
  }
  await sessions.deleteSession(KEY);
  await sessions.createSession(KEY);

  const found: Record<string, number[]> = { append: [], 'warm turn': [], 'getSession with numRecentEvents 10': [] };
  for (const size of SIZES) {
    const fill = await appender(sessions);
    const held = await sessions.getSession({ ...KEY, config: { numRecentEvents: 0 } });
    for (let count = held?.lastSeq ?? 0; count < size; count++) await fill();
    await turn(runner, KEY.sessionId);
    found['append']?.push(await medianUs(fill));
    found['warm turn']?.push(await medianUs(() => turn(runner, KEY.sessionId)));
    found['getSession with numRecentEvents 10']?.push(
      await medianUs(() => sessions.getSession({ ...KEY, config: { numRecentEvents: 10 } })),
    );
  }
  return Object.entries(found).flatMap(([figure, times]) =>
    SIZES.map((size, index): Row => {
      const ours = times[index] ?? Number.NaN;
      const small = times[0] ?? Number.NaN;
      const row: Row = {
        workload: backEnd,
        figure: `${figure} at ${size.toLocaleString('en')} events`,
        unit: 'µs',
        ours,
      };
      return index === 0 ? row : { ...row, floor: small, target: '≤ 1.5× at 10', ok: ours / small <= 1.5 };
    }),
  );
}

/** Appends one small event under a lease of its own. */
async function appender(sessions: BaseSessionService): Promise<() => Promise<Event>> {
  const session = await sessions.getSession({ ...KEY, config: { numRecentEvents: 0 } });
  if (!session) throw new Error('the session is gone');
  return () => {
    session.events.length = 0;
    const event = createEvent({
      id: systemPlatform.newEventId(),
      invocationId: 'e-bench',
      author: 'agent',
      timestamp: systemPlatform.now() / 1000,
      content: { role: 'model', parts: [{ text: 'The answer is 42.' }] },
    });
    return sessions.appendEvent({ session, event });
  };
}

async function medianUs(run: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < 41; index++) {
    const start = performance.now();
    await run();
    times.push((performance.now() - start) * 1000);
  }
  return summarize(times).medianUs;
}
