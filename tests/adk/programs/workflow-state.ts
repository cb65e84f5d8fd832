import { node, type NodeContext, Workflow } from '@google/adk';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const begin = node(
  (context: NodeContext, topic: string) => {
    context.state.set('topic', topic.trim());
    context.state.set('user:last', topic.length);
    context.state.set('temp:started', 'now');
    context.state.set('attempts', 0);
  },
  { name: 'begin' },
);

const attempt = node(
  (context: NodeContext) => {
    context.state.set('attempts', (context.state.get<number>('attempts') ?? 0) + 1);
  },
  { name: 'attempt' },
);

const read = node(
  async function* (context: NodeContext) {
    context.state.set('read', 1);
    yield `${context.state.get<number>('attempts')} of ${context.state.get<string>('topic')}, ${context.state.get<boolean>('temp:started')}`;
    context.state.set('read', 2);
  },
  { name: 'read' },
);

const rootAgent = new Workflow({ name: 'with_state', edges: [['START', begin, attempt, read]] });

const program: Program = { replies: [], main: (tell) => converse(tell, rootAgent, [' rivers ']) };
export default program;
