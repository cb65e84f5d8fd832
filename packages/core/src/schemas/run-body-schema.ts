import * as z from 'zod';
import { contentSchema } from './content-schema.ts';
import { jsonObjectSchema } from './json-object-schema.ts';
import { bodySchema } from './read-with.ts';

const name = z.string().min(1);

/** The body of `POST /run` and `POST /run_sse`: a message, or the run to resume, or both when the message answers calls of that run. */
export const runBodySchema = bodySchema({
  appName: name,
  userId: name,
  sessionId: name,
  newMessage: contentSchema.exactOptional(),
  streaming: z.boolean().describe('Chunks of the reply as well, as they come.').exactOptional(),
  stateDelta: jsonObjectSchema.describe('State to write with the message.').exactOptional(),
  invocationId: name.describe('The run to resume: one that was cut off, or waits for an answer.').exactOptional(),
  requestId: name.describe("The caller's own id for the request.").exactOptional(),
  customMetadata: jsonObjectSchema.describe('Put on every event of the run.').exactOptional(),
  completionEvent: z.boolean().describe('End the stream with a runner.completion event.').exactOptional(),
  onBusy: z.enum(['queue', 'reject', 'interrupt']).describe('What to do when the session is busy.').exactOptional(),
});

export type RunBody = z.infer<typeof runBodySchema>;
