import type { FunctionCall } from '../content/content.ts';
import { isRecord } from '../content/json.ts';

/** The call by which the runtime asks a person to confirm a tool call: `{originalFunctionCall, toolConfirmation}`. */
export const REQUEST_CONFIRMATION = 'adk_request_confirmation';
/** The call by which the runtime asks the client for a credential: `{functionCallId, authConfig}`. */
export const REQUEST_CREDENTIAL = 'adk_request_credential';
/** The call by which the runtime asks a person for input. */
export const REQUEST_INPUT = 'adk_request_input';

/** The id of the tool call that a question to a person is about; undefined for a call that is no such question. */
export function askedCallId({ name, args = {} }: FunctionCall): string | undefined {
  const original = args['originalFunctionCall'];
  const id =
    name === REQUEST_CONFIRMATION
      ? isRecord(original) && original['id']
      : name === REQUEST_CREDENTIAL && args['functionCallId'];
  return typeof id === 'string' ? id : undefined;
}
