import { LlmAgent as CoreLlmAgent } from '@eventloom/llm-agent';
import { ScriptedModel } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { outputsOf, talk } from '../fixtures/workflow-talk.ts';
import { type EdgeItem, LlmAgent, node } from '../index.ts';

const run = async (edges: EdgeItem[]) => (await talk(edges)).send('go');
const Order = z.object({ n: z.number(), unit: z.string().default('kg') });

describe('an LLM agent in a workflow', () => {
  test.each([
    ['zod', Order, { n: 3, unit: 'kg' }],
    [
      'Schema of @google/genai',
      { type: 'OBJECT', properties: { n: { type: 'INTEGER' } }, required: ['n'] } as never,
      { n: 3 },
    ],
  ])('answers with the outputSchema of its node: %s', async (_title, outputSchema, output) => {
    const model = new ScriptedModel(['{"n":"three"}', '{"n":3}']);
    const agent = new LlmAgent({ name: 'a', model });
    const built = node(agent, { name: 'count', outputSchema });
    expect(outputsOf(await run([['START', built]]))).toEqual([output]);
    expect(built.outputSchema).toBe(outputSchema);
    expect(agent.outputSchema).toBeUndefined();
    expect(model.requests.map(({ request }) => request.config?.responseMimeType)).toEqual(
      Array.from({ length: 2 }, () => 'application/json'),
    );
  });

  test('gives its answer as its outputSchema parses it', async () => {
    const outputSchema = Order.transform(({ n, unit }) => ({ text: `${n} ${unit}`, at: new Date(0) }));
    const agent = new LlmAgent({ name: 'a', model: new ScriptedModel(['```json\n{"n":3}\n```']), outputSchema });
    const next = node((_context, input) => JSON.stringify(input), { name: 'next' });
    const [output, seen] = outputsOf(await run([['START', agent, next]]));
    expect(output).toEqual({ text: '3 kg', at: '1970-01-01T00:00:00.000Z' });
    expect(JSON.parse(String(seen))).toEqual(output);
  });

  test('that has no method clone cannot get another outputSchema', () => {
    const agent = new CoreLlmAgent({ name: 'a', model: new ScriptedModel([]) });
    expect(() => node(agent, { outputSchema: Order })).toThrow(
      'node "a": outputSchema: the agent has no method clone; write outputSchema in the options of the agent',
    );
  });

  test('reads its input as its inputSchema parses it, also in its instruction', async () => {
    const model = new ScriptedModel(['ok']);
    const agent = new LlmAgent({ name: 'a', model, inputSchema: Order, instruction: 'Count in {In.unit}.' });
    const first = node(() => ({ n: 1 }), { name: 'first' });
    await run([['START', first, agent]]);
    const [{ request } = expect.unreachable()] = model.requests;
    expect(request.contents).toMatchObject([{ parts: [{ text: '{"n":1,"unit":"kg"}' }] }]);
    expect(JSON.stringify(request.config?.systemInstruction)).toContain('Count in kg.');
  });

  test('is not called with an input that does not match its inputSchema', async () => {
    const model = new ScriptedModel([]);
    const agent = new LlmAgent({ name: 'a', model, inputSchema: Order });
    await expect(run([['START', agent]])).rejects.toThrow("Node 'a' input does not match its inputSchema");
    expect(model.requests).toEqual([]);
  });
});
