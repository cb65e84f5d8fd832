import { createEvent, JoinNode, LlmAgent, node, type NodeContext, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';
const say = (text: string) => createEvent({ content: { role: 'model', parts: [{ text }] } });
const readYear = node(
  function* (_context: NodeContext, text: string) {
    const year = /\b\d{4}\b/.exec(text)?.[0];
    if (year === undefined) {
      yield say('Which year?');
      throw new Error('There is no year.');
    }
    yield createEvent({ actions: { stateDelta: { year } } });
  },
  { name: 'read_year' },
);
const name = new LlmAgent({ name: 'name', model, instruction: 'Name somebody born in {year}.' });
const life = new LlmAgent({ name: 'life', model, instruction: 'Tell the life.' });
const person = new Workflow({ name: 'person', edges: [['START', name, life]] });
const event = node((context: NodeContext) => `Something happened in ${context.state.get<string>('year')}.`, {
  name: 'event',
});
const join = new JoinNode({ name: 'join' });
const combine = node(
  function* (context: NodeContext, { person: who, event: happened }: Record<string, string>) {
    yield say(`${context.state.get<string>('year')}: ${who} ${happened}`);
  },
  { name: 'combine' },
);
const rootAgent = new Workflow({
  name: 'year',
  edges: [['START', readYear, [person, event], join, combine]],
  maxConcurrency: 1,
});

const program: Program = {
  replies: ['Ann', 'Ann lived.'].map((text) => jsonReply(wireResponse(text))),
  async main(tell) {
    await converse(tell, rootAgent, ['1984']);
    try {
      await converse(tell, rootAgent, ['Last year.']);
    } catch (error) {
      tell(`failed: ${error instanceof Error ? error.message : String(error)}`);
    }
  },
};
export default program;
