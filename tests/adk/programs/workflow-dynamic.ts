import { FunctionNode, FunctionTool, LlmAgent, node, type NodeContext, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

function greet(_context: NodeContext, input: unknown): string {
  return `Hello ${typeof input === 'string' ? input : 'world'}`;
}

const first = node(greet, { name: 'first' });
const second = new FunctionNode('second', greet, { rerunOnResume: true });
const frame = node((_context: NodeContext, text: string) => `>> ${text} <<`, { name: 'frame' });
const chain = node(
  async (context: NodeContext, input: unknown) => {
    const once = await context.runNode(first, input);
    const twice = await context.runNode(second, once.output);
    return (await context.runNode(frame, twice.output)).output;
  },
  { name: 'chain', rerunOnResume: true },
);

const model = 'gemini-flash-latest';
const drafter = new LlmAgent({ name: 'drafter', model, instruction: 'Write a draft.' });
const add = new FunctionTool({
  name: 'add',
  description: 'Adds.',
  parameters: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => ({ sum: a + b }),
});
const editorial = node(
  async (context: NodeContext, request: string) => {
    const draft = await context.runNode(drafter, request);
    const sum = await context.runNode(add, { a: 1, b: 2 });
    return { draft: draft.output, sum: sum.output };
  },
  { name: 'editorial', rerunOnResume: true },
);

const refused = node(
  async (context: NodeContext) => {
    await context.runNode(
      node(
        () => {
          throw new TypeError('no');
        },
        { name: 'thrower' },
      ),
    );
  },
  { name: 'refused', rerunOnResume: true },
);

const program: Program = {
  replies: [jsonReply(wireResponse('A draft.'))],
  async main(tell) {
    await converse(tell, new Workflow({ name: 'greetings', edges: [['START', chain]] }), ['Ann']);
    await converse(tell, new Workflow({ name: 'newspaper', edges: [['START', editorial]] }), ['Rain?']);
    const entry = new Workflow({
      name: 'entered',
      dynamicEntry: async (context, input) => (await context.runNode(frame, input)).output,
    });
    await converse(tell, entry, ['Ann']);
    try {
      await converse(tell, new Workflow({ name: 'failing', edges: [['START', refused]] }), ['Ann']);
    } catch (error) {
      tell(`failed: ${String((error as Error).message.includes('no'))}`);
    }
  },
};
export default program;
