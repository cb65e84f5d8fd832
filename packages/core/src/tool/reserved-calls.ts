import type { FunctionCall } from '../content/content.ts';
import { isRecord } from '../content/json.ts';

/** The tool that a model calls to return an answer that matches the agent's `outputSchema`. */
export const SET_MODEL_RESPONSE = 'set_model_response';

/** Name of the tool with which a model transfers the conversation to another agent. */
export const TRANSFER_TO_AGENT = 'transfer_to_agent';

/** The tool that an agent with `mode: 'task'` calls with its result. (ADK 2, `FINISH_TASK_TOOL_NAME`.) */
export const FINISH_TASK = 'finish_task';

/** The tool that an agent of a SequentialAgent calls in a live run to end its part, so that the next agent starts. */
export const TASK_COMPLETED = 'task_completed';

/** The response given to the model for a tool call that was interrupted: it may or may not have run. */
export const INTERRUPTED_CALL = {
  error: 'interrupted',
  message: 'The call was interrupted while it ran. It may or may not have had its effect.',
};

/** The response to a call that had begun when its run or its agent ended. */
export const INTERRUPTED_AT_END = {
  error: 'interrupted',
  message: 'The call was interrupted when its run or its agent ended. It may or may not have had its effect.',
};

/** The response to a call that had not begun when its run or its agent ended. */
export const NOT_BEGUN = { error: 'interrupted', message: 'The run or the agent ended before the call began.' };

/** The response, in the copy of a session, to a call that was in progress at the last event of the copy. */
export const INTERRUPTED_BY_COPY = {
  error: 'interrupted',
  message: 'The session was copied while the call was in progress. It may or may not have had its effect.',
};

const INTERRUPTIONS = [INTERRUPTED_CALL, INTERRUPTED_AT_END, NOT_BEGUN, INTERRUPTED_BY_COPY];

/** True for a response by which the runtime says that a call was interrupted, and false for what a tool returned. */
export function isInterruption({ error, message }: Readonly<Record<string, unknown>>): boolean {
  return INTERRUPTIONS.some((response) => error === response.error && message === response.message);
}

/** The response of a call that the model of a live run took back. It is stored and yielded, and not sent to that model. */
export const CANCELLED_CALL = {
  error: 'cancelled',
  message: 'The model took the call back. It may have had its effect or not.',
};

/**
 * Name of the function call that asks a person to confirm a tool call. Its arguments: `{originalFunctionCall,
 * toolConfirmation}`. (ADK, `REQUEST_CONFIRMATION_FUNCTION_CALL_NAME`.)
 */
export const REQUEST_CONFIRMATION = 'adk_request_confirmation';
/** Name of the function call that asks the client for a credential. Its arguments: `{functionCallId, authConfig}`. */
export const REQUEST_CREDENTIAL = 'adk_request_credential';
/**
 * Name of the function call that asks a person for input. Its arguments: `{interruptId, key?, message?, payload?,
 * response_schema?}`, and `functionCallId` if a tool asks.
 */
export const REQUEST_INPUT = 'adk_request_input';

/** Names of functions that the runtime itself declares. */
const RESERVED: ReadonlySet<string> = new Set([FINISH_TASK, SET_MODEL_RESPONSE, TASK_COMPLETED, TRANSFER_TO_AGENT]);

/** True for the name of a function that the runtime itself declares. No tool from outside may have it. */
export function isReservedToolName(name: string): boolean {
  return RESERVED.has(name);
}

/** True for a call that transfers the conversation, and for its response. */
export function isTransfer(call: { readonly name?: string | undefined } | undefined): boolean {
  return call?.name === TRANSFER_TO_AGENT;
}

/** True for a call that requests a person's answer, and for its response. */
export function isPersonRequest({ name }: { readonly name?: string | undefined }): boolean {
  return name === REQUEST_CONFIRMATION || name === REQUEST_CREDENTIAL || name === REQUEST_INPUT;
}

/**
 * True for a question to a person that a model asks itself, with a tool of the name `adk_request_input`. The model reads its call and the
 * answer, as for other tools. Requests of the runtime have an `interruptId` or a `functionCallId`.
 */
export function isQuestionOfModel({ name, args }: FunctionCall): boolean {
  return name === REQUEST_INPUT && args?.['interruptId'] === undefined && args?.['functionCallId'] === undefined;
}

/** Returns the id of the tool call that a request to a person is about; undefined for other calls and for requests of an agent. */
export function aboutCallId(call: FunctionCall): string | undefined {
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
