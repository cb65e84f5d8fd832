import { CallbackContext, type CallbackContextParams } from './callback-context.ts';

/** What a tool works with, one for each call. */
export class ToolContext extends CallbackContext {
  /** The id of the function call: tells two calls of one reply apart, and names the call when a result comes later. */
  readonly functionCallId: string;

  constructor(params: CallbackContextParams & { readonly functionCallId: string }) {
    super(params);
    this.functionCallId = params.functionCallId;
  }
}
