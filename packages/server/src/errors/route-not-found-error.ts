import { EventloomError } from '@eventloom/core';

/** The server has nothing at this address. */
export class RouteNotFoundError extends EventloomError {
  static override readonly code = 'ROUTE_NOT_FOUND';
}
