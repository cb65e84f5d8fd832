import { ScriptedModel } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { answer, authoredOutputsOf, callIdsOf, talk } from '../fixtures/workflow-talk.ts';
import { FunctionTool, JoinNode, LlmAgent, node, type NodeContext, RequestInput } from '../index.ts';

const last = node((_context: NodeContext, input: unknown) => `last: ${JSON.stringify(input)}`, { name: 'last' });
const FINISH = { calls: [{ name: 'finish_task', args: { result: 'booked' } }] };

describe('a task agent in a node of a workflow', () => {
  test.each([
    [true, { result: 'held' }],
    [false, { error: 'This tool call is rejected.' }],
  ])('continues after the answer confirmed: %s', async (confirmed, response) => {
    let holds = 0;
    const hold = new FunctionTool({
      name: 'hold',
      description: 'Holds a room.',
      requireConfirmation: true,
      execute: () => {
        holds++;
        return 'held';
      },
    });
    const model = new ScriptedModel(['For which day?', { calls: [{ name: 'hold' }] }, FINISH]);
    const booker = new LlmAgent({ name: 'booker', mode: 'task', model, tools: [hold] });
    const { send } = await talk([['START', booker, last]]);
    await send('Book.');
    const id = callIdsOf(await send('Monday.')).at(-1) ?? '';
    const events = await send(answer(id, { confirmed }, 'adk_request_confirmation'));
    expect(authoredOutputsOf(events)).toEqual([
      ['booker', { result: 'booked' }],
      ['last', 'last: {"result":"booked"}'],
    ]);
    expect(holds).toBe(confirmed ? 1 : 0);
    expect(model.requests.at(-1)?.request.contents.at(-1)?.parts).toMatchObject([{ functionResponse: { response } }]);
  });

  test('reads the messages of the user, also beside another node', async () => {
    const model = new ScriptedModel(['For which day?', FINISH]);
    const booker = new LlmAgent({ name: 'booker', mode: 'task', model });
    const beside = node(() => 'beside', { name: 'beside' });
    const { send } = await talk([['START', [booker, beside], new JoinNode({ name: 'join' })]]);
    await send('Book.');
    expect(authoredOutputsOf(await send('Monday.')).at(-1)).toEqual([
      'join',
      { booker: { result: 'booked' }, beside: 'beside' },
    ]);
    const texts = model.requests.map(({ request }) => request.contents.map(({ parts }) => parts?.[0]?.text));
    expect(texts).toEqual([['Book.'], ['Book.', 'For which day?', 'Monday.']]);
  });

  test('speaks again when a person answers the node beside it, and the join gets both outputs', async () => {
    let charges = 0;
    const charge = node(() => `charge ${++charges}`, { name: 'charge' });
    const ask = node(() => new RequestInput({ interruptId: 'city' }), { name: 'ask' });
    const model = new ScriptedModel(['For which day?', FINISH]);
    const booker = new LlmAgent({ name: 'booker', mode: 'task', model });
    const { send } = await talk([['START', charge, [booker, ask], new JoinNode({ name: 'join' })]]);
    await send('Book.');
    expect(authoredOutputsOf(await send(answer('city', { result: 'Oslo' }))).at(-1)).toEqual([
      'join',
      { booker: { result: 'booked' }, ask: 'Oslo' },
    ]);
    expect(charges).toBe(1);
  });
});
