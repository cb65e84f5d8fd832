import { InvalidRequestError } from '@eventloom/core';
import { checkName } from '@eventloom/core/internal';
import type { Runner } from '@eventloom/runner';
import { AppNotFoundError } from '../errors.ts';
import type { FrontContext, ServerContext } from '../server-context.ts';

/**
 * Checks the id of a user or a session that a request names.
 * @throws InvalidRequestError if it is blank, has a control character, is longer than 256 bytes, or has a segment `.` or `..`, which code
 * that builds a path or an address from it would resolve
 */
export function checkId(field: string, id: string): void {
  if (id.trim() === '') throw new InvalidRequestError(`${field}: is blank`);
  if (CONTROL_CHARACTER.test(id)) throw new InvalidRequestError(`${field}: holds a control character`);
  if (DOT_SEGMENT.test(id)) throw new InvalidRequestError(`${field}: has a segment "." or ".."`);
  checkName(field, id);
}

/** Finds a control character, such as NUL. */
export const CONTROL_CHARACTER: RegExp = /\p{Cc}/u;
const DOT_SEGMENT = /(^|[/\\])\.\.?([/\\]|$)/;

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
