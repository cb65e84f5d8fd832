import { JoinNode, LlmAgent, node, type NodeContext, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const pages = { refund: 'Return of order 48213', flight: 'Booking to Lisbon' };
const verdictSchema = z.object({ score: z.number(), why: z.string() });
type Verdict = z.infer<typeof verdictSchema>;

/** One agent for each page, all with the same instruction; the page comes after the user's message. */
const scorers = Object.entries(pages).map(([id, page]) =>
  node(
    new LlmAgent({
      name: `score_${id}`,
      model: 'gemini-flash-latest',
      instruction: 'Score the page from 0 to 3.',
      beforeModelCallback: ({ request }) => {
        request.contents = [...(request.contents ?? []), { role: 'user', parts: [{ text: `Page: ${page}` }] }];
        return undefined;
      },
      outputSchema: verdictSchema,
    }),
    { name: `score_${id}` },
  ),
);
const collect = new JoinNode({ name: 'collect' });
const rank = node(
  (_context: NodeContext, verdicts: Record<string, Verdict | undefined>) =>
    Object.entries(verdicts)
      .toSorted(([, one], [, other]) => (other?.score ?? 0) - (one?.score ?? 0))
      .map(([name, verdict]) => `${name}: ${verdict?.why}`)
      .join(', '),
  { name: 'rank' },
);
const workflow = new Workflow({
  name: 'ranking',
  edges: [...scorers.map((scorer) => ['START' as const, scorer, collect]), [collect, rank]],
});

const program: Program = {
  // Both agents make the request concurrently: the answer is the same, so the order does not matter.
  replies: [1, 2].map(() => jsonReply(wireResponse(JSON.stringify({ score: 2, why: 'close' })))),
  main: (tell) => converse(tell, workflow, ['That thing about the refund.']),
};
export default program;
