import { type Event, getFunctionCalls, type Part } from '@eventloom/core';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import {
  FunctionTool,
  InMemoryRunner,
  LlmAgent,
  LoopAgent,
  node,
  type NodeContext,
  RequestInput,
  Workflow,
} from '../index.ts';

/** A conversation with an agent. */
async function talk(agent: LlmAgent | LoopAgent) {
  const runner = new InMemoryRunner({ agent, appName: 'app' });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'u' });
  return (message: string | Part): Promise<Event[]> =>
    runner.run({
      userId: 'u',
      sessionId,
      newMessage: { role: 'user', parts: [typeof message === 'string' ? { text: message } : message] },
    });
}

const model = (...steps: ScriptedStep[]) => new ScriptedModel(steps);
const outputs = (events: readonly Event[]): unknown[] => events.flatMap(({ output }) => output ?? []);
const idOf = (events: readonly Event[]): string | undefined =>
  events
    .flatMap(getFunctionCalls)
    .map(({ id }) => id)
    .at(-1);
const ask = node(() => new RequestInput({ message: 'Which city?' }), { name: 'ask' });
const upper = node((_context: NodeContext, text: string) => text.toUpperCase(), { name: 'upper' });
const answer = (id: string | undefined, result: string): Part => ({
  functionResponse: { ...(id === undefined ? {} : { id }), name: 'adk_request_input', response: { result } },
});

describe('a workflow in a LoopAgent', () => {
  test('runs its nodes, agents and tools in each round', async () => {
    const count = node(
      ({ state }: NodeContext) => {
        const n = Number(state.get('n') ?? 0) + 1;
        state.set('n', n);
        return { n };
      },
      { name: 'count' },
    );
    const charged: unknown[] = [];
    const charge = new FunctionTool({
      name: 'charge',
      description: 'Charges.',
      parameters: { type: 'object', properties: { n: { type: 'integer' } } },
      execute: (args: unknown) => {
        charged.push(args);
        return args;
      },
    });
    const speaker = model('one', 'two', 'three');
    const flow = new Workflow({
      name: 'flow',
      edges: [['START', count, charge, new LlmAgent({ name: 'speaker', model: speaker })]],
    });
    const send = await talk(new LoopAgent({ name: 'loop', maxIterations: 3, subAgents: [flow] }));
    expect(outputs(await send('go'))).toEqual([
      { n: 1 },
      { n: 1 },
      'one',
      { n: 2 },
      { n: 2 },
      'two',
      { n: 3 },
      { n: 3 },
      'three',
    ]);
    expect(charged).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(speaker.requests.map(({ request }) => request.contents.map(({ parts }) => parts))).toEqual(
      [1, 2, 3].map((n) => [[{ text: `{"n":${n}}` }]]),
    );
  });

  test.each(['a text', 'a function response'])(
    'asks in each round, and takes %s as the answer of that round',
    async (by) => {
      const noted: unknown[] = [];
      const note = new FunctionTool({
        name: 'note',
        description: 'Notes.',
        parameters: { type: 'object', properties: { city: { type: 'string' } } },
        execute: (args: unknown) => void noted.push(args),
      });
      const toArgs = node((_context: NodeContext, city: string) => ({ city }), { name: 'toArgs' });
      const flow = new Workflow({ name: 'flow', edges: [['START', ask, toArgs, note]] });
      const send = await talk(new LoopAgent({ name: 'loop', maxIterations: 3, subAgents: [flow] }));
      let id = idOf(await send('go'));
      const asks: boolean[] = [];
      for (const city of ['Oslo', 'Rome', 'Bern']) {
        id = idOf(await send(by === 'a text' ? city : answer(id, city)));
        asks.push(id !== undefined);
      }
      expect(noted).toEqual([{ city: 'Oslo' }, { city: 'Rome' }, { city: 'Bern' }]);
      expect(asks).toEqual([true, true, false]);
    },
  );
});

describe('a workflow below an LLM agent', () => {
  test.each(['a text', 'a function response'])('that asked continues with the answer: %s', async (by) => {
    const flow = new Workflow({ name: 'flow', description: 'Asks.', edges: [['START', ask, upper]] });
    const root = model({ calls: [{ name: 'transfer_to_agent', args: { agentName: 'flow' } }] });
    const send = await talk(new LlmAgent({ name: 'root', model: root, subAgents: [flow] }));
    const id = idOf(await send('go'));
    expect(outputs(await send(by === 'a text' ? 'Oslo' : answer(id, 'Oslo')))).toEqual(['OSLO']);
    root.assertConsumed();
  });
});
