import { ConfigurationError, copyJson, toError } from '@eventloom/core';
import { SchemaCheck } from './schema-check.ts';
import { SchemaReferences } from './schema-references.ts';
import type { JsonSchema } from './standard-schema.ts';

/**
 * Checks values against JSON Schema, draft 2020-12. The schema is interpreted and no code is evaluated, so it works where `eval`
 * is forbidden.
 */
export class JsonSchemaValidator {
  readonly #owner: string;
  readonly #schema: JsonSchema;
  readonly #references: SchemaReferences;

  /** @param schema as `toValidatingSchema` gives it; it is kept */
  constructor(schema: JsonSchema, owner: string) {
    this.#owner = owner;
    this.#schema = schema;
    this.#references = new SchemaReferences(this.#schema);
  }

  /** What is wrong with the value, a line each. @throws ConfigurationError for a schema with a broken pattern or reference */
  issues(value: unknown): string[] {
    const copied = copyJson(value);
    if ('fault' in copied) return [`${copied.fault.path || 'value'}: ${copied.fault.reason}`];
    try {
      return new SchemaCheck(this.#references, this.#schema, copied.value).issues;
    } catch (cause) {
      throw new ConfigurationError(`${this.#owner}: the schema cannot be used: ${toError(cause).message}`, { cause });
    }
  }
}
