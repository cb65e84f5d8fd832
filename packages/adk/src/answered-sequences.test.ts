import { type Content, type Event, getFunctionCalls } from '@eventloom/core';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { expect, test } from 'vitest';
import {
  type BaseAgent,
  FunctionTool,
  InMemoryRunner,
  LlmAgent,
  LongRunningFunctionTool,
  LoopAgent,
  ParallelAgent,
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  SequentialAgent,
} from './index.ts';

const paid: string[] = [];
const pay = new FunctionTool({
  name: 'pay',
  description: 'Pays.',
  requireConfirmation: true,
  execute: () => {
    paid.push('paid');
    return { paid: true };
  },
});
const askBoss = new LongRunningFunctionTool({ name: 'ask', description: 'Asks.', execute: () => undefined });

const speaker = (name: string, ...steps: ScriptedStep[]): LlmAgent =>
  new LlmAgent({ name, model: new ScriptedModel(steps) });
const payer = (...steps: ScriptedStep[]): LlmAgent =>
  new LlmAgent({ name: 'payer', model: new ScriptedModel([{ calls: [{ name: 'pay' }] }, ...steps]), tools: [pay] });

/** Sends a message, and then the answer to the call of this name. Returns what the agents said in each run. */
async function answered(
  agent: BaseAgent,
  { name = REQUEST_CONFIRMATION_FUNCTION_CALL_NAME, response = { confirmed: true }, isResumable = false },
): Promise<string[][]> {
  paid.length = 0;
  const runner = new InMemoryRunner({ agent, appName: 'app', resumabilityConfig: { isResumable } });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'u' });
  const run = (newMessage: Content): Promise<Event[]> => runner.run({ userId: 'u', sessionId, newMessage });
  const first = await run({ role: 'user', parts: [{ text: 'go' }] });
  const asked = first.flatMap(getFunctionCalls).find((call) => call.name === name);
  const functionResponse = { id: asked?.id ?? '', name, response };
  const second = await run({ role: 'user', parts: [{ functionResponse }] });
  return [first, second].map((events) =>
    events.flatMap(
      ({ author, content }) => content?.parts?.flatMap(({ text }) => (text ? `${author}: ${text}` : [])) ?? [],
    ),
  );
}

test('a sequence runs once more after a confirmation, with the answer where its agent asked, as in the ADK', async () => {
  const first = speaker('first', { text: 'one' }, { text: 'one more' });
  const last = speaker('last', { text: 'too early' }, { text: 'thanks' });
  const agent = new SequentialAgent({ name: 'sequence', subAgents: [first, payer({ text: 'paid' }), last] });
  expect(await answered(agent, {})).toEqual([
    ['first: one', 'last: too early'],
    ['first: one more', 'payer: paid', 'last: thanks'],
  ]);
  expect(paid).toEqual(['paid']);
});

test('a sequence of a resumable run continues after the agent that asked', async () => {
  const first = speaker('first', { text: 'one' });
  const last = speaker('last', { text: 'thanks' });
  const agent = new SequentialAgent({ name: 'sequence', subAgents: [first, payer({ text: 'paid' }), last] });
  expect(await answered(agent, { isResumable: true })).toEqual([['first: one'], ['payer: paid', 'last: thanks']]);
});

test('a sequence runs once more after the result of a long-running call', async () => {
  const model = new ScriptedModel([{ calls: [{ name: 'ask' }] }, { text: 'approved' }]);
  const asking = new LlmAgent({ name: 'asking', model, tools: [askBoss] });
  const first = speaker('first', { text: 'one' }, { text: 'one more' });
  const last = speaker('last', { text: 'too early' }, { text: 'done' });
  const agent = new SequentialAgent({ name: 'sequence', subAgents: [first, asking, last] });
  const [, second] = await answered(agent, { name: 'ask', response: { confirmed: true } });
  expect(second).toEqual(['first: one more', 'asking: approved', 'last: done']);
});

test('a loop, and agents side by side, run once more after an answer', async () => {
  const loop = new LoopAgent({
    name: 'loop',
    maxIterations: 1,
    subAgents: [payer({ text: 'paid' }), speaker('last', { text: 'early' }, { text: 'late' })],
  });
  expect((await answered(loop, {}))[1]).toEqual(['payer: paid', 'last: late']);
  const parallel = new ParallelAgent({
    name: 'parallel',
    subAgents: [payer({ text: 'paid' }), speaker('other', { text: 'early' }, { text: 'late' })],
  });
  expect((await answered(parallel, {}))[1]?.toSorted()).toEqual(['other: late', 'payer: paid']);
  expect(paid).toEqual(['paid']);
});

test('a sequence below an LLM agent runs once more, and the LLM agent does not', async () => {
  const last = speaker('last', { text: 'too early' }, { text: 'thanks' });
  const sequence = new SequentialAgent({ name: 'sequence', subAgents: [payer({ text: 'paid' }), last] });
  const model = new ScriptedModel([{ calls: [{ name: 'transfer_to_agent', args: { agentName: 'sequence' } }] }]);
  const agent = new LlmAgent({ name: 'root', model, subAgents: [sequence] });
  expect(await answered(agent, {})).toEqual([['last: too early'], ['payer: paid', 'last: thanks']]);
});

test('one message with the confirmations for all agents side by side runs them once more, together', async () => {
  const parallel = new ParallelAgent({
    name: 'parallel',
    subAgents: ['left', 'right'].map(
      (name) =>
        new LlmAgent({
          name,
          model: new ScriptedModel([{ calls: [{ name: 'pay' }] }, { text: 'paid' }]),
          tools: [pay],
        }),
    ),
  });
  paid.length = 0;
  const runner = new InMemoryRunner({ agent: parallel, appName: 'app' });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'u' });
  const asked = await runner.run({ userId: 'u', sessionId, newMessage: { parts: [{ text: 'go' }] } });
  const parts = asked
    .flatMap(getFunctionCalls)
    .filter(({ name }) => name === REQUEST_CONFIRMATION_FUNCTION_CALL_NAME)
    .map(({ id = '', name = '' }) => ({ functionResponse: { id, name, response: { confirmed: true } } }));
  const events = await runner.run({ userId: 'u', sessionId, newMessage: { parts } });
  const said = events.flatMap(
    ({ author, content }) => content?.parts?.flatMap(({ text }) => (text ? author : [])) ?? [],
  );
  expect(said.toSorted()).toEqual(['left', 'right']);
  expect(paid).toEqual(['paid', 'paid']);
});
