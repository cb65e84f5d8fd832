import { createEvent, LlmAgent, node, type NodeContext, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';
const gradeSchema = z.object({ grade: z.enum(['good', 'dull']).describe('The grade.'), feedback: z.string() });
const headline = new LlmAgent({
  name: 'headline',
  model,
  instruction: 'Write a headline about {topic}. Feedback: {feedback?}',
});
const grader = new LlmAgent({
  name: 'grader',
  model,
  instruction: 'Grade the headline.',
  outputSchema: gradeSchema,
  outputKey: 'feedback',
});

const write = node(
  async function* (context: NodeContext, topic: string) {
    yield createEvent({ actions: { stateDelta: { topic } } });
    for (;;) {
      const draft = await context.runNode(headline);
      const { grade } = gradeSchema.parse((await context.runNode(grader, draft.output)).output);
      if (grade === 'good') {
        yield draft.output;
        break;
      }
    }
  },
  { name: 'write', rerunOnResume: true },
);

const entered = new Workflow({
  name: 'entered',
  dynamicEntry: async (context: NodeContext, topic: unknown) => {
    context.state.set('topic', topic as string);
    const agent = node(headline);
    for (let round = 1; round <= 2; round++) {
      const draft = (await context.runNode(agent)).output;
      const { grade } = (await context.runNode(node(grader), draft)).output as { grade: string };
      if (grade === 'good') return draft;
    }
    return 'None was good.';
  },
});

const keep = node((context: NodeContext, topic: string) => context.state.set('topic', topic), { name: 'keep' });
const route = node((_context: NodeContext, { grade }: z.infer<typeof gradeSchema>) => createEvent({ route: grade }), {
  name: 'route',
});
const graph = new Workflow({
  name: 'graph',
  edges: [
    ['START', keep, headline, grader, route],
    [route, { dull: headline }],
  ],
});

const dull = '{"grade":"dull","feedback":"more verbs"}';
const good = '{"grade":"good","feedback":""}';
const program: Program = {
  replies: [
    ['Rain', dull, 'Rain falls', good],
    ['Sun', dull, 'More sun', dull],
    ['Snow', dull, 'Snow melts', good],
  ]
    .flat()
    .map((text) => jsonReply(wireResponse(text))),
  async main(tell) {
    await converse(tell, new Workflow({ name: 'written', edges: [['START', write]] }), ['rain']);
    await converse(tell, entered, ['sun']);
    await converse(tell, graph, ['snow']);
  },
};
export default program;
