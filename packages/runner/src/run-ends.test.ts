import {
  type AppendEventRequest,
  type Event,
  getFunctionResponses,
  type MaybePromise,
  ShuttingDownError,
  UnfinishedRunError,
} from '@eventloom/core';
import { ParallelAgent } from '@eventloom/multi-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { Gate } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { findLooseEnds } from './find-loose-ends.ts';
import { caller } from './fixtures/agent-tool-run.ts';
import { CustomAgent, textEvent } from './fixtures/custom-agent.ts';
import {
  call,
  IDS,
  KEY,
  responsesOf,
  runToError,
  scenario,
  type ScenarioOptions,
  scripted,
  textOf,
} from './fixtures/scenario.ts';
import { passTimeUntil } from './fixtures/storage-outage.ts';

/** Summarizes a stored event: its text, calls and responses, or its code or kind. */
function summaryOf({ content, errorCode, object }: Event): string {
  const [part] = content?.parts ?? [];
  if (part?.functionCall) return `${part.functionCall.name}()`;
  const { name, response } = part?.functionResponse ?? {};
  return (
    part?.text ?? (name ? `${name}: ${JSON.stringify(response?.['error'] ?? response)}` : (errorCode ?? object ?? ''))
  );
}

/** A run whose tool `slow` waits at a gate, after `quick` has finished. */
async function setUp(options: Partial<ScenarioOptions> = {}) {
  const gate = new Gate();
  const quick = new FunctionTool({ name: 'quick', description: '', execute: () => ({ done: 1 }) });
  const slow = new FunctionTool({
    name: 'slow',
    description: '',
    execute: async (_, { abortSignal }) => {
      await gate.pass(abortSignal);
      return { done: 2 };
    },
  });
  const model = [{ calls: [{ id: 'a', name: 'quick' }] }, { calls: [{ id: 'b', name: 'slow' }] }, 'Done.', 'Next.'];
  const played = await scenario({ model, agent: { tools: [quick, slow] }, ...options });
  const abort = new AbortController();
  const summaries = async () => (await played.stored()).map(summaryOf);
  const open = async () => (await played.runner.listOpenRuns()).runs;
  return { ...played, gate, abort, summaries, open };
}

const BEFORE = ['hi', 'quick()', 'quick: {"done":1}', 'slow()'];
const ENDED = [...BEFORE, 'slow: "interrupted"', 'RUN_ABORTED'];

describe('an outcome is stored', () => {
  test.each([true, false])('of an aborted run, resumable: %s', async (resumable) => {
    const { start, run, gate, abort, summaries, open } = await setUp({ resumable });
    const running = runToError(start('hi', { abortSignal: abort.signal }));
    await gate.reached;
    expect(await open()).toMatchObject([{ resumable, attempts: 1 }]);
    abort.abort();
    expect((await running).error).toMatchObject({ code: 'RUN_ABORTED' });
    const stored = (await summaries()).filter((summary) => summary !== '');
    expect(stored).toEqual(resumable ? [...ENDED, 'runner.end'] : ENDED);
    expect(await open()).toEqual([]);
    await run('more');
    expect((await summaries()).filter((summary) => summary === 'RUN_ABANDONED')).toEqual([]);
  });

  test('of a run that is not resumable when its process shuts down', async () => {
    const { start, gate, abort, summaries, open } = await setUp();
    const running = runToError(start('hi', { abortSignal: abort.signal }));
    await gate.reached;
    abort.abort(new ShuttingDownError('the server is shutting down'));
    await running;
    expect(await summaries()).toEqual(ENDED);
    expect(await open()).toEqual([]);
  });

  test('of a run whose reader stopped, unless its last event is final', async () => {
    const { start, summaries, open } = await setUp();
    for await (const event of start()) if (summaryOf(event) === 'quick()') break;
    expect(await summaries()).toEqual(['hi', 'quick()', 'quick: "interrupted"', 'RUN_ABORTED']);
    const other = await setUp({ model: ['Done.'] });
    for await (const event of other.start()) if (summaryOf(event) === 'Done.') break;
    expect(await other.summaries()).toEqual(['hi', 'Done.']);
    expect([...(await open()), ...(await other.open())]).toEqual([]);
  });

  test('of a run that fails during calls of other agents', async () => {
    const gate = new Gate();
    const slow = new FunctionTool({
      name: 'slow',
      description: '',
      execute: (_, { abortSignal }) => gate.pass(abortSignal),
    });
    const fail = new FunctionTool({
      name: 'fail',
      description: '',
      execute: async () => {
        await gate.reached;
        return {};
      },
    });
    const one = scripted('one', [{ calls: [{ id: 'b', name: 'slow' }] }], { tools: [slow] });
    const other = scripted('other', [{ calls: [{ id: 'c', name: 'fail' }] }, { error: new TypeError('broken') }], {
      tools: [fail],
    });
    const agent = new ParallelAgent({ name: 'both', subAgents: [one, other] });
    const { start, stored } = await scenario({ agent });
    const { error, events } = await runToError(start());
    expect(error).toMatchObject({ message: expect.stringContaining('broken') as string });
    const responses = (await stored()).flatMap((event) =>
      getFunctionResponses(event).map(({ id }) => [id, event.branch]),
    );
    expect(responses).toContainEqual(['b', 'both.one']);
    // The reader gets the stored events.
    expect(events.map(({ id }) => id)).toEqual((await stored()).slice(1).map(({ id }) => id));
  });
});

test('a call of an agent inside AgentTool has one response, even if it is stored during the abort', async () => {
  for (const stage of ['the call', 'the response']) {
    const gate = new Gate();
    class SlowService extends InMemorySessionService {
      override async appendEvent(request: AppendEventRequest): Promise<Event> {
        const { event } = request;
        const part = event.content?.parts?.[0];
        const isIt = event.author === 'helper' && (stage === 'the call' ? part?.functionCall : part?.functionResponse);
        if (isIt) await gate.pass();
        return super.appendEvent(request);
      }
    }
    const book = new FunctionTool({ name: 'book', description: '', execute: () => ({ booked: true }) });
    const helper = scripted('helper', [{ calls: [{ id: 'b', name: 'book' }] }, 'Booked.'], { tools: [book] });
    const { start, stored } = await scenario({ agent: caller(helper), sessionService: new SlowService() });
    const abort = new AbortController();
    const running = runToError(start('hi', { abortSignal: abort.signal }));
    await gate.reached;
    abort.abort();
    // The end of the run would be stored by now if it did not wait.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
    gate.open();
    await running;
    const parts = (await stored()).flatMap(({ content }) => content?.parts ?? []);
    const calls = parts.flatMap(({ functionCall }) => functionCall?.name ?? []);
    const responses = parts.flatMap(({ functionResponse }) => functionResponse?.name ?? []);
    expect(responses.toSorted()).toEqual(calls.toSorted());
    expect(calls).toEqual(['helper', 'book']);
  }
});

describe('a run whose outcome cannot be stored', () => {
  class FullStorage extends InMemorySessionService {
    isFull = false;

    override appendEvent(request: AppendEventRequest): MaybePromise<Event> {
      if (this.isFull) throw new RangeError('disk full');
      return super.appendEvent(request);
    }
  }

  async function left(resumable = false) {
    const sessionService = new FullStorage();
    const played = await setUp({ sessionService, resumable });
    const running = runToError(played.start('hi', { abortSignal: played.abort.signal }));
    await played.gate.reached;
    sessionService.isFull = true;
    played.abort.abort();
    expect((await running).error).toMatchObject({ code: 'RUN_ABORTED' });
    sessionService.isFull = false;
    played.gate.open();
    return played;
  }

  test('stays open and is closed before the next one starts', async () => {
    const { run, summaries, open } = await left();
    expect(await open()).toMatchObject([{ resumable: false, heldUntilMs: 0 }]);
    await run('more');
    expect(await summaries()).toEqual([...BEFORE, 'slow: "interrupted"', 'RUN_ABANDONED', 'more', 'Done.']);
    expect(await open()).toEqual([]);
  });

  test('is finished before the next one starts, if it is resumable', async () => {
    const { run, summaries, open } = await left(true);
    // The reader gets only the events of its own run.
    expect((await run('more')).map(summaryOf).filter(Boolean)).toEqual(['Next.']);
    const stored = (await summaries()).filter(Boolean);
    expect(stored).toEqual([...BEFORE, 'slow: "interrupted"', 'Done.', 'runner.end', 'more', 'Next.', 'runner.end']);
    expect(await open()).toEqual([]);
  });

  test('is closed with onOpenRun close, and refuses the next one with reject', async () => {
    const { start, run, summaries, open } = await left(true);
    const { error } = await runToError(start('more', { runConfig: { onOpenRun: 'reject' } }));
    const [left_] = await open();
    expect(UnfinishedRunError.isInstance(error) && error.run).toEqual(left_);
    expect((await summaries()).filter(Boolean)).toEqual(BEFORE);
    await run('more', { runConfig: { onOpenRun: 'close' } });
    expect((await summaries()).slice(BEFORE.length).filter(Boolean)).toEqual(
      expect.arrayContaining(['slow: "interrupted"', 'RUN_ABANDONED', 'runner.end', 'more', 'Done.']),
    );
  });

  test('is closed after three processes ended during it', async () => {
    const { run, summaries, open, sessionService } = await left(true);
    const [run_] = await open();
    const { invocationId = '' } = run_ ?? {};
    for (const _ of [2, 3]) {
      const { lease } = await sessionService.beginRun({ ...KEY, invocationId, continues: true });
      await sessionService.releaseLease(lease, { keepRunOpen: true });
    }
    await run('more');
    expect(await summaries()).toContain('RUN_ABANDONED');
  });

  test('stays open if the request that finishes it is aborted', async () => {
    const gate = new Gate();
    const played = await left(true);
    const { runner } = played.restart({
      model: [{ text: 'never', gate }],
      agent: { tools: [new FunctionTool({ name: 'slow', description: '', execute: () => ({}) })] },
      resumable: true,
    });
    const before = await runner.listOpenRuns();
    const abort = new AbortController();
    const message = { ...IDS, newMessage: { parts: [{ text: 'more' }] }, abortSignal: abort.signal };
    const running = runToError(runner.runAsync(message));
    await gate.reached;
    abort.abort();
    expect((await running).error).toMatchObject({ code: 'RUN_ABORTED' });
    expect(await runner.listOpenRuns()).toEqual(before);
  });
});

test('an open run is not changed by a resume, an answer or a close that names another run', async () => {
  const { start, gate, abort, open, runner, sessionService } = await setUp({ resumable: true });
  const running = runToError(start('hi', { abortSignal: abort.signal }));
  await gate.reached;
  abort.abort(new ShuttingDownError('the server is shutting down'));
  await running;
  const before = await open();
  const { invocationId = '' } = before[0] ?? {};
  const functionResponse = { id: 'unknown', name: 'f', response: {} };
  for (const params of [
    { invocationId: 'e-unknown' },
    { newMessage: { parts: [{ functionResponse }] }, runConfig: { onOpenRun: 'reject' as const } },
    { invocationId, newMessage: { parts: [{ functionResponse }] } },
  ])
    expect((await runToError(runner.runAsync({ ...IDS, ...params }))).error).toHaveProperty(
      'code',
      expect.stringMatching(/^(RUN_NOT_FOUND|RUN_OPEN|INVALID_MESSAGE)$/),
    );
  expect(await runner.closeRun({ ...IDS, invocationId: 'e-unknown', reason: 'no such run' })).toBeUndefined();
  expect(await open()).toEqual(before);
  expect(await sessionService.findRun({ ...KEY, id: 'e-unknown' })).toBeUndefined();
});

test.each([true, false])(
  'a run that an agent ends has a response to the call of an agent beside it (resumable: %j)',
  async (resumable) => {
    const book = new FunctionTool({ name: 'book', description: '', execute: () => new Gate().pass() });
    const stop = new FunctionTool({
      name: 'stop',
      description: '',
      execute: (_, { invocationContext }) => {
        invocationContext.endInvocation = true;
      },
    });
    const booker = scripted('booker', [{ calls: [call('book', {}, 'b1')] }], { tools: [book] });
    const stopper = scripted('stopper', [{ calls: [call('stop', {}, 's1')] }], { tools: [stop] });
    const agent = new ParallelAgent({ name: 'both', subAgents: [booker, stopper] });
    const { run, platform, stored, sessionService } = await scenario({ agent, resumable });
    await passTimeUntil(platform, run());
    expect(responsesOf(await stored())).toEqual([
      { result: null },
      { error: 'interrupted', message: expect.any(String) },
    ]);
    expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
  },
);

test('a run that an agent ends beside a question has its end, and a later message can answer', async () => {
  const wait = new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined });
  const asks = scripted('asks', [{ calls: [call('wait', {}, 'w1')] }, 'thanks'], { tools: [wait] });
  const ends = new CustomAgent('ends', async function* (context) {
    while (!(await stored()).some(({ longRunningToolIds }) => longRunningToolIds)) yield textEvent(context, 'not yet');
    context.endInvocation = true;
  });
  const agent = new ParallelAgent({ name: 'both', subAgents: [asks, ends] });
  const { run, restart, stored, sessionService } = await scenario({ agent, resumable: true });
  await run();
  expect((await stored()).at(-1)?.object).toBe('runner.end');
  expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
  const events = await restart({ agent: asks }).run({ functionResponse: { id: 'w1', response: { done: true } } });
  expect(events.map(textOf)).toContain('thanks');
});
