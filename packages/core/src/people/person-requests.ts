import type { FunctionCall, Part } from '../content/content.ts';
import { getOwn } from '../content/json.ts';
import { ConfigurationError } from '../errors.ts';
import type { EventActions } from '../event/event-actions.ts';
import { inputRequestPart } from '../tool/input-request.ts';
import { REQUEST_CONFIRMATION, REQUEST_CREDENTIAL } from '../tool/tool-request.ts';
import type { InvocationContext } from '../context/invocation-context.ts';
import { publicAuthConfigs } from '../context/recorded-actions.ts';

/**
 * The calls by which people are asked what the actions of these tool calls ask: for credentials, then for confirmations, then for
 * input. Tools can write to actions what they like: what is secret is taken out of them here. For those who run tools.
 * @throws ConfigurationError when a tool asks for a credential by hand and the runner has no credential service
 */
export function personRequests(
  context: InvocationContext,
  calls: readonly FunctionCall[],
  actions: EventActions,
): readonly [credentials: Part[], confirmations: Part[], inputs: Part[]] {
  const auths = publicAuthConfigs(context, actions);
  if (auths) actions.requestedAuthConfigs = auths;
  else if (actions.requestedAuthConfigs)
    throw new ConfigurationError('requestedAuthConfigs: the runner has no credentialService');
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
