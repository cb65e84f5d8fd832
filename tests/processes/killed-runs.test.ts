import { type Event, getFunctionResponses, InvalidRequestError } from '@eventloom/core';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createResumableRunner, KEY } from './fixtures/resumable-agent.ts';
import { startFixture } from './run-fixture.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eventloom-killed-runs-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs in a process that kills itself after a commit (0: never), then resumes the run in this one. */
async function runKilledAt(commit: number, idempotent: boolean) {
  const file = join(folder, `sessions-${commit}.db`);
  const ranFile = join(folder, `ran-${commit}`);
  const fixture = startFixture('dying-process', [file, ranFile, String(commit), String(idempotent)]);
  expect(await fixture.ended).toEqual({ faults: '', code: commit === 0 ? 0 : null });
  const service = new SqliteSessionService({ path: file });
  const read = async () => (await service.getSession(KEY))?.events ?? [];
  const [first] = await read();
  const { userId, sessionId } = KEY;
  let refused: unknown;
  if (first) {
    await createResumableRunner(service, ranFile, idempotent)
      // The lease of the process that is gone has not run out.
      .run({ userId, sessionId, invocationId: first.invocationId, runConfig: { onBusy: 'interrupt' } })
      .catch((error: unknown) => (refused = error));
  }
  const events = await read();
  const state = { ...(await service.getSession(KEY))?.state };
  service.close();
  const ran = existsSync(ranFile) ? readFileSync(ranFile, 'utf8').trimEnd().split('\n') : [];
  return { events, state, ran, refused, commits: Number(fixture.lines[0]) };
}

/** Without ids and times: the execution that an event belongs to by where it first appears. */
function told(events: readonly Event[]): unknown[] {
  const executions = [...new Set(events.map(({ executionId }) => executionId))];
  return events.map(({ author, branch, content, actions, object, executionId, parentExecutionId }) => {
    const place = [executions.indexOf(executionId), executions.indexOf(parentExecutionId)];
    return { author, branch, content, actions, object, place };
  });
}

test('kill -9 after each commit of a run with idempotent tools: resumed, it has the history of an undisturbed run', async () => {
  const whole = await runKilledAt(0, true);
  expect(InvalidRequestError.isInstance(whole.refused)).toBe(true);
  expect(whole.commits).toBeGreaterThan(30);
  expect(whole.ran).toEqual(['look l1', 'listen l2', 'work w1', 'work w2']);
  for (let commit = 1; commit <= whole.commits; commit++) {
    const { events, state, ran, refused } = await runKilledAt(commit, true);
    expect(InvalidRequestError.isInstance(refused), `killed at ${commit}: ${String(refused)}`).toBe(
      commit === whole.commits,
    );
    expect(told(events), `killed at ${commit}`).toEqual(told(whole.events));
    expect(state).toEqual(whole.state);
    // What was begun and not ended runs again, once; of the calls that run together one may have been at it.
    for (const each of whole.ran) expect(ran.filter((other) => other === each).length, each).toBeLessThanOrEqual(2);
    expect(ran.length - whole.ran.length, `killed at ${commit}`).toBeLessThanOrEqual(1);
  }
}, 120_000);

test('kill -9 after each commit of a run with tools that are not idempotent: none runs twice, what was cut off is reported', async () => {
  const { commits, ran: all } = await runKilledAt(0, false);
  let interrupted = 0;
  for (let commit = 1; commit <= commits; commit++) {
    const { events, ran } = await runKilledAt(commit, false);
    expect(ran.length, `killed at ${commit}`).toBe(new Set(ran).size);
    const responses = events.flatMap(getFunctionResponses);
    const cutOff = responses.filter(({ response }) => response?.['error'] === 'interrupted');
    interrupted += cutOff.length;
    // Each call has one answer: it ran to its end, or it is said that it did not.
    for (const each of all) {
      const [name = '', id] = each.split(' ');
      const answers = responses.filter((response) => response.id === id && response.name === name);
      expect(answers.length, `${each}, killed at ${commit}`).toBe(1);
      if (!cutOff.some((response) => response.id === id)) expect(ran).toContain(each);
    }
  }
  expect(interrupted).toBeGreaterThan(3);
}, 120_000);
