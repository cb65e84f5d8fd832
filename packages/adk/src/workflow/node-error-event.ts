import { createEvent, type Event, type EventParams } from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { requireOptions } from '../check-arguments.ts';
import { namesOf } from './retry.ts';

/** An event that reports the failure of a node. */
export interface NodeErrorEvent extends Event {
  readonly isNodeError: true;
  /** Name of the error. */
  readonly errorType: string;
  readonly attemptCount: number;
}

/** Parameters of `createNodeErrorEvent`: the error, and fields of the event. */
export interface CreateNodeErrorEventParams extends Omit<EventParams, 'error'> {
  readonly error: unknown;
  /** Number of attempts that failed. Default 1. */
  readonly attemptCount?: number | undefined;
}

/** Creates the event that reports the failure of a node. Its `errorCode` is the code of the error, or `UNKNOWN_ERROR`. */
export function createNodeErrorEvent(given: CreateNodeErrorEventParams): NodeErrorEvent {
  requireOptions('createNodeErrorEvent', given, "createNodeErrorEvent({ error, author: 'work' })");
  const { error, attemptCount = 1, ...params } = given;
  const code: unknown = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  const event = createEvent({
    ...params,
    errorCode:
      params.errorCode ?? (typeof code === 'string' || typeof code === 'number' ? String(code) : 'UNKNOWN_ERROR'),
    errorMessage: params.errorMessage ?? (error instanceof Error ? error.message : String(error)),
  });
  const [errorType = 'Error'] = namesOf(error);
  return { ...event, isNodeError: true, errorType, attemptCount };
}

/** Returns true for an event that reports the failure of a node. */
export function isNodeErrorEvent(event: Event): event is NodeErrorEvent {
  return isRecord(event) && 'isNodeError' in event && event.isNodeError === true;
}
