import type { BaseLiveRequestQueue } from '@eventloom/core';

/** What holds of the client's side of a call, whichever agent has it. */
export interface ClientSide {
  /** True once a session of the service began or went on: the handle that the run was given is for the first. */
  hasSession: boolean;
  /** True between activityStart and activityEnd, when the client signals activity itself. */
  isActive: boolean;
}

const SIDES = new WeakMap<BaseLiveRequestQueue, ClientSide>();

/** The client's side of the call that this queue is for. */
export function clientSideOf(queue: BaseLiveRequestQueue): ClientSide {
  let side = SIDES.get(queue);
  if (!side) {
    side = { hasSession: false, isActive: false };
    SIDES.set(queue, side);
  }
  return side;
}
