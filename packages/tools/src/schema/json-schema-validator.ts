import { Validator } from '@cfworker/json-schema';
import { ConfigurationError, copyJson, toError } from '@eventloom/core';
import { toValidatingSchema } from './json-schema.ts';
import type { JsonSchema } from './standard-schema.ts';

/** Keywords that only say that something below them is wrong, which is reported by itself. */
const SUMMARIES = new Set([
  '$ref',
  '$recursiveRef',
  'additionalProperties',
  'allOf',
  'dependentSchemas',
  'if',
  'items',
  'patternProperties',
  'prefixItems',
  'properties',
  'unevaluatedItems',
  'unevaluatedProperties',
]);

/**
 * Checks values against JSON Schema, draft 2020-12. The schema is interpreted and no code is evaluated, so it works where `eval`
 * is forbidden. The schema object is neither kept nor changed.
 */
export class JsonSchemaValidator {
  readonly #owner: string;
  readonly #validator: Validator;

  /** @throws ConfigurationError for a schema that is none */
  constructor(schema: JsonSchema, owner: string) {
    this.#owner = owner;
    this.#validator = this.#guard(() => new Validator(toValidatingSchema(schema), '2020-12', false));
  }

  /** What is wrong with the value, a line each. @throws ConfigurationError for a schema with a broken pattern or reference */
  issues(value: unknown): string[] {
    const copied = copyJson(value);
    if ('fault' in copied) return [`${copied.fault.path || 'value'}: ${copied.fault.reason}`];
    const { valid, errors } = this.#guard(() => this.#validator.validate(copied.value));
    if (valid) return [];
    return errors
      .filter(({ keyword }) => !SUMMARIES.has(keyword))
      .map(
        ({ keyword, instanceLocation, error }) =>
          `${readPointer(instanceLocation)}: ${keyword === 'false' ? 'is not allowed' : error}`,
      );
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (cause) {
      throw new ConfigurationError(`${this.#owner}: the schema cannot be used: ${toError(cause).message}`, { cause });
    }
  }
}

/** A JSON pointer as a dotted path. */
function readPointer(pointer: string): string {
  const path = pointer
    .split('/')
    .slice(1)
    .map((segment) => decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.');
  return path === '' ? 'value' : path;
}
