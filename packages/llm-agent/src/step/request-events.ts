import {
  askedCallId,
  ConfigurationError,
  enclosureOf,
  type Event,
  type EventActions,
  type FunctionCall,
  getOwn,
  type InputRequest,
  inputRequestOf,
  inputRequestPart,
  type InvocationContext,
  type Part,
  REQUEST_CONFIRMATION,
  REQUEST_CREDENTIAL,
  REQUEST_INPUT,
  setOwn,
} from '@eventloom/core';

/**
 * What the model is told of a call while a person is asked about it: what the tool said, or that it waits. An agent that is called
 * as a tool can wait in a resumable run only: in others its questions are taken back, and its model is told so.
 */
export function whileAsking(
  context: InvocationContext,
  actions: EventActions,
  response: Record<string, unknown> | undefined,
): Record<string, unknown> | undefined {
  if (enclosureOf(context.branch) !== '' && !context.isResumable) {
    delete actions.requestedAuthConfigs;
    delete actions.requestedToolConfirmations;
    delete actions.requestedInputs;
    return {
      error:
        'This tool call needs an answer of a person, for which an agent that is a tool can wait in a resumable run only.',
    };
  }
  if (response) return response;
  return { error: `This tool call requires ${whatIsAsked(actions)}.` };
}

function whatIsAsked({ requestedToolConfirmations, requestedAuthConfigs }: EventActions): string {
  if (requestedToolConfirmations) return 'confirmation, please approve or reject';
  return requestedAuthConfigs ? 'a credential' : 'input of a person';
}

/**
 * The events by which a client is asked, for credentials first: calls of the runtime's own that are answered by function
 * responses. What was asked before is not asked again. Tools can write to actions what they like: what is secret is taken out of them here.
 * @throws ConfigurationError when a tool asks for a credential by hand and the runner has no credential service
 */
export function requestEvents(
  context: InvocationContext,
  calls: readonly FunctionCall[],
  actions: EventActions,
  before: readonly FunctionCall[] = [],
): Event[] {
  const { requestedAuthConfigs: auths, requestedToolConfirmations: confirmations, requestedInputs: inputs } = actions;
  const events: Event[] = [];
  const wasAsked = (name: string, { id: callId }: FunctionCall, key?: string): boolean =>
    before.some(
      (earlier) => earlier.name === name && askedCallId(earlier) === callId && inputRequestOf(earlier)?.key === key,
    );
  const ask = (partsOf: (call: FunctionCall, callId: string) => readonly Part[]): void => {
    const parts = calls.flatMap((call) => partsOf(call, call.id ?? ''));
    const longRunningToolIds = parts.flatMap(({ functionCall }) => functionCall?.id ?? []);
    if (parts.length > 0) events.push(context.createEvent({ content: { role: 'model', parts }, longRunningToolIds }));
  };
  const newId = (): string => `adk-${context.platform.newUuid()}`;
  if (auths) {
    const service = context.invocation.credentialService;
    if (!service) throw new ConfigurationError('requestedAuthConfigs: the runner has no credentialService');
    for (const id of Object.keys(auths)) setOwn(auths, id, service.describe(auths[id]));
    ask((call, functionCallId) => {
      const authConfig = getOwn(auths, functionCallId);
      if (authConfig === undefined || wasAsked(REQUEST_CREDENTIAL, call)) return NOTHING;
      return [{ functionCall: { id: newId(), name: REQUEST_CREDENTIAL, args: { functionCallId, authConfig } } }];
    });
  }
  if (confirmations) {
    ask((originalFunctionCall, callId) => {
      const toolConfirmation = getOwn(confirmations, callId);
      if (!toolConfirmation || wasAsked(REQUEST_CONFIRMATION, originalFunctionCall)) return NOTHING;
      const args = { originalFunctionCall, toolConfirmation };
      return [{ functionCall: { id: newId(), name: REQUEST_CONFIRMATION, args } }];
    });
  }
  if (inputs) {
    ask((call, callId) =>
      (getOwn(inputs, callId) ?? NO_INPUTS)
        .filter(({ key }) => !wasAsked(REQUEST_INPUT, call, key))
        .map((request) => inputRequestPart(request, newId(), callId)),
    );
  }
  return events;
}

const NOTHING: readonly Part[] = [];
const NO_INPUTS: readonly InputRequest[] = [];
