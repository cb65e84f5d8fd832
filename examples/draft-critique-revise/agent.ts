import { append, channel, END, LlmAgent, replace, START, StateGraph } from 'eventloom';
import * as z from 'zod';

const model = 'gemini-flash-latest';

const writer = new LlmAgent({
  name: 'writer',
  model,
  instruction:
    'Write the announcement that you are asked for, three sentences at most, and nothing else.\n' +
    'Your last draft: {draft?}\nWhat is wrong with it: {advice?}',
});

const critic = new LlmAgent({
  name: 'critic',
  model,
  instruction:
    'Judge the announcement. Say whether it is good enough to be shown to the editor, and if not what to change.',
  outputSchema: z.object({ good: z.boolean(), advice: z.string() }),
});

const verdict = z.object({ approved: z.boolean(), wish: z.string().default('') });

export const rootAgent = new StateGraph({
  name: 'newsroom',
  description: 'Writes announcements that an editor approved.',
  channels: {
    // With a key they are state of the session, which instructions can use.
    draft: channel(z.string(), { stateKey: 'draft', default: '' }),
    advice: channel(z.string(), { stateKey: 'advice', default: '', reducer: replace }),
    rounds: channel(z.number(), { default: 0, reducer: (rounds = 0, more: number) => rounds + more }),
    wishes: channel(z.array(z.string()), { default: [], reducer: append }),
  },
})
  .addNode('writer', writer)
  .addNode(
    'keep',
    (draft: string, context) => {
      context.update({ draft, rounds: 1 });
      return draft;
    },
    { writes: ['draft', 'rounds'] },
  )
  .addNode('critic', critic)
  .addNode(
    'judge',
    (judgement: { good: boolean; advice: string }, context) => {
      context.update({ advice: judgement.advice });
      // A critic who is never satisfied is asked three times.
      return judgement.good || context.state.rounds % 3 === 0;
    },
    { writes: ['advice'] },
  )
  .addNode(
    'editor',
    async (_: unknown, context) => {
      const { approved, wish } = await context.requestInput({
        message: 'Shall this be published?',
        payload: { draft: context.state.draft },
        responseSchema: verdict,
      });
      if (!approved) context.update({ advice: wish, wishes: [wish] });
      context.route = approved ? 'publish' : 'revise';
      return wish;
    },
    { writes: ['advice', 'wishes'] },
  )
  .addNode('publish', (_: unknown, { state }) => `PUBLISHED: ${state.draft}`)
  .addEdge(START, 'writer')
  .addEdge('writer', 'keep')
  .addEdge('keep', 'critic')
  .addEdge('critic', 'judge')
  .addConditionalEdges('judge', (isGood) => (isGood ? 'show' : 'revise'), { show: 'editor', revise: 'writer' })
  .addRoutes('editor', { publish: 'publish', revise: 'writer' })
  .addEdge('publish', END)
  .compile({ maxSteps: 60 });
