import type { FunctionCall } from '../content/content.ts';
import { isRecord } from '../content/json.ts';

/** The tool with which a model returns an answer that matches the agent's `outputSchema`. */
export const SET_MODEL_RESPONSE = 'set_model_response';

/** The tool with which an agent of a sequence, in a live run, ends its part, so that the next agent starts. */
export const TASK_COMPLETED = 'task_completed';

/** The response given to the model for a tool call that was interrupted: it may or may not have run. */
export const INTERRUPTED_CALL = {
  error: 'interrupted',
  message: 'The call was cut off while it ran. It may have had its effect or not.',
};

/**
 * The call with which the runtime asks a person to confirm a tool call: `{originalFunctionCall, toolConfirmation}`. This constant and the two
 * below are also exported under their ADK names, `REQUEST_CONFIRMATION_FUNCTION_CALL_NAME` and the like.
 */
export const REQUEST_CONFIRMATION = 'adk_request_confirmation';
/** The call with which the runtime asks the client for a credential: `{functionCallId, authConfig}`. */
export const REQUEST_CREDENTIAL = 'adk_request_credential';
/**
 * The call with which a tool or an agent asks a person for input: `{interruptId, message?, payload?, response_schema?}`, with the
 * `functionCallId` of a tool that asks.
 */
export const REQUEST_INPUT = 'adk_request_input';

const REQUESTS = new Set<string | undefined>([REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT]);

/** True for a call that asks a person, and for the response to such a call. */
export function isPersonRequest({ name }: { readonly name?: string | undefined }): boolean {
  return REQUESTS.has(name);
}

/** The id of the tool call for which a person is asked; undefined for other calls, and when an agent asks. */
export function askedCallId(call: FunctionCall): string | undefined {
  if (!isPersonRequest(call)) return undefined;
  const { originalFunctionCall: original, functionCallId } = call.args ?? {};
  const id = call.name === REQUEST_CONFIRMATION ? isRecord(original) && original['id'] : functionCallId;
  return typeof id === 'string' ? id : undefined;
}

const TOOL_NAME = /^[A-Za-z_][\w.:-]{0,127}$/;

/** True for a name that models accept for a tool. */
export function isToolName(name: unknown): name is string {
  return typeof name === 'string' && TOOL_NAME.test(name);
}
