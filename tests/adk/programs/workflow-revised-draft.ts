import { createEvent, node, type NodeContext, RequestInput, Workflow } from '@google/adk';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

// A reply is a new message of the user too, and the first node may run again: it keeps the first one.
const begin = node(
  (context: NodeContext, complaint: string) => {
    if (context.state.get('complaint') !== undefined) return;
    context.state.set('complaint', complaint.trim());
  },
  { name: 'begin' },
);
const draft = node(
  (context: NodeContext) => {
    const feedback = context.state.get<string>('feedback') ?? '';
    return `Sorry about ${context.state.get<string>('complaint')}.${feedback && ` (${feedback})`}`;
  },
  { name: 'draft' },
);
const review = node(
  (context: NodeContext, text: string) => {
    const reply = context.resumeInputs['review'];
    if (reply === undefined) return new RequestInput({ interruptId: 'review', message: `Review: ${text}` });
    if (reply === 'approve') return createEvent({ route: 'approved' });
    context.state.set('feedback', reply);
    return createEvent({ route: 'revise' });
  },
  { name: 'review', rerunOnResume: true },
);
const send = node(() => 'Sent.', { name: 'send' });
const rootAgent = new Workflow({
  name: 'revisions',
  edges: [
    ['START', begin, draft, review],
    [review, { revise: draft, approved: send }],
  ],
});

const program: Program = {
  replies: [],
  main: (tell) => converse(tell, rootAgent, [' the noise ', 'shorter', 'approve']),
};
export default program;
