import { type OutputUnit, Validator } from '@cfworker/json-schema';
import { ConfigurationError, toError } from '@eventloom/core';
import { copyJson } from '@eventloom/core/internal';
import { toValidatingSchema } from './json-schema.ts';
import type { JsonSchema } from './standard-schema.ts';

/** Keywords that only say that a schema below them failed: what failed there is reported at its own path. */
const SUMMARIES: ReadonlySet<string> = new Set([
  '$ref',
  '$recursiveRef',
  'allOf',
  'if',
  'dependentSchemas',
  'properties',
  'patternProperties',
  'additionalProperties',
  'unevaluatedProperties',
  'prefixItems',
  'items',
  'additionalItems',
  'unevaluatedItems',
]);

/**
 * Checks values against JSON Schema, draft 2020-12. The schema is interpreted and no code is evaluated, so it works where `eval`
 * is forbidden.
 */
export class JsonSchemaValidator {
  readonly #owner: string;
  readonly #schema: JsonSchema;
  #validator: Validator | undefined;

  /** @param owner whose schema it is, for messages: `tool "x"` */
  constructor(schema: JsonSchema, owner: string) {
    this.#owner = owner;
    this.#schema = schema;
  }

  /**
   * Returns the problems of the value, one line each: `days.0: 99 is greater than 14.`
   * @throws ConfigurationError for a schema with a broken pattern or reference
   */
  issues(value: unknown): string[] {
    const copied = copyJson(value);
    if ('fault' in copied) return [`${copied.fault.path || 'value'}: ${copied.fault.reason}`];
    try {
      // It marks the schemas that it is given, so it gets a copy.
      this.#validator ??= new Validator(toValidatingSchema(this.#schema), '2020-12', false);
      return this.#validator.validate(copied.value).errors.flatMap(issueOf);
    } catch (cause) {
      // The paths of errors are URIs, which cannot hold half a character.
      if (cause instanceof URIError) return ['value: has a name that is not well-formed text'];
      const [reason] = toError(cause).message.split('\n', 1);
      throw new ConfigurationError(`${this.#owner}: the schema cannot be used: ${reason}`, { cause });
    }
  }
}

function issueOf({ instanceLocation, keyword, error }: OutputUnit): string[] {
  if (SUMMARIES.has(keyword)) return [];
  const keys = instanceLocation.split('/').slice(1).map(unescapeKey);
  return [`${keys.join('.') || 'value'}: ${keyword === 'false' ? 'is not allowed' : error}`];
}

/** A key from a JSON pointer in a URI. */
function unescapeKey(segment: string): string {
  return decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~');
}
