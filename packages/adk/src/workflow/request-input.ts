import { createEvent, type Event, REQUEST_INPUT } from '@eventloom/core';
import { checkOptions, type OptionRules, SCHEMA_RULE, wrongOption } from '@eventloom/core/internal';
import { type SchemaLike, ValueSchema } from '@eventloom/tools';

/** Options of a `RequestInput`. */
export interface RequestInputParams {
  /** Id of the question: the answer is a function response with this id. Default: a new UUID. */
  interruptId?: string | undefined;
  /** Further data for the client, as JSON. */
  payload?: unknown;
  /** The text to show to the person. */
  message?: string | undefined;
  /** Schema of the answer. A structured answer that does not match is refused. Default: any answer. */
  responseSchema?: SchemaLike | undefined;
}

const OPTIONS: OptionRules<RequestInputParams> = {
  interruptId: 'text',
  // Any JSON value.
  payload: 'any',
  message: { is: 'text', write: "'Which city?'" },
  responseSchema: SCHEMA_RULE,
};

/**
 * A question to a person. A node that yields or returns it waits for the answer, and so does its workflow. The answer is the next message:
 * a text, or a function response of `adk_request_input` with `{ result }` or with an object that matches the schema. It becomes the
 * output of the node, or its `context.resumeInputs[interruptId]` if the node has `rerunOnResume`.
 *
 * @example
 * const ask = node(() => new RequestInput({ message: 'Which city?' }), { name: 'ask' });
 */
export class RequestInput {
  readonly interruptId: string;
  readonly payload: unknown;
  readonly message: string | undefined;
  readonly responseSchema: SchemaLike | undefined;

  /** @throws ConfigurationError for an invalid option, and for one that does not exist */
  constructor(params: RequestInputParams = {}) {
    checkOptions('RequestInput', OPTIONS, params, {}, "new RequestInput({ message: 'Which city?' })");
    const { interruptId, payload, message, responseSchema } = params;
    // A response without an id answers no call.
    if (interruptId === '')
      throw wrongOption('RequestInput', 'interruptId', 'a text that is not empty', interruptId, "'city'");
    this.interruptId = interruptId ?? crypto.randomUUID();
    this.payload = payload;
    this.message = message;
    this.responseSchema = responseSchema;
  }

  get '~eventloom.adk-request-input'(): true {
    return true;
  }
}

/** The mark of a `RequestInput` of `@google/adk`, which has the same fields: a file of the program may still import it from there. */
const ADK_MARK = Symbol.for('google.adk.workflow.requestInput');

/** Returns true for a `RequestInput`, including one of another loaded copy of this package, or of `@google/adk`. */
export function isRequestInput(value: unknown): value is RequestInput {
  return typeof value === 'object' && value !== null && ('~eventloom.adk-request-input' in value || ADK_MARK in value);
}

/** Makes the event that asks the client. @throws ConfigurationError for a schema that JSON Schema cannot express */
export function requestInputEvent({ interruptId: id, payload, message, responseSchema }: RequestInput): Event {
  const schema = responseSchema && new ValueSchema(responseSchema, 'RequestInput: responseSchema').json;
  // Clients of the ADK find every argument, with null for none.
  const args = {
    interruptId: id,
    payload: payload ?? null,
    message: message ?? null,
    response_schema: schema ?? null,
  };
  const content = { role: 'model', parts: [{ functionCall: { id, name: REQUEST_INPUT, args } }] };
  return createEvent({ content, longRunningToolIds: [id] });
}
