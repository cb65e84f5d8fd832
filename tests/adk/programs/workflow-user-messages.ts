import { createEvent, node, type NodeContext, Workflow } from '@google/adk';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const message = (text: string) => createEvent({ content: { role: 'model', parts: [{ text }] } });

const announce = node(
  async function* (_context: NodeContext, topic: string) {
    yield message(`Looking for "${topic}"…`);
  },
  { name: 'announce' },
);

const research = node(
  function* () {
    yield message('Reading.');
    yield createEvent({ output: ['a', 'b', 'c'] });
  },
  { name: 'research' },
);

const report = node((_context: NodeContext, sources: string[]) => `${sources.length} sources: ${sources.join(', ')}.`, {
  name: 'report',
});

const silent = node(() => undefined, { name: 'silent' });
const said = node(
  (_context: NodeContext, input: unknown) => ({ role: 'model', parts: [{ text: `Got ${typeof input}.` }] }),
  {
    name: 'said',
  },
);

const program: Program = {
  replies: [],
  async main(tell) {
    await converse(tell, new Workflow({ name: 'messages', edges: [['START', announce, research, report]] }), [
      'rivers',
    ]);
    await converse(tell, new Workflow({ name: 'silence', edges: [['START', silent, said]] }), ['rivers']);
  },
};
export default program;
