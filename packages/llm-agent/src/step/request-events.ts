import {
  askedCallId,
  ConfigurationError,
  enclosureOf,
  type Event,
  type EventActions,
  type FunctionCall,
  getOwn,
  type InvocationContext,
  type Part,
  REQUEST_CONFIRMATION,
  REQUEST_CREDENTIAL,
  setOwn,
} from '@eventloom/core';

/**
 * What the model is told of a call while a person is asked about it: what the tool said, or that it waits. An agent that is called
 * as a tool cannot wait: its questions are taken back, and its model is told so.
 */
export function whileAsking(
  context: InvocationContext,
  actions: EventActions,
  response: Record<string, unknown> | undefined,
): Record<string, unknown> | undefined {
  if (enclosureOf(context.branch) !== '') {
    delete actions.requestedAuthConfigs;
    delete actions.requestedToolConfirmations;
    return {
      error: 'This tool call needs an answer of a person, and an agent that is called as a tool cannot wait for one.',
    };
  }
  if (response) return response;
  const what = actions.requestedToolConfirmations ? 'confirmation, please approve or reject' : 'a credential';
  return { error: `This tool call requires ${what}.` };
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
  const { requestedAuthConfigs: auths, requestedToolConfirmations: confirmations } = actions;
  const events: Event[] = [];
  const ask = (name: string, args: (call: FunctionCall, id: string) => Record<string, unknown> | undefined): void => {
    const parts: Part[] = [];
    const longRunningToolIds: string[] = [];
    for (const call of calls) {
      const asked = args(call, call.id ?? '');
      if (!asked || before.some((earlier) => earlier.name === name && askedCallId(earlier) === call.id)) continue;
      const id = `adk-${context.platform.newUuid()}`;
      longRunningToolIds.push(id);
      parts.push({ functionCall: { id, name, args: asked } });
    }
    if (parts.length > 0) events.push(context.createEvent({ content: { role: 'model', parts }, longRunningToolIds }));
  };
  if (auths) {
    const service = context.invocation.credentialService;
    if (!service) throw new ConfigurationError('requestedAuthConfigs: the runner has no credentialService');
    for (const id of Object.keys(auths)) setOwn(auths, id, service.describe(auths[id]));
    ask(REQUEST_CREDENTIAL, (_call, id) => {
      const authConfig = getOwn(auths, id);
      return authConfig === undefined ? undefined : { functionCallId: id, authConfig };
    });
  }
  if (confirmations) {
    ask(REQUEST_CONFIRMATION, (originalFunctionCall, id) => {
      const toolConfirmation = getOwn(confirmations, id);
      return toolConfirmation && { originalFunctionCall, toolConfirmation };
    });
  }
  return events;
}
