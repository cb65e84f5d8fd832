import type { FunctionCall, Part } from '../content/content.ts';
import { getOwn } from '../content/json.ts';
import { ConfigurationError } from '../errors.ts';
import type { EventActions, ToolConfirmation } from '../event/event-actions.ts';
import { inputRequestPart } from '../tool/input-request.ts';
import { REQUEST_CONFIRMATION, REQUEST_CREDENTIAL } from '../tool/reserved-calls.ts';
import type { InvocationContext } from '../context/invocation-context.ts';
import { publicAuthConfigs } from '../context/ledger-actions.ts';

/**
 * Creates the function calls for the requests in the actions of these tool calls: for credentials, then confirmations, then input.
 * Removes secrets from `actions.requestedAuthConfigs`, which tools may write themselves. For code that runs tools.
 * @throws ConfigurationError if a tool wrote a request for a credential and the runner has no credential service
 */
export function personRequests(
  context: InvocationContext,
  calls: readonly FunctionCall[],
  actions: EventActions,
): readonly [credentials: Part[], confirmations: Part[], inputs: Part[]] {
  const auths = publicAuthConfigs(context, actions);
  if (auths) actions.requestedAuthConfigs = auths;
  else if (actions.requestedAuthConfigs)
    throw new ConfigurationError(
      'requestedAuthConfigs: the runner has no credentialService; write credentialService: new InMemoryCredentialService() in its options',
    );
  const newId = (): string => `adk-${context.platform.newUuid()}`;
  const ask = (name: string, args: Record<string, unknown>): Part => ({ functionCall: { id: newId(), name, args } });
  const each = <T>(asked: Readonly<Record<string, T>> = {}, toParts: (wish: T, call: FunctionCall) => Part[]): Part[] =>
    calls.flatMap((call) => {
      const wish = getOwn(asked, call.id ?? '');
      return wish === undefined ? [] : toParts(wish, call);
    });
  return [
    each(auths, (authConfig, { id }) => [ask(REQUEST_CREDENTIAL, { functionCallId: id, authConfig })]),
    each(actions.requestedToolConfirmations, (toolConfirmation, originalFunctionCall) => [
      ask(REQUEST_CONFIRMATION, { originalFunctionCall, toolConfirmation }),
    ]),
    each(actions.requestedInputs, (wishes, { id }) => wishes.map((wish) => inputRequestPart(wish, newId(), id))),
  ];
}

type Response = Readonly<Record<string, unknown>> | undefined;

/** Returns the person's answer to a request for a confirmation; undefined without one, and if the call requests something else. */
export function confirmationOf({ name, args }: FunctionCall, response: Response): ToolConfirmation | undefined {
  if (name !== REQUEST_CONFIRMATION || !response || response['expired'] === true) return undefined;
  const request = args?.['toolConfirmation'] as ToolConfirmation | undefined;
  const { payload } = response;
  const confirmed = response['confirmed'] === true;
  return { hint: request?.hint ?? '', confirmed, ...(payload === undefined ? {} : { payload }) };
}

/**
 * The response of a tool that is not run because of the person's response to the request call: they gave no credential, or responded too late.
 * Undefined when the tool is to be run, and while there is no response. If the person declined, the tool is run and decides what that means.
 */
export function refusalOf({ name }: FunctionCall, response: Response): { error: string } | undefined {
  if (!response) return undefined;
  if (response['expired'] === true) return { error: 'This tool call was not run: it was answered too late.' };
  if (name !== REQUEST_CREDENTIAL || response['provided'] === true) return undefined;
  return { error: 'This tool call was not run: no credential was given.' };
}
