import { checkOptions, type OptionRules, SCHEMA_RULE } from '../agent/options.ts';
import type { FunctionCall, Part } from '../content/content.ts';
import { copyJson } from '../content/copy-json.ts';
import { describeKind, getOwn, isRecord } from '../content/json.ts';
import type { InvocationContext } from '../context/invocation-context.ts';
import { ConfigurationError } from '../errors.ts';
import type { EventActions, InputRequest, ToolConfirmation } from '../event/event-actions.ts';
import { REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT } from '../tool/reserved-calls.ts';
import { publicAuthConfigs } from '../tool/run-under-ledger.ts';
import { isLibrarySchema, librarySchemaToJson } from '../tool/standard-schema.ts';

// Requests of tools and agents to a person: for a confirmation of a tool call, for a credential, and for input.

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
  const each = <T>(
    wishes: Readonly<Record<string, T>> = {},
    toParts: (wish: T, call: FunctionCall) => Part[],
  ): Part[] =>
    calls.flatMap((call) => {
      const wish = getOwn(wishes, call.id ?? '');
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
 * The response of a tool that is not run because of the person's response to the request call: they gave no credential,
 * or responded too late. Undefined when the tool is to be run, and while there is no response. If the person declined,
 * the tool is run and decides what that means.
 */
export function refusalOf({ name }: FunctionCall, response: Response): { error: string } | undefined {
  if (!response) return undefined;
  if (response['expired'] === true) return { error: 'This tool call was not run: it was answered too late.' };
  if (name !== REQUEST_CREDENTIAL || response['provided'] === true) return undefined;
  return { error: 'This tool call was not run: no credential was given.' };
}

/** Parameters of a request for input to a person. */
export interface InputRequestParams {
  /** Distinguishes several requests of one call or of one agent. Default: the empty string. */
  readonly key?: string;
  /** The text to show to the person. */
  readonly message?: string;
  /** Further data for the client, as JSON. */
  readonly payload?: unknown;
  /**
   * Schema of the answer: JSON Schema, or a library's schema that can be converted to it (zod, arktype, …). Answers that do not
   * match are rejected before the agent gets them. Default: any answer.
   */
  readonly responseSchema?: object;
}

const PARAMS: OptionRules<InputRequestParams> = {
  key: 'text',
  message: { is: 'text', write: "'Which size?'" },
  // Any JSON; `copyJson` checks it.
  payload: 'any',
  responseSchema: SCHEMA_RULE,
};

/**
 * Converts the parameters to the request that is stored.
 * @param caller name of the calling function, for error messages
 * @throws ConfigurationError for an unknown parameter or one of another kind, for a schema that JSON Schema cannot express, and for values
 * that are not JSON
 */
export function toInputRequest(caller: string, params: InputRequestParams): InputRequest {
  checkOptions(caller, PARAMS, params, {}, `${caller}({ message: 'Which size?' })`);
  const { key = '', message, payload, responseSchema } = params;
  const isOfLibrary = responseSchema !== undefined && isLibrarySchema(responseSchema);
  // Schemas of some libraries, such as arktype, are functions.
  if (typeof responseSchema === 'function' && !isOfLibrary)
    throw new ConfigurationError(
      `${caller}: responseSchema: expected a schema, got ${describeKind(responseSchema)}; write responseSchema: z.string(), or a JSON Schema`,
    );
  const schema = isOfLibrary ? librarySchemaToJson(caller, responseSchema) : responseSchema && { ...responseSchema };
  const copied = copyJson({ key, message, payload, responseSchema: schema });
  if ('value' in copied) return copied.value as unknown as InputRequest;
  const { path, reason } = copied.fault;
  throw new ConfigurationError(`${caller}: ${path} ${reason}; a question to a person must be JSON`);
}

/**
 * Creates the function call that asks a person for input. Its arguments have the names of the ADK.
 * @param id id of the function call, which the answer refers to
 * @param functionCallId id of the tool call that asks; absent if an agent asks
 */
export function inputRequestPart(
  { key, message, payload, responseSchema }: InputRequest,
  id: string,
  functionCallId?: string,
): Part {
  const args: Record<string, unknown> = { interruptId: id };
  if (key !== '') args['key'] = key;
  if (functionCallId !== undefined) args['functionCallId'] = functionCallId;
  if (message !== undefined) args['message'] = message;
  if (payload !== undefined) args['payload'] = payload;
  if (responseSchema !== undefined) args['response_schema'] = responseSchema;
  return { functionCall: { id, name: REQUEST_INPUT, args } };
}

/** A request that a tool call made: see `ToolContext.requests`. */
export type ToolRequest =
  | { readonly kind: 'confirmation'; readonly hint: string; readonly payload?: unknown }
  | { readonly kind: 'credential'; readonly credentialKey: string }
  | ({ readonly kind: 'input' } & Readonly<InputRequest>);

/** Returns the request in a function call that requests input; undefined for other calls. */
export function toolRequestOf(call: FunctionCall): ToolRequest | undefined {
  const { toolConfirmation, authConfig } = call.args ?? {};
  if (call.name === REQUEST_CONFIRMATION && isRecord(toolConfirmation)) {
    const { hint, payload } = toolConfirmation;
    return {
      kind: 'confirmation',
      hint: typeof hint === 'string' ? hint : '',
      ...(payload !== undefined && { payload }),
    };
  }
  const credentialKey = isRecord(authConfig) ? authConfig['credentialKey'] : undefined;
  if (call.name === REQUEST_CREDENTIAL && typeof credentialKey === 'string')
    return { kind: 'credential', credentialKey };
  const input = inputRequestOf(call);
  return input && { kind: 'input', ...input };
}

/** Returns the request for input that a call makes; undefined for other calls. */
export function inputRequestOf({ name, args }: FunctionCall): InputRequest | undefined {
  if (name !== REQUEST_INPUT) return undefined;
  const { key, message, payload, response_schema: responseSchema } = args ?? {};
  const request: InputRequest = { key: typeof key === 'string' ? key : '' };
  if (typeof message === 'string') request.message = message;
  if (payload !== undefined && payload !== null) request.payload = payload;
  if (isRecord(responseSchema)) request.responseSchema = responseSchema;
  return request;
}

/** Returns the answer in a stored response; undefined if it arrived too late. */
export function inputOf(response: Response): unknown {
  return response?.['expired'] === true ? undefined : response?.['result'];
}
