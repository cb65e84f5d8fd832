import { createEvent, LlmAgent, node, type NodeContext, NodeTool, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const discount = node(
  function* (_context: NodeContext, { tier }: { tier: string }) {
    yield createEvent({ content: { role: 'model', parts: [{ text: `Checking ${tier}.` }] } });
    yield tier === 'VIP' ? '20 %' : '5 %';
  },
  { name: 'discount', description: 'Finds the discount.', inputSchema: z.object({ tier: z.string() }) },
);
const lookUp = node((_context: NodeContext, { id }: { id: string }) => ({ id, tier: 'VIP' }), { name: 'look_up' });
const customer = new Workflow({
  name: 'customer',
  description: 'Looks a customer up.',
  inputSchema: z.object({ id: z.string() }),
  edges: [['START', lookUp]],
});

const rootAgent = new LlmAgent({
  name: 'service',
  model: 'gemini-flash-latest',
  instruction: 'Serve.',
  tools: [new NodeTool(customer), new NodeTool(discount, 'find_discount', 'Finds.')],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'customer', args: { id: 'c1' } }] })),
    jsonReply(wireResponse({ calls: [{ name: 'find_discount', args: { tier: 'VIP' } }] })),
    jsonReply(wireResponse('20 % for you.')),
  ],
  main: (tell) => converse(tell, rootAgent, ['My discount?']),
};
export default program;
