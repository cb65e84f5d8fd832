import { createEvent, node, type NodeContext, RequestInput, Workflow } from '@google/adk';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const approve = node(() => new RequestInput({ message: 'Approve? (yes/no)' }), {
  name: 'approve',
  rerunOnResume: false,
});
const log = node((_context: NodeContext, input: unknown) => `logged ${String(input)}`, { name: 'log' });
const process = node(
  async (context: NodeContext, input: unknown) => {
    await context.runNode(log, input);
    const approval = await context.runNode(approve, input);
    if (approval.interruptIds.length > 0) return undefined;
    return String(approval.output) === 'yes' ? 'Approved' : 'Denied';
  },
  { name: 'process', rerunOnResume: true },
);
const dynamic = new Workflow({ name: 'dynamic', edges: [['START', process]] });

const review = node(
  function* (context: NodeContext, draft: string) {
    const answer = context.resumeInputs['review'];
    if (answer === undefined) {
      yield createEvent({ content: { role: 'model', parts: [{ text: `Draft: ${draft}` }] } });
      yield new RequestInput({ interruptId: 'review', message: 'Good?' });
      return;
    }
    yield createEvent({
      route: answer === 'yes' ? 'publish' : 'revise',
      output: `${draft} (${JSON.stringify(answer)})`,
    });
  },
  { name: 'review', rerunOnResume: true },
);
const publish = node((_context: NodeContext, text: string) => `Published ${text}`, { name: 'publish' });
const revise = node((_context: NodeContext, text: string) => `Revised ${text}`, { name: 'revise' });
const rerun = new Workflow({
  name: 'rerun',
  edges: [
    ['START', review],
    [review, { publish, revise }],
  ],
});

const inner = new Workflow({ name: 'inner', edges: [['START', approve]] });
const outer = new Workflow({ name: 'outer', edges: [['START', log, inner, publish]] });

const program: Program = {
  replies: [],
  async main(tell) {
    await converse(tell, dynamic, ['Pay.', 'yes']);
    await converse(tell, dynamic, ['Pay.', { answer: { result: 'no' } }, 'Pay again.']);
    await converse(tell, rerun, ['Text', 'yes']);
    await converse(tell, outer, ['Text', 'fine']);
  },
};
export default program;
