import { LlmAgent, node, type NodeContext, RequestInput, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const ask = node(() => new RequestInput({ message: 'Which city?', responseSchema: z.string() }), { name: 'ask' });
const plan = node((_context: NodeContext, city: string) => `A walk in ${city.trim()}.`, { name: 'plan' });
const opening = new Workflow({ name: 'opening', edges: [['START', ask, plan]] });

const decision = z.object({ approved: z.boolean(), days: z.number().nullish() });
const readRequest = new LlmAgent({
  name: 'read_request',
  model: 'gemini-flash-latest',
  instruction: 'Extract the days.',
  outputSchema: z.object({ days: z.number() }),
  outputKey: 'request',
});
const evaluate = node(
  (context: NodeContext) => {
    const request = context.state.get<{ days: number }>('request');
    return new RequestInput({
      interruptId: 'approval',
      message: 'Review this.',
      payload: request,
      responseSchema: decision,
    });
  },
  { name: 'evaluate' },
);
const decide = node(
  (context: NodeContext, input: unknown) => {
    const { approved, days } = decision.parse(typeof input === 'string' ? { approved: input === 'yes' } : input);
    return approved ? `Granted: ${days ?? context.state.get<{ days: number }>('request')?.days}` : 'Denied.';
  },
  { name: 'decide' },
);
const timeOff = new Workflow({ name: 'time_off', edges: [['START', readRequest, evaluate, decide]] });

const program: Program = {
  replies: ['{"days":5}', '{"days":2}', '{"days":1}'].map((text) => jsonReply(wireResponse(text))),
  async main(tell) {
    await converse(tell, opening, ['Hi', 'Oslo', 'Hi again', { answer: { result: 'Rome' } }]);
    await converse(tell, timeOff, ['Five days.', { answer: { approved: true, days: 3 } }]);
    await converse(tell, timeOff, ['Two days.', 'yes']);
    await converse(tell, timeOff, ['One day.', { answer: { result: '{"approved":false}' } }]);
  },
};
export default program;
