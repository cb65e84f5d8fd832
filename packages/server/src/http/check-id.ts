import { checkName, InvalidRequestError } from '@eventloom/core';

/**
 * Checks the id of a user or a session that a request names.
 * @throws InvalidRequestError for one that is blank, holds a control character, is longer than 256 bytes, or has a segment `.` or `..`: it
 * would be taken for a step by something that makes a path or an address of it
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

/** True for a text with a character that is a command and no letter, such as NUL. */
export function hasControlCharacter(text: string): boolean {
  return /\p{Cc}/u.test(text);
}
