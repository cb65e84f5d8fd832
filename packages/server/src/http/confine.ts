import { ForbiddenError } from '../errors.ts';
import type { AuthenticatedUser } from '../server-options.ts';

/** @throws ForbiddenError when a request that comes from one user names another one */
export function confine(user: AuthenticatedUser | undefined, userId: string): void {
  if (user && user.userId !== userId) {
    throw new ForbiddenError(`the request comes from user ${JSON.stringify(user.userId)} and names another one`);
  }
}
