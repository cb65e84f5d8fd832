import {
  type BaseLlm,
  contentText,
  FunctionTool,
  LlmAgent,
  type SingleBeforeModelCallback,
  type SingleBeforeToolCallback,
} from 'eventloom';
import * as z from 'zod';

const CARD_NUMBER = /\b\d(?:[ -]?\d){12,18}\b/;

/** Answers instead of the model, which is not called. */
const refuseCards: SingleBeforeModelCallback = ({ context }) => {
  if (!CARD_NUMBER.test(contentText(context.userContent))) return undefined;
  context.state.set('cardsRefused', context.state.get('cardsRefused', 0) + 1);
  return { content: { role: 'model', parts: [{ text: 'Please send no card numbers here.' }] } };
};

/** Answers instead of the tool, which is not run. The model gets this answer. */
const limitParties: SingleBeforeToolCallback = ({ args }) =>
  Number(args['people']) > 12 ? { error: 'More than 12 people have to call us.' } : undefined;

const bookTable = new FunctionTool({
  name: 'book_table',
  description: 'Books a table.',
  parameters: z.object({ people: z.int().positive(), time: z.string() }),
  execute: ({ people, time }, { state }) => {
    state.set('booking', { people, time });
    return { status: 'booked' };
  },
});

/** The agent of this service. */
export function createAgent(model: BaseLlm): LlmAgent {
  return new LlmAgent({
    name: 'host',
    model,
    instruction: 'You take bookings for a restaurant.',
    tools: [bookTable],
    beforeModelCallback: refuseCards,
    beforeToolCallback: limitParties,
  });
}
