import { EventloomError, type EventloomErrorOptions } from './eventloom-error.ts';

/** Something that should be an event is not one; the message names the path at fault. */
export class InvalidEventError extends EventloomError {
  static override readonly code = 'INVALID_EVENT';
  /** The path at fault, e.g. `event.content.parts[0].text`, when there is one. */
  readonly path: string | undefined;

  constructor(message: string, options: EventloomErrorOptions & { readonly path?: string } = {}) {
    super(message, options);
    this.path = options.path;
  }
}
