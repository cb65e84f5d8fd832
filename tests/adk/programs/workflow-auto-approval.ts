import { createEvent, LlmAgent, node, type NodeContext, RequestInput, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const leaveSchema = z.object({ days: z.number().int().describe('How many.'), reason: z.string() });
const decisionSchema = z.object({ approved: z.boolean(), days: z.number().int().nullish() });
type Decision = z.infer<typeof decisionSchema>;

const read = new LlmAgent({
  name: 'read',
  model: 'gemini-flash-latest',
  instruction: 'Read the request.',
  outputSchema: leaveSchema,
  outputKey: 'leave',
});
const evaluate = node(
  (context: NodeContext, leave: z.infer<typeof leaveSchema>): Decision | RequestInput => {
    context.state.set('days', leave.days);
    if (leave.days <= 1) return { approved: true, days: leave.days };
    return new RequestInput({
      interruptId: 'manager',
      message: 'Please review this.',
      payload: leave,
      responseSchema: decisionSchema,
    });
  },
  { name: 'evaluate' },
);
const decide = node(
  (context: NodeContext, input: Decision | string) => {
    const decision = typeof input === 'string' ? { approved: input === 'yes' } : decisionSchema.parse(input);
    const text = decision.approved ? `Approved: ${decision.days ?? context.state.get<number>('days')}.` : 'Denied.';
    return createEvent({ content: { role: 'model', parts: [{ text }] } });
  },
  { name: 'decide' },
);
const rootAgent = new Workflow({ name: 'leave', edges: [['START', read, evaluate, decide]] });

const program: Program = {
  replies: ['{"days":1,"reason":"rest"}', '{"days":5,"reason":"travel"}'].map((text) => jsonReply(wireResponse(text))),
  async main(tell) {
    await converse(tell, rootAgent, ['One day.']);
    await converse(tell, rootAgent, ['Five days.', { answer: { approved: true, days: 4 } }]);
  },
};
export default program;
