import { node, type NodeContext, ParallelWorker, Workflow } from '@google/adk';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const split = node((_context: NodeContext, text: string) => text.split(',').map((each) => each.trim()), {
  name: 'split',
});
const measure = node((_context: NodeContext, item: string) => ({ item, length: item.length }), { name: 'measure' });
const sum = node(
  (_context: NodeContext, all: { item: string; length: number }[]) => all.map(({ length }) => length).join('+'),
  {
    name: 'sum',
  },
);

const supervisor = node(
  async (context: NodeContext, text: string) => {
    const tasks = text.split(',').map((item) => context.runNode(measure, item.trim()));
    return (await Promise.all(tasks)).map(({ output }) => output);
  },
  { name: 'supervisor', rerunOnResume: true },
);

const orders = node(
  async (context: NodeContext) => {
    const ids = ['a91', 'b02'];
    const shipped = await Promise.all(ids.map((id) => context.runNode(measure, id, { runId: `order-${id}` })));
    return shipped.map(({ output }) => (output as { item: string }).item).join(', ');
  },
  { name: 'orders', rerunOnResume: true },
);

const program: Program = {
  replies: [],
  async main(tell) {
    await converse(tell, new Workflow({ name: 'by_hand', edges: [['START', supervisor, sum]] }), ['one, three']);
    const worker = node(measure, { parallelWorker: true, maxParallelWorkers: 2 });
    await converse(tell, new Workflow({ name: 'by_worker', edges: [['START', split, worker, sum]] }), [
      'one, three, seven',
    ]);
    const explicit = new ParallelWorker(measure);
    await converse(tell, new Workflow({ name: 'explicit', edges: [['START', split, explicit, sum]] }), ['one']);
    await converse(tell, new Workflow({ name: 'shipping', edges: [['START', orders]] }), ['Ship.']);
  },
};
export default program;
