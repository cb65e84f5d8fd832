import { createEvent, type Event, LlmAgent, node, type NodeContext, RequestInput, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const say = (text: string): Event => createEvent({ content: { role: 'model', parts: [{ text }] } });
const begin = node(
  function* (_context: NodeContext, complaint: string) {
    yield createEvent({ actions: { stateDelta: { complaint, feedback: '' } } });
  },
  { name: 'begin' },
);
const draft = new LlmAgent({
  name: 'draft',
  model: 'gemini-flash-latest',
  instruction: 'Answer {complaint}. Feedback: {feedback?}',
  outputKey: 'draft',
});
const send = node(
  function* () {
    yield say('Sent.');
  },
  { name: 'send' },
);
const reject = node(() => say('Rejected.'), { name: 'reject' });
const routes = (answer: unknown): Event => {
  if (answer === 'reject') return createEvent({ route: 'rejected' });
  if (answer === 'approve') return createEvent({ route: 'approved' });
  return createEvent({ actions: { stateDelta: { feedback: answer } }, route: 'revise' });
};

const ask = node(
  function* (context: NodeContext) {
    yield new RequestInput({ message: `Approve, reject or say what to change: ${context.state.get<string>('draft')}` });
  },
  { name: 'ask' },
);
const handle = node(
  function* (_context: NodeContext, answer: string) {
    yield routes(answer);
  },
  { name: 'handle' },
);
const twoNodes = new Workflow({
  name: 'two_nodes',
  edges: [
    ['START', begin, draft, ask, handle],
    [handle, { revise: draft, approved: send, rejected: reject }],
  ],
});

const review = node(
  function* (context: NodeContext, text: string) {
    const answer = context.resumeInputs['review'];
    if (answer === undefined) yield new RequestInput({ interruptId: 'review', message: `Review: ${text}` });
    else yield routes(answer);
  },
  { name: 'review', rerunOnResume: true },
);
const oneNode = new Workflow({
  name: 'one_node',
  edges: [
    ['START', begin, draft, review],
    [review, { revise: draft, approved: send, rejected: reject }],
  ],
});

const program: Program = {
  replies: ['Dear Ann', 'Dear Bob', 'Dear Eve'].map((text) => jsonReply(wireResponse(text))),
  async main(tell) {
    await converse(tell, twoNodes, ['It broke.', 'approve']);
    await converse(tell, twoNodes, ['It broke.', 'reject']);
    await converse(tell, oneNode, ['It broke.', 'approve']);
  },
};
export default program;
