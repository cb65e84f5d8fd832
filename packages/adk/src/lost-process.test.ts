import {
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  type LlmRequest,
  type LlmResponse,
  type Platform,
  systemPlatform,
} from '@eventloom/core';
import { describe, expect, test } from 'vitest';
import { JsonSessions } from './fixtures/json-sessions.ts';
import {
  type BaseAgent,
  BaseLlm,
  FunctionTool,
  LlmAgent,
  LongRunningFunctionTool,
  node,
  type NodeContext,
  RequestInput,
  Runner,
  SequentialAgent,
  Workflow,
} from './index.ts';

// A process that is lost reports nothing.
const platform: Platform = { ...systemPlatform, background: (work) => void work.catch(() => undefined) };

const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };

/** A service of a program whose process is lost at an append: before the event is stored, or after it. */
class LostSessions extends JsonSessions {
  /** Appends until the process is lost. */
  left = 0;
  #isLost = false;
  readonly #stores: boolean;

  constructor(left: number, stores: boolean) {
    super();
    this.left = left;
    this.#stores = stores;
  }

  override async appendEvent(request: Parameters<JsonSessions['appendEvent']>[0]): Promise<Event> {
    if (!this.#isLost && --this.left > 0) return super.appendEvent(request);
    if (!this.#isLost && this.#stores) await super.appendEvent(request);
    this.#isLost = true;
    throw new Error('lost');
  }

  /** The service of a new process over the same store. */
  restarted(): JsonSessions {
    const sessions = new JsonSessions();
    for (const [name, row] of this.rows) sessions.rows.set(name, row);
    return sessions;
  }
}

/** Calls the tools of each list together, list by list, until the conversation has their responses. */
class PlannedModel extends BaseLlm {
  readonly #plan: readonly (readonly string[])[];

  constructor(...plan: (readonly string[])[]) {
    super({ model: 'planned' });
    this.#plan = plan;
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    const parts = contents.flatMap((content) => content.parts ?? []);
    const answered = new Set(parts.map(({ functionResponse }) => functionResponse?.name));
    const next = this.#plan.find((names) => names.some((name) => !answered.has(name)));
    const calls = next?.map((name) => ({ functionCall: { name, args: {} } }));
    yield { content: { role: 'model', parts: calls ?? [{ text: 'Done.' }] } };
  }
}

/** Counts the runs of tools and nodes by their names. */
class Runs extends Map<string, number> {
  note(name: string): void {
    this.set(name, (this.get(name) ?? 0) + 1);
  }

  tools(...names: string[]): FunctionTool[] {
    return names.map((name) => new FunctionTool({ name, description: 'Works.', execute: () => this.note(name) }));
  }
}

/** Runs an agent over a service that is lost at each of its appends in turn, and continues each run in a new process. */
async function loseEachTime(
  agentOf: (runs: Runs) => BaseAgent,
  options: { readonly stores: boolean; readonly isResumable: boolean },
  check: (before: readonly Event[], after: readonly Event[], runs: Runs) => void,
): Promise<number> {
  const { stores, isResumable } = options;
  for (let left = 1; ; left++) {
    const runs = new Runs();
    const lost = new LostSessions(left, stores);
    await lost.createSession(KEY);
    const message = { userId: 'ann', sessionId: 's', newMessage: { role: 'user', parts: [{ text: 'Go.' }] } };
    const runnerOver = (sessionService: JsonSessions) =>
      new Runner({
        appName: 'app',
        agent: agentOf(runs),
        sessionService,
        platform,
        resumabilityConfig: { isResumable },
      });
    await runnerOver(lost)
      .run(message)
      .catch(() => undefined);
    if (lost.left > 0) return left;
    const service = lost.restarted();
    const before = (await service.getSession(KEY))?.events ?? [];
    const { invocationId } = before[0] ?? {};
    const runner = runnerOver(service);
    await runner
      .run(isResumable && invocationId ? { userId: 'ann', sessionId: 's', invocationId } : message)
      .catch((error: unknown) => {
        // The last event of the run was stored.
        expect(String(error)).toContain('has ended');
      });
    check(before, (await service.getSession(KEY))?.events ?? [], runs);
  }
}

describe.each([true, false])(
  'a process with a service of a program, lost when it has stored the event: %s',
  (stores) => {
    const team = (runs: Runs) =>
      new SequentialAgent({
        name: 'team',
        subAgents: [
          new LlmAgent({ name: 'one', model: new PlannedModel(['a', 'b'], ['c']), tools: runs.tools('a', 'b', 'c') }),
          new LlmAgent({ name: 'two', model: new PlannedModel(['d']), tools: runs.tools('d') }),
        ],
      });

    test.each([true, false])(
      'never runs a tool twice, and leaves no call without a response; resumable: %s',
      async (isResumable) => {
        const times = await loseEachTime(team, { stores, isResumable }, (before, after, runs) => {
          const ids = after.flatMap(getFunctionResponses).map(({ id }) => id);
          const called = after.flatMap(getFunctionCalls).map(({ id }) => id);
          expect(ids).toHaveLength(called.length);
          expect(new Set(ids)).toEqual(new Set(called));
          for (const { name = '' } of before.flatMap(getFunctionResponses)) expect(runs.get(name) ?? 0).toBeLessThan(2);
          if (isResumable) expect(Math.max(...runs.values())).toBe(1);
        });
        expect(times).toBe(isResumable ? 16 : 10);
      },
    );

    test('never repeats a node whose end was stored, and gives each output once', async () => {
      const flow = (runs: Runs) => {
        const step = (name: string, output?: string) => node(() => (runs.note(name), output), { name });
        const inner = step('inner', 'i');
        const outer = async (context: NodeContext) => {
          runs.note('outer');
          return (await context.runNode(inner)).output;
        };
        const edges = [
          step('first', 'f'),
          step('silent'),
          node(outer, { name: 'outer', rerunOnResume: true }),
          step('last', 'l'),
        ];
        return new Workflow({ name: 'flow', edges: [['START', ...edges]] });
      };
      await loseEachTime(flow, { stores, isResumable: true }, (before, after, runs) => {
        const names = before.map(
          ({ nodeInfo }) => nodeInfo?.path?.split(/[.@]/).findLast((part) => runs.has(part)) ?? '',
        );
        for (const name of names.filter(Boolean)) expect([name, runs.get(name)]).toEqual([name, 1]);
        const outputs = after.flatMap(({ output }) => output ?? []);
        expect(outputs).toEqual(['f', 'i', 'i', 'l']);
      });
    });

    test('continues all calls of an agent in a workflow, of which one waits and one runs a workflow that asks', async () => {
      const flow = (runs: Runs) => {
        const step = node(() => (runs.note('step'), 'stepped'), { name: 'step' });
        const ask = node(() => new RequestInput({ interruptId: 'city' }), { name: 'ask' });
        const inputSchema = { type: 'object', properties: {} };
        const asking = new Workflow({ name: 'asking', inputSchema, edges: [['START', step, ask]] });
        const wait = new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => runs.note('wait') });
        const model = new PlannedModel(['wait', 'buy', 'asking']);
        const agent = new LlmAgent({ name: 'agent', model, tools: [wait, ...runs.tools('buy'), asking] });
        return new Workflow({ name: 'flow', edges: [['START', agent]] });
      };
      await loseEachTime(flow, { stores, isResumable: true }, (_before, after, runs) => {
        const asked = after.flatMap(getFunctionCalls).filter(({ name }) => name === 'adk_request_input');
        expect([...new Set(asked.map(({ id }) => id))]).toEqual(['city']);
        const responses = after.flatMap(getFunctionResponses).filter(({ name }) => name === 'buy');
        expect(responses).toHaveLength(1);
        expect(runs.get('wait') ?? 0).toBeLessThan(2);
      });
    });
  },
);
