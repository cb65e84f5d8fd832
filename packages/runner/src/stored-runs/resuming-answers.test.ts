import { BasePlugin, getFunctionCalls, InvalidMessageError } from '@eventloom/core';
import { SequentialAgent } from '@eventloom/multi-agent';
import type { ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { Runner } from '../runner.ts';
import { agentOf, answer, KEY, setUp, textsOf, WAIT } from './fixtures/paused-run.ts';

describe('an answer resumes the run that requested it', () => {
  const flow = (first: ScriptedStep[], second: ScriptedStep[], config: object = {}) =>
    new SequentialAgent({ name: 'flow', subAgents: [agentOf('asks', first, config), agentOf('follows', second)] });

  test('under its id until its end, for the result of a long-running call', async () => {
    const { run, begin, stored } = await setUp();
    const { invocationId } = await begin(flow([WAIT], []));
    const rest = await run(flow(['ready'], ['followed']), answer('c1'));
    expect(textsOf(rest)).toEqual(['asks: ready', 'follows: followed']);
    expect(new Set((await stored()).map((event) => event.invocationId))).toEqual(new Set([invocationId]));
    // Nothing of the run is left open: the same answer starts a new run of the agent that asked.
    expect(textsOf(await run(flow(['more'], []), answer('c1')))).toEqual(['asks: more']);
  });

  test('until its end, once the call is confirmed', async () => {
    const { run, begin } = await setUp();
    const pay = new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: () => 'paid' });
    const tools = { tools: [pay] };
    const { events, invocationId } = await begin(flow([{ calls: [{ id: 'p1', name: 'pay' }] }], [], tools));
    const { id = '' } = events.flatMap(getFunctionCalls).at(-1) ?? {};
    const newMessage = { parts: [{ functionResponse: { id, response: { confirmed: true } } }] };
    const rest = await run(flow(['paid'], ['followed'], tools), { newMessage });
    expect(textsOf(rest)).toEqual(['asks: paid', 'follows: followed']);
    expect(new Set(rest.map((event) => event.invocationId))).toEqual(new Set([invocationId]));
    await expect(run(flow([], []), { newMessage })).rejects.toThrow(InvalidMessageError);
  });

  test("and the stream has the run's id with its first event", async () => {
    const { runnerOf, begin } = await setUp();
    const { invocationId } = await begin(flow([WAIT], []));
    const runner = runnerOf(flow(['ready'], ['followed']));
    const params = { userId: 'u', sessionId: 's', ...answer('c1') };
    const stream = runner.runAsync(params);
    await stream.next();
    expect(stream.invocationId).toBe(invocationId);
    await stream.return();
  });

  test("even if another message or another run's request came between", async () => {
    const { run, begin } = await setUp();
    const first = await begin(flow([WAIT], []));
    const { invocationId } = await begin(flow([{ calls: [{ id: 'c2', name: 'wait' }] }], []));
    expect(invocationId).not.toBe(first.invocationId);
    const rest = await run(flow(['one'], ['followed one']), answer('c1'));
    expect(rest[0]?.invocationId).toBe(first.invocationId);
    expect(textsOf(rest)).toEqual(['asks: one', 'follows: followed one']);
    expect(textsOf(await run(flow(['two'], ['followed two']), answer('c2')))).toEqual([
      'asks: two',
      'follows: followed two',
    ]);
  });

  test('if two runs have the same call id, the run whose stored id the answer names', async () => {
    const { run, begin } = await setUp();
    const older = await begin(flow([WAIT], []));
    const newer = await begin(flow([WAIT], []));
    const first = await run(flow(['a'], ['b']), { invocationId: older.invocationId, ...answer('c1') });
    expect(first.map((event) => event.invocationId)).toContain(older.invocationId);
    expect(textsOf(first)).toEqual(['asks: a', 'follows: b']);
    expect(textsOf(await run(flow(['c'], ['d']), answer('adk-c1-2')))).toEqual(['asks: c', 'follows: d']);
    await expect(run(flow([], []), { invocationId: newer.invocationId })).rejects.toThrow(/has ended/);
  });

  test('and a run named by the request accepts answers to its own calls only', async () => {
    const { run, begin, stored } = await setUp();
    const { invocationId } = await begin(flow([WAIT], []));
    await begin(flow([{ calls: [{ id: 'c2', name: 'wait' }] }], []));
    const before = await stored();
    await expect(run(flow([], []), { invocationId, ...answer('c2') })).rejects.toThrow(InvalidMessageError);
    expect(await stored()).toEqual(before);
  });

  test('once per message: a message with answers to several runs is refused', async () => {
    const { run, begin, stored } = await setUp();
    await begin(flow([WAIT], []));
    await begin(flow([{ calls: [{ id: 'c2', name: 'wait' }] }], []));
    const before = await stored();
    await expect(run(flow([], []), answer('c1', 'c2'))).rejects.toThrow(/send one message per run/);
    expect(await stored()).toEqual(before);
  });

  test('unless that run was closed: then the agent gets the answer in a new run', async () => {
    const { run, begin, runnerOf } = await setUp();
    const { events, invocationId } = await begin(flow([WAIT], []));
    await runnerOf(flow([], [])).closeRun({ userId: 'u', sessionId: 's', invocationId, reason: 'enough' });
    const rest = await run(flow(['late'], []), answer('c1'));
    expect(textsOf(rest)).toEqual(['asks: late']);
    expect(rest[0]?.invocationId).not.toBe(events[0]?.invocationId);
  });

  test('but not if a plugin replaces the answer by another message, or another message by the answer', async () => {
    const { begin, stored, sessionService } = await setUp();
    await begin(flow([WAIT], []));
    const before = await stored();
    const text = { newMessage: { parts: [{ text: 'hm' }] } };
    for (const [given, made] of [[text, answer('c1')] as const, [answer('c1'), text] as const]) {
      class Changing extends BasePlugin {
        override onUserMessageCallback() {
          return made.newMessage;
        }
      }
      const plugins = [new Changing('changing')];
      const runner = new Runner({ appName: 'app', agent: flow([], []), sessionService, resumable: true, plugins });
      const run = runner.run({ userId: 'u', sessionId: 's', ...given });
      await expect(run).rejects.toThrow(/onUserMessageCallback returned/);
    }
    expect(await stored()).toEqual(before);
  });

  test('which is looked up again once the session is locked, because the run may have ended', async () => {
    const { begin, run, sessionService } = await setUp();
    await begin(flow([WAIT], []));
    const lease = await sessionService.acquireLease(KEY);
    const bothAsked = Promise.withResolvers<void>();
    let asked = 0;
    const beginRun = sessionService.beginRun.bind(sessionService);
    sessionService.beginRun = (request) => {
      if (++asked === 2) bothAsked.resolve();
      return beginRun(request);
    };
    const first = run(flow(['first'], ['followed']), answer('c1'));
    const second = run(flow(['second'], []), answer('c1'));
    // Both requests have found the run, and wait for the session.
    await bothAsked.promise;
    await sessionService.releaseLease(lease);
    expect(textsOf(await first)).toEqual(['asks: first', 'follows: followed']);
    expect(textsOf(await second)).toEqual(['asks: second']);
    expect((await second)[0]?.invocationId).not.toBe((await first)[0]?.invocationId);
  });
});
