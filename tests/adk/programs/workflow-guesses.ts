import { createEvent, type Event, node, type NodeContext, Workflow } from '@google/adk';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const say = (text: string): Event => createEvent({ content: { role: 'model', parts: [{ text }] } });

const check = node(
  function* (context: NodeContext, text: string) {
    const target = Number.parseInt(text, 10);
    if (target > 10) {
      yield say('Between 0 and 10, please.');
      throw new Error('The number is too large.');
    }
    context.state.set('target', target);
    context.state.set('guess', 0);
  },
  { name: 'check' },
);
const guess = node(
  function* (context: NodeContext) {
    const next = (context.state.get<number>('guess') ?? 0) + 1;
    context.state.set('guess', next);
    yield say(`Is it ${next}?`);
    if (next === context.state.get<number>('target')) yield say('Yes!');
    else yield createEvent({ route: 'wrong' });
  },
  { name: 'guess' },
);
const rootAgent = new Workflow({
  name: 'guesses',
  edges: [
    ['START', check, guess],
    [guess, { wrong: guess }],
  ],
});

const program: Program = {
  replies: [],
  async main(tell) {
    await converse(tell, rootAgent, ['3', '2']);
    try {
      await converse(tell, rootAgent, ['42']);
    } catch (error) {
      tell(`failed: ${error instanceof Error ? error.message : String(error)}`);
    }
  },
};
export default program;
