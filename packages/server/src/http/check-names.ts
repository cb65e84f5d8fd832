import { checkName, InvalidRequestError } from '@eventloom/core';
import type { Runner } from '@eventloom/runner';
import { AppNotFoundError } from '../errors.ts';
import type { FrontContext, ServerContext } from '../server-context.ts';

/**
 * Checks the id of a user or a session that a request names.
 * @throws InvalidRequestError if it is blank, has a control character, is longer than 256 bytes, or has a segment `.` or `..`, which code
 * that builds a path or an address from it would resolve
 */
export function checkId(field: string, id: string): void {
  const fault = findFault(id);
  if (fault !== undefined) throw new InvalidRequestError(`${field}: ${fault}`);
  checkName(field, id);
}

function findFault(id: string): string | undefined {
  if (id.trim() === '') return 'is blank';
  if (hasControlCharacter(id)) return 'holds a control character';
  if (id.split(/[/\\]/).some((segment) => segment === '.' || segment === '..')) return 'has a segment "." or ".."';
  return undefined;
}

/** True for a text with a control character, such as NUL. */
export function hasControlCharacter(text: string): boolean {
  return /\p{Cc}/u.test(text);
}

const MAX_CHARS = 100;

/** Quotes a name for an error message, cut at 100 characters: a name from a request may be as long as its body. */
export function quotedName(name: string): string {
  return name.length > MAX_CHARS ? `${JSON.stringify(name.slice(0, MAX_CHARS))}…` : JSON.stringify(name);
}

/** Returns the name of an existing app. @throws AppNotFoundError */
export function checkAppName({ runners }: Pick<FrontContext, 'runners'>, appName: string): string {
  if (runners.has(appName)) return appName;
  throw appNotFound(appName);
}

function appNotFound(appName: string): AppNotFoundError {
  return new AppNotFoundError(`there is no app ${JSON.stringify(appName)}; GET /list-apps names those there are`);
}

/** Returns the runner of an app. @throws AppNotFoundError */
export function runnerOf({ runners }: Pick<ServerContext, 'runners'>, appName: string): Runner {
  const runner = runners.get(appName);
  if (runner) return runner;
  throw appNotFound(appName);
}
