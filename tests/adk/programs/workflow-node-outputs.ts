import { createEvent, FunctionNode, type FunctionNodeHandler, node, type NodeContext, Workflow } from '@google/adk';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const shout: FunctionNodeHandler<string, string> = (_context: NodeContext, text: string) => text.toUpperCase();

const addMark = (_context: NodeContext, text: string) => createEvent({ output: `${text}!` });

const report = node(
  async function* (_context: NodeContext, text: string) {
    yield createEvent({ content: { role: 'model', parts: [{ text: 'Working on it.' }] } });
    yield createEvent({ output: { text, length: text.length } });
  },
  { name: 'report' },
);

const describeLength = new FunctionNode<{ text: string; length: number }, string>(
  'describe_length',
  (_context, { text, length }) => `${text} has ${length} letters`,
  { rerunOnResume: true },
);

const rootAgent = new Workflow({
  name: 'outputs',
  edges: [['START', node(shout, { name: 'shout' }), node(addMark, { name: 'add_mark' }), report, describeLength]],
});

const program: Program = { replies: [], main: (tell) => converse(tell, rootAgent, ['hello', 'again']) };
export default program;
