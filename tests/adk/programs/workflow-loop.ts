import { createEvent, LlmAgent, node, type NodeContext, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

interface Draft {
  readonly topic: string;
  readonly points: readonly string[];
}

const seed = node((_context: NodeContext, topic: string): Draft => ({ topic, points: [`${topic} 1`] }), {
  name: 'seed',
});
const critic = node(
  (_context: NodeContext, draft: Draft) =>
    createEvent({ route: draft.points.length >= 3 ? 'DONE' : 'REVISE', output: draft }),
  { name: 'critic' },
);
const refine = node(
  (_context: NodeContext, draft: Draft): Draft => ({
    ...draft,
    points: [...draft.points, `${draft.topic} ${draft.points.length + 1}`],
  }),
  { name: 'refine' },
);
const finish = node((_context: NodeContext, draft: Draft) => draft.points.join('; '), { name: 'finish' });

const refined = new Workflow({
  name: 'refined',
  edges: [
    ['START', seed, critic],
    [critic, { REVISE: refine, DONE: finish }],
    [refine, critic],
  ],
});

const countDown = node(
  (_context: NodeContext, input: string | number) => {
    const left = Number(input) - 1;
    return createEvent({ route: left > 0 ? 'again' : 'done', output: left });
  },
  { name: 'count_down' },
);
const landed = node(() => 'Landed.', { name: 'landed' });
const counting = new Workflow({
  name: 'counting',
  edges: [
    ['START', countDown],
    [countDown, { again: countDown, done: landed }],
  ],
});

const model = 'gemini-flash-latest';
const headline = new LlmAgent({
  name: 'headline',
  model,
  instruction: 'Write a headline about "{topic}". Feedback: {feedback?}',
  outputKey: 'headline',
});
const grader = new LlmAgent({ name: 'grader', model, instruction: 'Grade: {headline}', outputKey: 'feedback' });
const keep = node(
  (context: NodeContext, topic: string) => {
    context.state.set('topic', topic);
    return topic;
  },
  { name: 'keep' },
);
const route = node((_context: NodeContext, grade: string) => createEvent({ route: grade.trim() }), { name: 'route' });
const graded = new Workflow({
  name: 'graded',
  edges: [
    ['START', keep, headline, grader, route],
    [route, { dull: headline }],
  ],
});

const program: Program = {
  replies: ['Rain', 'dull', 'Rain again!', 'good'].map((text) => jsonReply(wireResponse(text))),
  async main(tell) {
    await converse(tell, refined, ['rivers']);
    await converse(tell, counting, ['3']);
    await converse(tell, graded, ['weather']);
  },
};
export default program;
