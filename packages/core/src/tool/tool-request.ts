import type { FunctionCall } from '../content/content.ts';
import { isRecord } from '../content/json.ts';

/**
 * The call by which the runtime asks a person to confirm a tool call: `{originalFunctionCall, toolConfirmation}`. This constant and the two
 * below are also exported under their ADK names, `REQUEST_CONFIRMATION_FUNCTION_CALL_NAME` and the like.
 */
export const REQUEST_CONFIRMATION = 'adk_request_confirmation';
/** The call by which the runtime asks the client for a credential: `{functionCallId, authConfig}`. */
export const REQUEST_CREDENTIAL = 'adk_request_credential';
/**
 * The call by which a tool or an agent asks a person for input: `{interruptId, message?, payload?, response_schema?}`, with the
 * `functionCallId` of a tool that asks.
 */
export const REQUEST_INPUT = 'adk_request_input';

const REQUESTS = new Set<string | undefined>([REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT]);

/** True for a call that is a question to a person, and for the answer to one. */
export function isPersonRequest({ name }: { readonly name?: string | undefined }): boolean {
  return REQUESTS.has(name);
}

/** The id of the tool call that a question to a person is about; undefined for any other call, and when an agent asks. */
export function askedCallId(call: FunctionCall): string | undefined {
  if (!isPersonRequest(call)) return undefined;
  const { originalFunctionCall: original, functionCallId } = call.args ?? {};
  const id = call.name === REQUEST_CONFIRMATION ? isRecord(original) && original['id'] : functionCallId;
  return typeof id === 'string' ? id : undefined;
}
