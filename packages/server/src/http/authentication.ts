import { ConfigurationError } from '@eventloom/core';
import { UnauthenticatedError, ForbiddenError } from '../errors.ts';
import type { AuthenticatedUser, ServerOptions } from '../server-options.ts';

/**
 * Authenticates a request with the `authenticate` hook. Undefined without a hook.
 * @throws UnauthenticatedError if the hook returns no user, ConfigurationError if it returns anything other than a user
 */
export async function identify(
  request: Request,
  { authenticate }: Pick<ServerOptions, 'authenticate'>,
): Promise<AuthenticatedUser | undefined> {
  if (!authenticate) return undefined;
  const user: unknown = await authenticate(request);
  if (user === undefined || user === null) {
    throw new UnauthenticatedError('the request has no valid credentials');
  }
  if (isUser(user)) return user;
  throw new ConfigurationError(
    "authenticate: expected the result { userId } with a non-empty string, or undefined; write return { userId: 'ada' }",
  );
}

/** True for a user. A hook in JavaScript may return anything; values other than a user refuse the request. */
export function isUser(value: unknown): value is AuthenticatedUser {
  if (typeof value !== 'object' || value === null || !('userId' in value)) return false;
  return typeof value.userId === 'string' && value.userId !== '';
}

/** @throws ForbiddenError if an authenticated request names another user */
export function requireSameUser(user: AuthenticatedUser | undefined, userId: string): void {
  if (user && user.userId !== userId) {
    throw new ForbiddenError(`the request is from user ${JSON.stringify(user.userId)} but names another user`);
  }
}
