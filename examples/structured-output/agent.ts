import { getStructuredOutput, LlmAgent, type Runner } from 'eventloom';
import * as z from 'zod';

const ticket = z.object({
  product: z.string(),
  urgency: z.enum(['low', 'high']),
  wishes: z.array(z.string()).describe('What the customer asks for, one wish each.'),
});

export const rootAgent = new LlmAgent({
  name: 'mail_reader',
  model: 'gemini-flash-latest',
  instruction: 'Read the mail of a customer and fill in the ticket.',
  generateContentConfig: { temperature: 0 },
  outputSchema: ticket,
  outputKey: 'ticket',
});

/** Returns the ticket of a mail, as an object of the schema's type. */
export async function readMail(runner: Runner, sessionId: string, mail: string): Promise<z.infer<typeof ticket>> {
  const events = await runner.run({ userId: 'desk', sessionId, newMessage: mail });
  const output = events.map(getStructuredOutput).findLast((value) => value !== undefined);
  // The agent has checked the value; `parse` gives it its type.
  return ticket.parse(output);
}
