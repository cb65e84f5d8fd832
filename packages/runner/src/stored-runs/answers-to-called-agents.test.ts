import { type BaseAgent, getFunctionCalls, InvalidMessageError } from '@eventloom/core';
import { Calls } from '@eventloom/core/internal';
import { AgentTool } from '@eventloom/multi-agent';
import { Gate } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { findLooseEnds } from '../find-loose-ends.ts';
import { look, planned, playing, wait } from '../fixtures/planned-agent.ts';
import { IDS, KEY, responsesOf, runToError, scenario } from '../fixtures/scenario.ts';
import { dying } from './fixtures/dying-service.ts';

const YES = { confirmed: true };
const DONE = { result: 42 };
const asker = (): BaseAgent => planned('asker', [[['wait', 'w1']]], [wait]);
const leadWithApproval = () =>
  planned('lead', [[['asker', 'c1']]], [new AgentTool({ agent: asker(), requireConfirmation: true })]);

test('an approval that is sent twice starts the called agent once, which then takes its own answer', async () => {
  const { say, answer, asked, responses, expectNoLooseEnds } = await playing(leadWithApproval);
  await say();
  const [id = ''] = await asked();
  await answer([id, YES]);
  await expect(answer([id, YES])).rejects.toThrow(InvalidMessageError);
  await answer(['w1', DONE]);
  expect((await responses()).at(-1)).toEqual(['c1', { result: 'asker done' }]);
  await expectNoLooseEnds();
});

test.each([true, false])(
  'an agent that is approved after its run has ended may ask, and continues with the answer (first run resumable: %j)',
  async (resumable) => {
    const { say, answer, asked, runner, responses, expectNoLooseEnds } = await playing(leadWithApproval);
    const invocationId = await say('hi', resumable);
    if (resumable) await runner().closeRun({ userId: 'u', sessionId: 's', invocationId, reason: 'given up' });
    await answer([(await asked())[0] ?? '', YES]);
    await answer(['w1', DONE]);
    expect((await responses()).at(-1)).toEqual(['c1', { result: 'asker done' }]);
    await expectNoLooseEnds();
  },
);

test('two calls of a run that has ended are approved one after the other, and each run has its end', async () => {
  const pay = new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: () => 'paid' });
  const { say, answer, asked, runner, responses, expectNoLooseEnds } = await playing(() =>
    planned(
      'lead',
      [
        [
          ['pay', 'c1'],
          ['pay', 'c2'],
        ],
      ],
      [pay],
    ),
  );
  const invocationId = await say();
  await runner().closeRun({ userId: 'u', sessionId: 's', invocationId, reason: 'given up' });
  for (const id of await asked()) {
    await answer([id, YES]);
    await expectNoLooseEnds();
  }
  expect((await responses()).slice(-2)).toEqual([
    ['c1', { result: 'paid' }],
    ['c2', { result: 'paid' }],
  ]);
});

test('an approved call of a run that has ended runs once, wherever the process of its new run is killed', async () => {
  for (let commit = 1, isLast = false; !isLast; commit++) {
    for (const isAfter of [false, true]) {
      let ran = 0;
      const pay = new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: () => ++ran });
      const agent = planned('lead', [[['pay', 'c1']]], [pay]);
      const { run, runner, restart, sessionService, platform } = await scenario({ agent, resumable: true });
      const events = await run();
      const { invocationId = '' } = events[0] ?? {};
      await runner.closeRun({ ...IDS, invocationId, reason: 'given up' });
      const id = events.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_confirmation')?.id ?? '';
      const request = [{ functionResponse: { id, response: YES } }, { requestId: 'r-1', ifKnown: 'resume' }] as const;
      const { service, commits } = dying(sessionService, commit, isAfter);
      await restart({ agent, sessionService: service })
        .run(...request)
        .catch(() => undefined);
      isLast = commits() < commit;
      platform.advance(60_000);
      await restart({ agent }).run(...request);
      const place = `killed ${isAfter ? 'after' : 'before'} commit ${commit}`;
      expect(ran, place).toBeLessThan(2);
      expect(await findLooseEnds(sessionService, KEY), place).toEqual([]);
    }
  }
});

test.each([true, false])(
  'an agent that another tool awaits can wait if that tool can run again (idempotent: %j)',
  async (idempotent) => {
    const { say, answer, responses, expectNoLooseEnds } = await playing(() => {
      const inner = new AgentTool({ agent: asker() });
      const wrap = new FunctionTool({
        name: 'wrap',
        description: '',
        idempotent,
        execute: async (_, toolContext) => ({
          wrapped: await inner.runAsync({ args: { request: 'x' }, toolContext }),
        }),
      });
      return planned(
        'lead',
        [
          [
            ['wrap', 'c1'],
            ['look', 'c2'],
          ],
        ],
        [wrap, look],
      );
    });
    await say();
    await expectNoLooseEnds();
    if (idempotent) {
      await answer(['w1', DONE]);
      expect((await responses()).at(-1)).toEqual(['c1', { wrapped: 'asker done' }]);
    } else await expect(answer(['w1', DONE])).rejects.toThrow('was cancelled');
    await expectNoLooseEnds();
  },
);

test.each([false, true])(
  'an agent that a tool started without waiting for it cannot wait (idempotent: %j)',
  async (idempotent) => {
    const { say, answer, looseEnds, expectNoLooseEnds } = await playing(() => {
      const inner = new AgentTool({ agent: asker() });
      const gate = new Gate();
      const launch = new FunctionTool({
        name: 'launch',
        description: '',
        idempotent,
        execute: (_, toolContext) => {
          void inner.runAsync({ args: { request: 'x' }, toolContext }).then(() => gate.open());
          return 'launched';
        },
      });
      const slow = new FunctionTool({ name: 'slow', description: '', execute: () => gate.pass() });
      return planned(
        'lead',
        [
          [
            ['launch', 'c1'],
            ['slow', 'c3'],
            ['wait', 'c2'],
          ],
        ],
        [launch, slow, wait],
      );
    });
    await say();
    expect(await looseEnds()).toEqual([]);
    await expect(answer(['w1', DONE])).rejects.toThrow('was cancelled');
    await answer(['c2', DONE]);
    await expectNoLooseEnds();
  },
);

test('a question that is asked once its tool has returned takes no answer while the run waits, wherever the process is killed', async () => {
  const pay = new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: () => 'paid' });
  const inner = new AgentTool({ agent: planned('asker', [[['pay', 'w1']]], [pay]) });
  const launch = new FunctionTool({
    name: 'launch',
    description: '',
    idempotent: true,
    execute: (_, toolContext) => {
      inner.runAsync({ args: { request: 'x' }, toolContext }).catch(() => undefined);
      return 'launched';
    },
  });
  const calls = [
    ['launch', 'c1'],
    ['pay', 'c2'],
  ] as const;
  const agent = planned('lead', [calls], [launch, pay]);
  for (let commit = 1, isLast = false; !isLast; commit++) {
    const { restart, sessionService, platform, stored } = await scenario({ agent, resumable: true });
    const { service, commits } = dying(sessionService, commit, true);
    const dead = restart({ agent, sessionService: service }).start();
    await Promise.allSettled([runToError(dead)]);
    isLast = commits() < commit;
    platform.advance(60_000);
    if (!isLast) await restart({ agent }).runner.run({ ...IDS, invocationId: dead.invocationId });
    const waiting = new Calls(await stored()).waiting.map(({ event }) => event.author);
    const place = `killed after commit ${commit}`;
    if (isLast) expect(waiting).toEqual(['lead']);
    expect(waiting, place).not.toContain('asker');
    expect(await findLooseEnds(sessionService, KEY), place).toEqual([]);
  }
});

test.each(['closeRun', 'cancelRun'] as const)(
  'an approved call has its result after %s, although its process was killed before it said that the call waits',
  async (method) => {
    const pay = new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: () => 'paid' });
    const agent = planned('lead', [[['pay', 'c1']]], [pay]);
    let hasAsked = false;
    for (let commit = 1; !hasAsked; commit++) {
      const { restart, sessionService, platform, stored } = await scenario({ agent, resumable: true });
      const stream = restart({ agent, sessionService: dying(sessionService, commit, true).service }).start();
      await runToError(stream);
      const id = new Calls(await stored()).waiting[0]?.id;
      hasAsked = id !== undefined;
      if (id === undefined) continue;
      platform.advance(60_000);
      const { invocationId } = stream;
      const dead = restart({ agent, sessionService: dying(sessionService, 1, true).service });
      await runToError(dead.start({ functionResponse: { id, response: YES } }, { invocationId }));
      platform.advance(60_000);
      const { runner } = restart({ agent });
      if (method === 'cancelRun') await runner.cancelRun({ ...IDS, invocationId });
      else await runner.closeRun({ ...IDS, invocationId, reason: 'given up' });
      expect(await findLooseEnds(sessionService, KEY)).toEqual([]);
      expect(responsesOf(await stored()).at(-1)).toMatchObject({ error: 'interrupted' });
    }
  },
);
