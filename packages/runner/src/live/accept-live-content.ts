import { type Content, type InvocationContext, type Session, sessionKeyOf } from '@eventloom/core';
import { matchFunctionResponses } from '../match-answers.ts';
import type { RequestAnswersParams } from '../request-answers.ts';

/** What answers are read with. */
export type LiveAnswering = Omit<RequestAnswersParams, 'events'> & { readonly session: Session };

/**
 * What a client says in a live run, as it is stored: checked as a message that starts a run is, as plugins want it
 * (`onUserMessageCallback`), its answers matched with their calls, and credentials taken out and kept.
 * @param check checks a message as one that starts a run is checked
 * @throws InvalidMessageError ConfigurationError and what plugins throw
 */
export async function acceptLiveContent(
  content: Content,
  invocationContext: InvocationContext,
  { session, platform, requestTtlMs, credentialService }: LiveAnswering,
  check: (message: Content) => Content,
): Promise<Content> {
  const { plugins } = invocationContext;
  const params = { events: session.events, platform, requestTtlMs, credentialService };
  const match = async (message: Content, before?: Matched['answers']): Promise<Matched> =>
    message.parts?.some((part) => part.functionResponse)
      ? matchFunctionResponses(message, params, before)
      : { message, answers: undefined };
  let matched = await match(check(content));
  if (plugins.has('onUserMessageCallback')) {
    const userMessage = matched.message;
    const replaced = await plugins.first('onUserMessageCallback', { invocationContext, userMessage });
    if (replaced) matched = await match(check(replaced), matched.answers);
  }
  await matched.answers?.keepCredentials(sessionKeyOf(session));
  return matched.message;
}

type Matched = Pick<Awaited<ReturnType<typeof matchFunctionResponses>>, 'message' | 'answers'>;
