import { expect, test } from 'vitest';
import { contextOf } from '../context/fixtures/test-invocation.ts';
import { ToolContext } from '../context/tool-context.ts';
import type { ToolLedgerEntry } from '../session/tool-ledger.ts';
import { BaseTool } from './base-tool.ts';
import { INTERRUPTED_CALL } from './reserved-calls.ts';
import { type LedgerOutcome, runUnderLedger } from './run-under-ledger.ts';

class NamedTool extends BaseTool {
  override async runAsync(): Promise<unknown> {
    return undefined;
  }
}

const ID = { entryId: 'event/c', name: 'pay' };
const STARTED: ToolLedgerEntry = { invocationId: 'e-1', ...ID, status: 'started' };
const FINISHED: ToolLedgerEntry = {
  ...STARTED,
  status: 'finished',
  response: { paid: 1 },
  actions: { stateDelta: { paid: true } },
};

/** Runs a call with this entry. Returns its outcome, and what was recorded and run, in order. */
async function runCall(
  before: ToolLedgerEntry | undefined,
  { idempotent = false, outcome = { response: { paid: 2 } } as LedgerOutcome, isAsync = false } = {},
) {
  const log: unknown[] = [];
  const { invocation } = contextOf();
  const recordToolCall = (entry: ToolLedgerEntry): Promise<void> | undefined => {
    log.push(entry);
    return isAsync ? Promise.resolve() : undefined;
  };
  const context = contextOf().withInvocation({
    ...invocation,
    ledger: { recordToolCall, listToolCalls: () => [], checkLease: () => undefined },
  });
  const tool = new NamedTool({ name: 'pay', description: '', idempotent });
  const runTool = (): LedgerOutcome | Promise<LedgerOutcome> => {
    log.push('ran');
    return isAsync ? Promise.resolve(outcome) : outcome;
  };
  const toolContext = new ToolContext({ invocationContext: context, functionCallId: 'c' });
  const ran = runUnderLedger(context, ID, before, tool, { toolContext, runTool });
  expect(ran instanceof Promise).toBe(isAsync && log.length > 0);
  return { outcome: await ran, log };
}

const RAN = [STARTED, 'ran', { ...STARTED, status: 'finished', response: { paid: 2 } }];

test.each([false, true])('a call is recorded before and after the tool runs (async: %s)', async (isAsync) => {
  const { outcome, log } = await runCall(undefined, { isAsync });
  expect(outcome).toEqual({ response: { paid: 2 } });
  expect(log).toEqual(RAN);
});

test('a finished call does not run again, and its entry is its outcome', async () => {
  const { outcome, log } = await runCall(FINISHED, { idempotent: true });
  expect(outcome).toMatchObject({ response: { paid: 1 }, actions: { stateDelta: { paid: true }, artifactDelta: {} } });
  expect(log).toEqual([]);
});

test.each([false, true])(
  'a call that was interrupted finishes with a response that says so (async: %s)',
  async (isAsync) => {
    const { outcome, log } = await runCall(STARTED, { isAsync });
    expect(outcome).toEqual({ response: INTERRUPTED_CALL });
    expect(log).toEqual([{ ...STARTED, status: 'finished', response: INTERRUPTED_CALL }]);
  },
);

test('a call of an idempotent tool that was interrupted runs again', async () => {
  const { log } = await runCall(STARTED, { idempotent: true });
  expect(log).toEqual(RAN);
});

test('a call that waits stays started', async () => {
  const { log } = await runCall(undefined, { outcome: { isPaused: true } });
  expect(log).toEqual([STARTED, 'ran']);
});

test.each([
  ['has returned', () => ({})],
  ['has resolved', () => Promise.resolve({})],
  ['waits', () => Promise.resolve({ isPaused: true })],
  ['has thrown', () => Promise.reject(new TypeError('broken'))],
])('agents of a tool cannot wait any more once the tool %s', async (_title, runTool) => {
  const context = contextOf();
  const toolContext = new ToolContext({ invocationContext: context, functionCallId: 'c' });
  const tool = new NamedTool({ name: 'pay', description: '' });
  const heard: boolean[] = [];
  const call = {
    toolContext,
    runTool: () => {
      heard.push(toolContext.canContinue);
      return runTool();
    },
  };
  await Promise.allSettled([runUnderLedger(context, ID, undefined, tool, call)]);
  heard.push(toolContext.canContinue);
  expect(heard).toEqual([true, false]);
});

test('temporary state is not recorded', async () => {
  const actions = { stateDelta: { paid: true, 'temp:card': 1 }, artifactDelta: {} };
  const { log } = await runCall(undefined, { outcome: { response: {}, actions } });
  expect(log.at(-1)).toMatchObject({ actions: { stateDelta: { paid: true } } });
  expect(JSON.stringify(log)).not.toContain('temp:');
});
