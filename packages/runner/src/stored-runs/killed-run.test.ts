import {
  BasePlugin,
  type BaseSessionService,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  InvalidRequestError,
  type Part,
  type ToolContext,
} from '@eventloom/core';
import { SequentialAgent } from '@eventloom/multi-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { Runner } from '../runner.ts';
import { findLooseEnds } from '../find-loose-ends.ts';
import { call, scenario } from '../fixtures/scenario.ts';
import { dying, KilledError } from './fixtures/dying-service.ts';
import { agent, calls, customTree, flowTree, say, type Tool } from './fixtures/agent-trees.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };

const HI = { userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } };

function setUp(idempotent: boolean, makeTree = flowTree) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  const ran: string[] = [];
  const tool = (name: string) =>
    new FunctionTool({
      name,
      description: '',
      idempotent,
      execute: (_, context) => {
        ran.push(`${context.agentName}/${name}`);
        context.state.set(`did_${name}`, true);
        return { [name]: 'done' };
      },
    });
  const runnerOn = (service: BaseSessionService) =>
    new Runner({ appName: 'app', agent: makeTree(tool), sessionService: service, platform, resumable: true });
  const stored = async () => (await sessionService.getSession(KEY))?.events ?? [];
  return { sessionService, runnerOn, stored, ran };
}

/**
 * Returns the content of events, without ids and times, by execution; an execution is named by the agents that lead to
 * it.
 */
function contentsByExecution(events: readonly Event[]): Map<string, unknown[]> {
  const authors = new Map<string, string>();
  for (const { executionId = '', parentExecutionId, author } of events) {
    if (!authors.has(executionId) || author !== 'user')
      authors.set(executionId, `${authors.get(parentExecutionId ?? '') ?? ''}/${author}`);
  }
  const byBranch = new Map<string, unknown[]>();
  for (const { author, branch = '', content, actions, object, parentExecutionId = '' } of events) {
    const list = byBranch.get(branch) ?? [];
    byBranch.set(branch, list);
    list.push({ author, content, actions, object, from: authors.get(parentExecutionId) });
  }
  return new Map([...byBranch].toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** Runs until the run is killed; returns false if it ended before. */
async function runUntilKilled(runner: Runner): Promise<boolean> {
  try {
    await runner.run(HI);
    return false;
  } catch (error) {
    if (!KilledError.isInstance(error)) throw error;
    return true;
  }
}

async function undisturbed(idempotent: boolean, makeTree = flowTree) {
  const { sessionService, runnerOn, stored, ran } = setUp(idempotent, makeTree);
  await sessionService.createSession(KEY);
  const counted = dying(sessionService, Infinity, false);
  await runnerOn(counted.service).run(HI);
  return { events: await stored(), ran, commits: counted.commits() };
}

describe.each([false, true])('a run killed right after the commit: %s', (isAfter) => {
  test.each([
    ['agents of all kinds', flowTree, 60],
    ['a custom agent, and answers with an output schema', customTree, 25],
  ])(
    '%s: a resumed run has the same result with idempotent tools, and finished tools do not run again',
    async (_, tree, commits) => {
      const whole = await undisturbed(true, tree);
      expect(whole.commits).toBeGreaterThan(commits);
      for (let at = 1; at <= whole.commits; at++) {
        const { sessionService, runnerOn, stored, ran } = setUp(true, tree);
        await sessionService.createSession(KEY);
        expect(await runUntilKilled(runnerOn(dying(sessionService, at, isAfter).service)), `killed at ${at}`).toBe(
          true,
        );
        const [first] = await stored();
        if (!first) continue;
        const { invocationId } = first;
        const interrupted = (await sessionService.listToolCalls({ ...KEY, invocationId })).filter(
          ({ status, name }) => status === 'started' && name !== 'helper' && name !== 'measure',
        );
        const resumed = runnerOn(sessionService).run({ userId: 'u', sessionId: 's', invocationId });
        if (isAfter && at === whole.commits) await expect(resumed).rejects.toThrow(InvalidRequestError);
        else await resumed;
        expect(contentsByExecution(await stored()), `killed at ${at}`).toEqual(contentsByExecution(whole.events));
        expect(await findLooseEnds(sessionService, KEY), `killed at ${at}`).toEqual([]);
        expect(ran.length - whole.ran.length, `killed at ${at}`).toBeLessThanOrEqual(interrupted.length);
        const session = await sessionService.getSession(KEY);
        expect(session?.state).toMatchObject({ did_look: true, did_work: true, did_dig: true });
        expect(session?.state['right']).toEqual(tree === flowTree ? 'right' : { size: 3 });
      }
    },
  );

  test('repeats no tool that is not idempotent, and reports the interrupted one', async () => {
    const whole = await undisturbed(false);
    let interrupted = 0;
    for (let at = 1; at <= whole.commits; at++) {
      const { sessionService, runnerOn, stored, ran } = setUp(false);
      await sessionService.createSession(KEY);
      await runUntilKilled(runnerOn(dying(sessionService, at, isAfter).service));
      const [first] = await stored();
      if (!first || (isAfter && at === whole.commits)) continue;
      await runnerOn(sessionService).run({ userId: 'u', sessionId: 's', invocationId: first.invocationId });
      const reported = (await stored())
        .flatMap(getFunctionResponses)
        .filter(({ response }) => response?.['error'] === 'interrupted').length;
      interrupted += reported;
      for (const name of new Set(whole.ran)) {
        const times = (list: readonly string[]) => list.filter((each) => each === name).length;
        // After an interrupted transfer or loop exit, the model may continue in another way.
        expect(times(ran), `${name}, killed at ${at}`).toBeLessThanOrEqual(times(whole.ran));
      }
      expect(ran.length + reported, `killed at ${at}`).toBeGreaterThan(0);
    }
    expect(interrupted).toBeGreaterThan(10);
  });
});

test("a run killed with a person's answer is resumed, and the confirmed call runs once", async () => {
  const tree = (tool: Tool) => {
    const confirmed = (name: string) => {
      const inner = tool(name);
      const execute = (_: unknown, toolContext: ToolContext) => inner.runAsync({ args: {}, toolContext });
      return new FunctionTool({ name, description: '', requireConfirmation: true, execute });
    };
    const pays = agent('pays', [calls(['pay'], ['look']), say('paid')], { tools: [confirmed('pay'), tool('look')] });
    return new SequentialAgent({
      name: 'flow',
      subAgents: [pays, agent('then', [calls(['work']), say('done')], { tools: [tool('work')] })],
    });
  };
  /** Plays the first half without a kill; the second half is killed and resumed. */
  const half = async (at: number) => {
    const { sessionService, runnerOn, stored, ran } = setUp(false, tree);
    await sessionService.createSession(KEY);
    const asked = await runnerOn(sessionService).run(HI);
    const question = asked.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_confirmation');
    const { invocationId = '' } = asked[0] ?? {};
    const newMessage = { parts: [{ functionResponse: { id: question?.id ?? '', response: { confirmed: true } } }] };
    const counted = dying(sessionService, at, true);
    const params = { userId: 'u', sessionId: 's', invocationId };
    const first = await runnerOn(counted.service)
      .run({ ...params, newMessage })
      .catch((error: unknown) => error);
    if (KilledError.isInstance(first))
      await runnerOn(sessionService)
        .run(params)
        .catch((error: unknown) => error);
    return { events: await stored(), ran, commits: counted.commits() };
  };
  const whole = await half(Infinity);
  expect(whole.ran).toEqual(['pays/look', 'pays/pay', 'then/work']);
  for (let at = 1; at <= whole.commits; at++) {
    const { events, ran } = await half(at);
    expect(new Set(ran).size, `killed at ${at}`).toBe(ran.length);
    const paid = events
      .flatMap(getFunctionResponses)
      .filter(({ name }) => name === 'pay')
      .at(-1)?.response;
    expect(paid, `killed at ${at}`).toMatchObject(
      ran.includes('pays/pay') ? { pay: 'done' } : { error: 'interrupted' },
    );
    expect(events.flatMap(({ content }) => content?.parts ?? []).at(-1)).toEqual({ text: 'done' });
  }
});

/** A plugin that removes the id of each call before its event is stored. */
class NamelessPlugin extends BasePlugin {
  override async onEventCallback({ event }: { event: Event }): Promise<Event | undefined> {
    const named = getFunctionCalls(event);
    if (named.length === 0) return undefined;
    const parts = named.map(({ name }): Part => ({ functionCall: { ...(name && { name }) } }));
    return { ...event, content: { role: 'model', parts } };
  }
}

test('a call that was stored without an id gets a response without one when its run continues', async () => {
  const tool = new FunctionTool({ name: 'f', description: '', execute: () => 'done' });
  const plugins = [new NamelessPlugin('nameless')];
  const { restart, sessionService, stored } = await scenario({ agent: { tools: [tool] }, plugins, resumable: true });
  const killed = restart({ sessionService: dying(sessionService, 2, true).service, model: [{ calls: [call('f')] }] });
  await expect(killed.run()).rejects.toThrow(KilledError);
  const invocationId = (await stored())[0]?.invocationId ?? '';
  const { runner } = restart({ model: ['Done.'] });
  const [responses] = await runner.run({ userId: 'u', sessionId: 's', invocationId });
  expect(responses?.content?.parts).toEqual([{ functionResponse: { name: 'f', response: { result: 'done' } } }]);
});

test('the callback before the first agent runs although the process was killed after the message', async () => {
  let called = 0;
  const agent = { beforeAgentCallback: () => void called++ };
  const { restart, sessionService, platform } = await scenario({ agent, resumable: true });
  const killed = restart({ agent, sessionService: dying(sessionService, 1, true).service });
  await expect(killed.run('hi', { requestId: 'r-1' })).rejects.toThrow(KilledError);
  expect(called).toBe(0);
  platform.advance(60_000);
  await restart({ agent, model: ['Hello.'] }).run('hi', { requestId: 'r-1', ifKnown: 'resume' });
  expect(called).toBe(1);
});
