import { type Event, getFunctionResponses, InvalidRequestError, ObjectType } from '@eventloom/core';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { bundleProgram } from '../runtimes/bundle-program.ts';
import { answering, createGraphRunner } from './fixtures/asking-graph.ts';
import { findLooseEnds } from '@eventloom/runner';
import { KEY } from './fixtures/resumable-agent.ts';
import { fixturePath, inPairs, startFixture } from './run-fixture.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eventloom-killed-graphs-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const linesOf = (file: string): string[] => (existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []);

/** Runs the graph in a process that kills itself after a commit (0: never), and continues in this one. */
async function runKilledAt(program: string, commit: number) {
  const file = join(folder, `sessions-${commit}.db`);
  const ranFile = join(folder, `ran-${commit}`);
  const fixture = startFixture(program, [file, ranFile, String(commit)]);
  expect(await fixture.ended).toEqual({ faults: '', code: commit === 0 ? 0 : null });
  const service = new SqliteSessionService({ path: file });
  const read = async () => (await service.getSession(KEY))?.events ?? [];
  const before = await read();
  const calls = before[0] ? await service.listToolCalls({ ...KEY, invocationId: before[0].invocationId }) : [];
  const ranBefore = linesOf(ranFile).length;
  const { userId, sessionId } = KEY;
  const runner = createGraphRunner(service, ranFile);
  // The lease of the dead process has not expired.
  const run = (params: object) => runner.run({ userId, sessionId, ...params, runConfig: { onBusy: 'interrupt' } });
  if (commit > 0 && before[0]) {
    await run({ invocationId: before[0].invocationId }).catch((error: unknown) => {
      if (!InvalidRequestError.isInstance(error)) throw error;
    });
    const asked = await read();
    const isAnswered = asked.some((event) =>
      getFunctionResponses(event).some(({ name }) => name === 'adk_request_input'),
    );
    const answers = isAnswered ? undefined : answering(asked);
    if (answers) await run(answers);
  }
  const events = await read();
  const looseEnds = await findLooseEnds(service, KEY);
  expect(looseEnds, `killed at ${commit}`).toEqual([]);
  service.close();
  const ran = linesOf(ranFile);
  return { events, before, calls, ran, again: ran.slice(ranBefore), commits: Number(fixture.lines[0]) };
}

/** Summarizes events without ids and times, sorted. */
function contentsOf(events: readonly Event[]): string[] {
  // Events that a run streamed before and after a kill differ from those of an uninterrupted run.
  const own = events.filter(({ object }) => object !== ObjectType.runnerStreamed);
  const lines = own.map(({ author, branch = '', content, actions }) =>
    JSON.stringify({ author, branch, content, actions }).replaceAll(/adk-[\da-f-]+/g, 'adk'),
  );
  return lines.toSorted();
}

/** Returns the functions that ran according to the log or the ledger, in the form in which they report themselves. */
function doneBy({
  before,
  calls,
}: {
  before: readonly Event[];
  calls: Awaited<ReturnType<SqliteSessionService['listToolCalls']>>;
}): string[] {
  const runs = [
    ...before.flatMap(({ author, actions: { agentState } }) =>
      typeof agentState?.['run'] === 'string' ? [[author, agentState['run']]] : [],
    ),
    ...calls.flatMap(({ name, entryId, status }) =>
      status === 'finished' ? [[name, entryId.split('/')[1] ?? '']] : [],
    ),
  ];
  return runs.flatMap(([name = '', run = '']) => {
    if (name === 'note' || name === 'agree' || name === 'pay') return [name];
    if (name === 'leaf') return [`leaf ${Number(run.split('leaf-')[1]) + 1}`];
    return name === 'round' ? [`round ${Number(run.split('-')[0]) - 1}`] : [];
  });
}

test('another process completes a graph that was killed after any commit, with the same result and no repeated node', async () => {
  const program = await bundleProgram(fixturePath('graph-process'), folder);
  const whole = await runKilledAt(program, 0);
  expect(whole.commits).toBeGreaterThan(30);
  expect(whole.ran.toSorted()).toEqual(['agree', 'leaf 1', 'leaf 2', 'note', 'pay', 'round 0', 'round 1']);
  await inPairs(whole.commits, async (commit) => {
    const killed = await runKilledAt(program, commit);
    const done = doneBy(killed);
    expect(
      killed.again.filter((each) => done.includes(each)),
      `killed at ${commit}`,
    ).toEqual([]);
    // A tool that is not idempotent never runs twice.
    expect(killed.ran.filter((each) => each === 'pay').length, `killed at ${commit}`).toBeLessThanOrEqual(1);
    if (killed.ran.includes('pay'))
      expect(contentsOf(killed.events), `killed at ${commit}`).toEqual(contentsOf(whole.events));
    else expect(JSON.stringify(killed.events.at(-3)?.actions), `killed at ${commit}`).toContain('interrupted');
  });
}, 600_000);
