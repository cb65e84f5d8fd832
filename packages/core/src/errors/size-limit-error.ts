import { EventloomError } from './eventloom-error.ts';

/**
 * An event, a state value, a tool's response or an artifact is larger than the back end stores in one piece; its documentation
 * states the limit. Nothing was changed. Retrying does not help: save what is large as an artifact, and refer to it; keep large
 * artifacts in a back end that takes them.
 */
export class SizeLimitError extends EventloomError {
  static override readonly code: string = 'SIZE_LIMIT';
}
