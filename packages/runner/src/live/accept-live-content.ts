import { type Content, type Invocation, sessionKeyOf } from '@eventloom/core';
import { matchFunctionResponses } from '../match-answers.ts';
import { checkNewMessage } from '../new-message.ts';

/**
 * What a client says in a live run, as it is stored: checked as a message that starts a run is, its answers matched with their calls,
 * and credentials taken out and kept.
 * @throws InvalidMessageError ConfigurationError
 */
export async function acceptLiveContent(
  content: Content,
  { session, platform, credentialService }: Pick<Invocation, 'session' | 'platform' | 'credentialService'>,
  requestTtlMs: number | undefined,
): Promise<Content> {
  const { events } = session;
  const answering = { events, platform, requestTtlMs, credentialService };
  const given = checkNewMessage(content);
  if (!given.parts?.some((part) => part.functionResponse)) return given;
  const { message, answers } = await matchFunctionResponses(given, answering);
  await answers?.keepCredentials(sessionKeyOf(session));
  return message;
}
