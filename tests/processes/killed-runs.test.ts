import { type Event, getFunctionResponses, InvalidRequestError, ObjectType } from '@eventloom/core';
import { findLooseEnds } from '@eventloom/runner';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { bundleProgram } from '../runtimes/bundle-program.ts';
import { confirming, createAskingRunner } from './fixtures/asking-agent.ts';
import { createResumableRunner, KEY } from './fixtures/resumable-agent.ts';
import { fixturePath, inPairs, startFixture } from './run-fixture.ts';

/** Bundles, because the programs are started for each commit of a run. */
let programs: string;
let dyingProgram: string;
let askingProgram: string;
beforeAll(async () => {
  programs = mkdtempSync(join(tmpdir(), 'eventloom-killed-runs-'));
  dyingProgram = await bundleProgram(fixturePath('dying-process'), programs);
  askingProgram = await bundleProgram(fixturePath('asking-process'), programs);
});
afterAll(() => rmSync(programs, { recursive: true }));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eventloom-killed-runs-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs in a process that kills itself after a commit (0: never), then resumes the run in this one. */
async function runKilledAt(commit: number, idempotent: boolean) {
  const file = join(folder, `sessions-${commit}.db`);
  const ranFile = join(folder, `ran-${commit}`);
  const fixture = startFixture(dyingProgram, [file, ranFile, String(commit), String(idempotent)]);
  expect(await fixture.ended).toEqual({ faults: '', code: commit === 0 ? 0 : null });
  const service = new SqliteSessionService({ path: file });
  const read = async () => (await service.getSession(KEY))?.events ?? [];
  const [first] = await read();
  const { userId, sessionId } = KEY;
  let refused: unknown;
  if (first) {
    await createResumableRunner(service, ranFile, idempotent)
      // The lease of the dead process has not expired.
      .run({ userId, sessionId, invocationId: first.invocationId, runConfig: { onBusy: 'interrupt' } })
      .catch((error: unknown) => (refused = error));
  }
  const events = await read();
  const state = { ...(await service.getSession(KEY))?.state };
  service.close();
  const ran = existsSync(ranFile) ? readFileSync(ranFile, 'utf8').trimEnd().split('\n') : [];
  return { events, state, ran, refused, commits: Number(fixture.lines[0]) };
}

/** Replaces ids and timestamps: an execution is named by the position of its first event. */
function contentsOf(events: readonly Event[]): unknown[] {
  const executions = [...new Set(events.map(({ executionId }) => executionId))];
  return events.map(({ author, branch, content, actions, object, executionId, parentExecutionId }) => {
    const place = [executions.indexOf(executionId), executions.indexOf(parentExecutionId)];
    return { author, branch, content, actions, object, place };
  });
}

test('a run with idempotent tools that is killed after any commit and resumed has the history of an uninterrupted run', async () => {
  const whole = await runKilledAt(0, true);
  expect(InvalidRequestError.isInstance(whole.refused)).toBe(true);
  expect(whole.commits).toBeGreaterThan(30);
  expect(whole.ran).toEqual(['look l1', 'listen l2', 'work w1', 'work w2']);
  await inPairs(whole.commits, async (commit) => {
    const { events, state, ran, refused } = await runKilledAt(commit, true);
    expect(InvalidRequestError.isInstance(refused), `killed at ${commit}: ${String(refused)}`).toBe(
      commit === whole.commits,
    );
    expect(contentsOf(events), `killed at ${commit}`).toEqual(contentsOf(whole.events));
    expect(state).toEqual(whole.state);
    // Work that was begun and not ended runs again, once; of concurrent calls, one may have been in progress.
    for (const each of whole.ran) expect(ran.filter((other) => other === each).length, each).toBeLessThanOrEqual(2);
    expect(ran.length - whole.ran.length, `killed at ${commit}`).toBeLessThanOrEqual(1);
  });
});

test('a run runs no tool twice that is not idempotent after a kill at any commit, and reports the interrupted one', async () => {
  const { commits, ran: all } = await runKilledAt(0, false);
  let interrupted = 0;
  await inPairs(commits, async (commit) => {
    const { events, ran } = await runKilledAt(commit, false);
    expect(ran.length, `killed at ${commit}`).toBe(new Set(ran).size);
    const responses = events.flatMap(getFunctionResponses);
    const interruptedCalls = responses.filter(({ response }) => response?.['error'] === 'interrupted');
    interrupted += interruptedCalls.length;
    // Each call has one response: its result, or the report that it was interrupted.
    for (const each of all) {
      const [name = '', id] = each.split(' ');
      const answers = responses.filter((response) => response.id === id && response.name === name);
      expect(answers.length, `${each}, killed at ${commit}`).toBe(1);
      if (!interruptedCalls.some((response) => response.id === id)) expect(ran).toContain(each);
    }
  });
  expect(interrupted).toBeGreaterThan(3);
});

test('the next message is answered after a run that is not resumable was killed at any commit', async () => {
  const { userId, sessionId } = KEY;
  let interruptedCalls = 0;
  await inPairs(7, async (commit) => {
    const file = join(folder, `not-resumable-${commit}.db`);
    const ranFile = join(folder, `not-resumed-${commit}`);
    const fixture = startFixture(dyingProgram, [file, ranFile, String(commit), 'false', 'false']);
    expect(await fixture.ended).toEqual({ faults: '', code: null });
    const service = new SqliteSessionService({ path: file });
    if ((await findLooseEnds(service, KEY)).length > 0) interruptedCalls++;
    const newMessage = { parts: [{ text: 'next' }] };
    const events = await createResumableRunner(service, ranFile, false, false).run({
      userId,
      sessionId,
      newMessage,
      runConfig: { onBusy: 'interrupt' },
    });
    expect(events.length, `killed at ${commit}`).toBeGreaterThan(0);
    expect(await findLooseEnds(service, KEY), `killed at ${commit}`).toEqual([]);
    service.close();
  });
  expect(interruptedCalls).toBeGreaterThan(3);
});

/**
 * Runs the agent and confirms its request in a process that kills itself after a commit (0: never), then resumes the
 * run in this one, and confirms there.
 */
async function askKilledAt(commit: number) {
  const file = join(folder, `asking-${commit}.db`);
  const ranFile = join(folder, `asked-${commit}`);
  const fixture = startFixture(askingProgram, [file, ranFile, String(commit)]);
  expect(await fixture.ended).toEqual({ faults: '', code: commit === 0 ? 0 : null });
  const service = new SqliteSessionService({ path: file });
  const read = async () => (await service.getSession(KEY))?.events ?? [];
  const { userId, sessionId } = KEY;
  const runner = createAskingRunner(service, ranFile);
  const run = (params: object) => runner.run({ userId, sessionId, ...params, runConfig: { onBusy: 'interrupt' } });
  const invocationId = (await read())[0]?.invocationId;
  if (invocationId !== undefined && commit > 0) {
    await run({ invocationId }).catch((error: unknown) => {
      if (!InvalidRequestError.isInstance(error)) throw error;
    });
    const answer = confirming(await read());
    if (answer) await run(answer);
  }
  const events = await read();
  const state = { ...(await service.getSession(KEY))?.state };
  service.close();
  const ran = existsSync(ranFile) ? readFileSync(ranFile, 'utf8').trimEnd().split('\n') : [];
  return { events, state, ran, commits: Number(fixture.lines[0]) };
}

/**
 * Summarizes the events of each branch: parallel agents interleave in any order. Questions get another id in each run.
 */
function contentsByBranch(events: readonly Event[]): Record<string, string[]> {
  const byBranch: Record<string, string[]> = {};
  for (const { author, branch = '', content, actions, object } of events) {
    // The record of the order in which a run streamed its events, not their content.
    if (object === ObjectType.runnerStreamed) continue;
    const text = JSON.stringify({ author, content, actions, object }).replaceAll(/adk-[\da-f-]+/g, 'adk');
    (byBranch[branch] ??= []).push(text);
  }
  return byBranch;
}

test('a run with parallel agents, an AgentTool and a confirmation has the same result after a kill at any commit', async () => {
  const whole = await askKilledAt(0);
  expect(whole.commits).toBeGreaterThan(25);
  expect(whole.ran.toSorted()).toEqual(['dig', 'look', 'pay']);
  expect(new Set(whole.events.map(({ invocationId }) => invocationId)).size).toBe(1);
  await inPairs(whole.commits, async (commit) => {
    const { events, state, ran } = await askKilledAt(commit);
    const paid = events.flatMap(getFunctionResponses).findLast(({ name }) => name === 'pay')?.response;
    if (paid?.['error'] === undefined) {
      expect(contentsByBranch(events), `killed at ${commit}`).toEqual(contentsByBranch(whole.events));
      expect(state).toEqual(whole.state);
    } else {
      // A confirmed call is not repeated: it had begun, and is reported as interrupted.
      expect(paid, `killed at ${commit}`).toMatchObject({ error: 'interrupted' });
    }
    expect(ran.filter((each) => each === 'pay').length, `killed at ${commit}`).toBeLessThanOrEqual(1);
    expect(ran.length - whole.ran.length, `killed at ${commit}`).toBeLessThanOrEqual(2);
    expect(events.at(-1)?.object, `killed at ${commit}`).toBe('runner.end');
  });
});
