/** The answer of a person who was asked to confirm a tool call. */
export class AdkToolConfirmation {
  hint: string;
  confirmed: boolean;
  payload?: unknown;

  constructor({ hint = '', confirmed, payload }: { hint?: string; confirmed: boolean; payload?: unknown }) {
    this.hint = hint;
    this.confirmed = confirmed;
    if (payload !== undefined) this.payload = payload;
  }
}
