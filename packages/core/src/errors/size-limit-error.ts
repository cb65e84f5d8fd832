import { EventloomError } from './eventloom-error.ts';

/**
 * An event, a state value or a tool's response is larger than the back end stores in one piece; its documentation states the
 * limit. Nothing was changed. Retrying does not help: save what is large as an artifact, and refer to it.
 */
export class SizeLimitError extends EventloomError {
  static override readonly code: string = 'SIZE_LIMIT';
}
