import { InvalidRequestError } from '@eventloom/core';

const MAX_PAGE = 1000;

/** How much a page of a listing holds. @throws InvalidRequestError for a limit that is no positive integer */
export function toPageSize(limit: number = MAX_PAGE): number {
  if (!Number.isInteger(limit) || limit < 1) throw new InvalidRequestError('limit: must be a positive integer');
  return Math.min(limit, MAX_PAGE);
}

/** The error for a cursor that no listing wrote. */
export function badCursorError(): InvalidRequestError {
  return new InvalidRequestError('cursor: is not one that this listing gave; start again without one');
}
