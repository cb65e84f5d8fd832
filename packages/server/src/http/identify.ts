import { ConfigurationError } from '@eventloom/core';
import { UnauthenticatedError } from '../errors.ts';
import type { AuthenticatedUser, ServerOptions } from '../server-options.ts';

/**
 * Who a request comes from; undefined where nobody is asked.
 * @throws UnauthenticatedError when the hook knows nobody, ConfigurationError when its answer is no user
 */
export async function identify(
  request: Request,
  { authenticate }: Pick<ServerOptions, 'authenticate'>,
): Promise<AuthenticatedUser | undefined> {
  if (!authenticate) return undefined;
  const user: unknown = await authenticate(request);
  if (user === undefined || user === null) {
    throw new UnauthenticatedError('the request does not say who it comes from, or is not believed');
  }
  if (isUser(user)) return user;
  throw new ConfigurationError('authenticate must answer { userId } with a text that is not empty, or undefined');
}

/** A hook in JavaScript answers what it likes, and a mistake of it must let nobody in. */
export function isUser(value: unknown): value is AuthenticatedUser {
  if (typeof value !== 'object' || value === null || !('userId' in value)) return false;
  return typeof value.userId === 'string' && value.userId !== '';
}
