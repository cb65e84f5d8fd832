import { type OutputUnit, Validator } from '@cfworker/json-schema';
import { ConfigurationError, toError } from '@eventloom/core';
import { copyJson } from '@eventloom/core/internal';
import { toValidatingSchema } from './json-schema.ts';
import type { JsonSchema } from './standard-schema.ts';

/** Keywords whose errors only repeat that a nested schema failed. The nested errors are reported at their own paths. */
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
 * Checks values against JSON Schema, draft 2020-12. Interprets the schema without generating code, so it works where `eval` is
 * forbidden.
 */
export class JsonSchemaValidator {
  readonly #owner: string;
  readonly #schema: JsonSchema;
  #validator: Validator | undefined;

  /** @param owner start of error messages, e.g. `tool "x"` */
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
      // The validator modifies its schema, so it gets a copy.
      this.#validator ??= new Validator(toValidatingSchema(this.#schema, this.#owner), '2020-12', false);
      return this.#validator.validate(copied.value).errors.flatMap(issueOf);
    } catch (cause) {
      // Error paths are URIs, which cannot contain a lone surrogate.
      if (cause instanceof URIError) return ['value: has a name that is not well-formed text'];
      const [thrown] = toError(cause).message.split('\n', 1);
      const reason = cause instanceof RangeError ? 'its references lead in a circle' : thrown;
      throw new ConfigurationError(`${this.#owner}: the schema cannot be used: ${reason}`, { cause });
    }
  }
}

function issueOf({ instanceLocation, keyword, error }: OutputUnit): string[] {
  if (SUMMARIES.has(keyword)) return [];
  const keys = instanceLocation.split('/').slice(1).map(unescapeKey);
  return [`${keys.join('.') || 'value'}: ${keyword === 'false' ? 'is not allowed' : error}`];
}

/** Decodes one key of a JSON pointer in a URI. */
function unescapeKey(segment: string): string {
  return decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~');
}
