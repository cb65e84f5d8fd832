import { createEvent, DEFAULT_ROUTE, Edge, LlmAgent, node, type NodeContext, START, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const trim = node((_context: NodeContext, text: string) => text.trim(), { name: 'trim' });

const router = node(
  (_context: NodeContext, text: string) => createEvent({ route: /\d/.test(text) ? 'COUNT' : 'ANSWER', output: text }),
  { name: 'router' },
);

const answerer = new LlmAgent({ name: 'answerer', model: 'gemini-flash-latest', instruction: 'Answer.' });
const count = node(() => 'Counted.', { name: 'count' });

const routed = new Workflow({
  name: 'routed',
  edges: [
    ['START', trim, router],
    [router, { ANSWER: answerer, COUNT: count }],
  ],
});

const classify = node(
  (_context: NodeContext, text: string) => createEvent({ route: text.split(',').map((each) => each.trim()) }),
  { name: 'classify' },
);
const handled = (name: string) =>
  node(() => createEvent({ content: { role: 'model', parts: [{ text: `Handling ${name}.` }] } }), { name });
const [bug, support, other] = [handled('bug'), handled('support'), handled('other')];

const several = new Workflow({
  name: 'several',
  edges: [
    [START, classify],
    [classify, { BUG: bug, SUPPORT: support, [DEFAULT_ROUTE]: other }],
  ],
});

const isEven = node((_context: NodeContext, text: string) => createEvent({ route: text.length % 2 === 0 }), {
  name: 'is_even',
});
const even = node(() => 'even', { name: 'even' });
const odd = node(() => 'odd', { name: 'odd' });
const byLength = new Workflow({
  name: 'by_length',
  edges: [[START, isEven], new Edge(isEven, even, true), new Edge(isEven, odd, [false, 'never'])],
});

const program: Program = {
  replies: [jsonReply(wireResponse('I am fine.'))],
  async main(tell) {
    await converse(tell, routed, [' How are you? ', 'I have 2 cats.']);
    await converse(tell, several, ['BUG, SUPPORT', 'NEITHER']);
    await converse(tell, byLength, ['ab', 'abc']);
  },
};
export default program;
