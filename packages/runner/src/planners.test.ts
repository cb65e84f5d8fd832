import {
  BasePlanner,
  type CallbackContext,
  type Event,
  type LlmRequest,
  type Part,
  type ReadonlyContext,
} from '@eventloom/core';
import { BuiltInPlanner, PlanReActPlanner } from '@eventloom/llm-agent';
import { type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { scenario } from './fixtures/scenario.ts';

/** A scenario whose agent has a planner and a tool that counts its calls. */
async function setUp(planner: BasePlanner, model: readonly ScriptedStep[], config: object = {}) {
  const looked: unknown[] = [];
  const execute = () => ({ seen: looked.push('look') });
  const look = new FunctionTool({ name: 'look', description: 'Looks.', execute });
  const agent = { instruction: 'Be kind.', planner, tools: [look], ...config };
  return { ...(await scenario({ model, agent })), looked };
}

const partsOf = (events: readonly Event[]): (Part[] | undefined)[] => events.map(({ content }) => content?.parts);
const call = (id: string): Part => ({ functionCall: { id, name: 'look', args: {} } });

test('plan and reasoning become thoughts, and text after the last tag is the answer', async () => {
  const { run } = await setUp(new PlanReActPlanner(), [
    { parts: [{ text: '/*PLANNING*/ 1. look' }, call('c')] },
    { text: '/*REASONING*/ Seen. /*FINAL_ANSWER*/ or not /*FINAL_ANSWER*/It is there.' },
  ]);
  const events = await run();
  expect(partsOf(events)[0]).toEqual([{ text: '/*PLANNING*/ 1. look', thought: true }, call('c')]);
  expect(partsOf(events)[2]).toEqual([
    { text: '/*REASONING*/ Seen. /*FINAL_ANSWER*/ or not /*FINAL_ANSWER*/', thought: true },
    { text: 'It is there.' },
  ]);
});

test('text without a tag is the answer, and a signature stays with the last text', async () => {
  const { run } = await setUp(new PlanReActPlanner(), [
    { parts: [{ text: 'Hello.' }, { text: '/*ACTION*//*FINAL_ANSWER*/Yes.', thoughtSignature: 'c2ln' }] },
  ]);
  expect(partsOf(await run())[0]).toEqual([
    { text: 'Hello.' },
    { text: '/*ACTION*//*FINAL_ANSWER*/', thought: true },
    { text: 'Yes.', thoughtSignature: 'c2ln' },
  ]);
});

test('only the first group of calls is run', async () => {
  const first = [{ text: '/*ACTION*/' }, call('c1'), call('c2'), { text: '/*REASONING*/ guessed' }, call('c3')];
  const { run, looked } = await setUp(new PlanReActPlanner(), [{ parts: first }, '/*FINAL_ANSWER*/Done.']);
  const [called] = partsOf(await run());
  expect(called).toEqual([{ text: '/*ACTION*/', thought: true }, call('c1'), call('c2')]);
  expect(looked).toHaveLength(2);
});

test("the planning instruction follows the agent's, and the model gets its plan unchanged", async () => {
  const { run, model } = await setUp(new PlanReActPlanner(), [
    { parts: [{ text: '/*PLANNING*/ 1. look' }, call('c')] },
    '/*FINAL_ANSWER*/Done.',
  ]);
  const [called] = await run();
  const request = model.requests[1]?.request;
  expect(request?.config.systemInstruction).toMatch(/^Be kind\.[^]*\/\*PLANNING\*\/[^]*\/\*FINAL_ANSWER\*\//);
  expect(request?.contents[1]?.parts?.[0]).toEqual({ text: '/*PLANNING*/ 1. look' });
  expect(called?.content?.parts?.[0]?.thought).toBe(true);
});

test('outputKey stores only the answer', async () => {
  const step = '/*REASONING*/ I know. /*FINAL_ANSWER*/42';
  const { run, state } = await setUp(new PlanReActPlanner(), [step], { outputKey: 'answer' });
  await run();
  expect(await state()).toEqual({ answer: '42' });
});

test('chunks are yielded unchanged, and the whole reply is parsed', async () => {
  const { run } = await setUp(new PlanReActPlanner(), [{ chunks: ['/*PLANNING*/ none ', '/*FINAL_', 'ANSWER*/Yes.'] }]);
  const events = await run('hi', { runConfig: { streamingMode: 'sse' } });
  expect(partsOf(events.filter(({ partial }) => partial)).flat()).toEqual([
    { text: '/*PLANNING*/ none ' },
    { text: '/*FINAL_' },
    { text: 'ANSWER*/Yes.' },
  ]);
  expect(partsOf(events).at(-1)).toEqual([
    { text: '/*PLANNING*/ none /*FINAL_ANSWER*/', thought: true },
    { text: 'Yes.' },
  ]);
});

test('BuiltInPlanner turns thinking on and leaves replies unchanged', async () => {
  const planner = new BuiltInPlanner({ thinkingConfig: { includeThoughts: true } });
  const { run, model } = await setUp(planner, [{ thought: 'Hm.', text: '/*PLANNING*/ is a tag' }]);
  const [event] = await run();
  expect(model.requests[0]?.request.config.thinkingConfig).toEqual({ includeThoughts: true });
  expect(event?.content?.parts).toEqual([{ text: 'Hm.', thought: true }, { text: '/*PLANNING*/ is a tag' }]);
});

test('invalid planners are refused', async () => {
  const planner = new BuiltInPlanner({ thinkingConfig: {} });
  const config = { generateContentConfig: { thinkingConfig: { thinkingBudget: 1 } } };
  await expect(setUp(planner, [], config)).rejects.toThrow(/thinkingConfig/);
  await expect(setUp(new PlanReActPlanner(), [], config)).resolves.toBeDefined();
  await expect(setUp({} as BasePlanner, [])).rejects.toThrow(/planner: expected a planner/);
  expect(() => new BuiltInPlanner({ thinkingConfig: undefined as never })).toThrow(/thinkingConfig/);
});

test('a planning instruction that is not a string fails the run before the model is called', async () => {
  class AsyncPlanner extends BasePlanner {
    override buildPlanningInstruction(): string {
      return Promise.resolve('Plan.') as never;
    }

    override processPlanningResponse(): undefined {}
  }
  const { run, model } = await setUp(new AsyncPlanner(), ['hi']);
  await expect(run()).rejects.toThrow(
    `agent "bot": planner: buildPlanningInstruction: expected a string or nothing, got a promise; write return 'Write a plan first.'`,
  );
  expect(model.calls).toBe(0);
});

/** A planner that records its requests, and counts its replies in state. */
class OwnPlanner extends BasePlanner {
  override buildPlanningInstruction(context: ReadonlyContext, request: LlmRequest): string | undefined {
    const said = request.contents.length;
    return said > 1 ? undefined : `${context.agentName} has heard ${said}.`;
  }

  override processPlanningResponse({ state }: CallbackContext, parts: readonly Part[]): readonly Part[] | undefined {
    state.set('replies', Number(state.get('replies') ?? 0) + 1);
    return parts.some(({ text }) => text === 'again') ? [call('own')] : undefined;
  }
}

test('a custom planner may add calls, and its state changes are stored with the reply', async () => {
  const { run, model, looked, state } = await setUp(new OwnPlanner(), ['again', 'done']);
  const events = await run();
  expect(events.map(({ actions }) => actions.stateDelta)).toEqual([{ replies: 1 }, {}, { replies: 2 }]);
  expect(looked).toHaveLength(1);
  expect(await state()).toEqual({ replies: 2 });
  const [first, second] = model.requests.map(({ request }) => String(request.config.systemInstruction));
  expect(first).toContain('bot has heard 1.');
  expect(second).not.toContain('has heard');
});
