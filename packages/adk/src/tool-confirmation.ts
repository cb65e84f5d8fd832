import { requireOptions } from './check-arguments.ts';

/**
 * A person's answer to the confirmation of a tool call, as a class, for programs that were written for `@google/adk`.
 * The `ToolConfirmation` of `@eventloom/core` is the type of plain objects with the same fields.
 */
export class AdkToolConfirmation {
  /** The name of the class in error messages. */
  static readonly name: string = 'ToolConfirmation';
  /** Empty by default. Confirmations of the runtime may have none. */
  hint?: string | undefined;
  /** Absent or false: not confirmed. */
  confirmed?: boolean | undefined;
  payload?: unknown;

  /** @throws ConfigurationError for a value that is not an object */
  constructor(given: { hint?: string; confirmed: boolean; payload?: unknown }) {
    requireOptions('ToolConfirmation', given, 'new ToolConfirmation({ confirmed: true })');
    const { hint = '', confirmed, payload } = given;
    this.hint = hint;
    this.confirmed = confirmed;
    if (payload !== undefined) this.payload = payload;
  }
}
