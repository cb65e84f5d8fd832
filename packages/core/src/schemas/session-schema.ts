import * as z from 'zod';
import type { SessionJson } from '../session/session.ts';
import { eventSchema } from './event-schema.ts';
import { jsonObjectSchema } from './json-object-schema.ts';
import { bodySchema } from './read-with.ts';

/** A session as the server writes it. */
export const sessionSchema: z.ZodType<SessionJson> = bodySchema({
  id: z.string(),
  appName: z.string(),
  userId: z.string(),
  state: jsonObjectSchema,
  events: z.array(eventSchema),
  lastUpdateTime: z.number().describe('Seconds since the epoch.'),
});

/** The answer to a request for a user's sessions: a bare list, without their events. */
export const sessionListSchema: z.ZodType<SessionJson[]> = z.array(sessionSchema);

/** The body that creates a session; none at all is an empty one. */
export const createSessionBodySchema = z.preprocess(
  (value) => value ?? {},
  bodySchema({
    sessionId: z.string().min(1).exactOptional(),
    state: jsonObjectSchema.exactOptional(),
    events: z.array(eventSchema).exactOptional(),
  }),
);

/** The body that changes a session's state. */
export const patchSessionBodySchema = bodySchema({ stateDelta: jsonObjectSchema });

/** The body that takes a session back to before an invocation. */
export const rewindSessionBodySchema = bodySchema({
  rewindBeforeInvocationId: z.string().min(1),
  onBusy: z.enum(['queue', 'reject', 'interrupt']).describe('What to do when the session is busy.').exactOptional(),
});

export type CreateSessionBody = z.infer<typeof createSessionBodySchema>;
export type PatchSessionBody = z.infer<typeof patchSessionBodySchema>;
export type RewindSessionBody = z.infer<typeof rewindSessionBodySchema>;
export type SessionBody = z.infer<typeof sessionSchema>;
export type SessionListBody = z.infer<typeof sessionListSchema>;
