import { InvalidRequestError } from '@eventloom/core';

/** What a URL parser drops, wherever it stands. */
const DROPPED = /[\t\n\r]/g;
const DOT_SEGMENT = /^(\.|%2e){1,2}$/i;

/**
 * Refuses a request target that has a step in its path, encoded or not: it would be taken, and another address reached than the one
 * that whoever looked at the request saw.
 * @param target as it was sent, before anything parsed it: a path or a whole address
 * @throws InvalidRequestError
 */
export function checkRequestTarget(target: string): void {
  const [path = ''] = target
    .replaceAll(DROPPED, '')
    .replace(/^[a-z][a-z\d+.-]*:\/\/[^/\\?#]*/i, '')
    .split(/[?#]/, 1);
  // For a web address a backslash is a slash.
  if (path.split(/[/\\]/).some((segment) => DOT_SEGMENT.test(segment))) {
    throw new InvalidRequestError('path: has a segment "." or "..", which is not resolved; write the address without');
  }
}
