import { EventloomError } from '@eventloom/core';

/** The request does not say who it comes from, or not in a way that is believed. */
export class UnauthenticatedError extends EventloomError {
  static override readonly code = 'UNAUTHENTICATED';
}
