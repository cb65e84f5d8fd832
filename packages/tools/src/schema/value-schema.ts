import { ConfigurationError } from '@eventloom/core';
import { jsonSchemaSource, standardToJson } from '@eventloom/core/internal';
import { toJsonSchema } from './json-schema.ts';
import { JsonSchemaValidator } from './json-schema-validator.ts';
import type { SchemaLike, StandardIssue, StandardSchemaWithJson } from './standard-schema.ts';

/**
 * The result of checking a value: the value as the schema returns it (defaults filled in), or the problems, one line
 * each.
 */
export type SchemaCheck = { readonly value: unknown } | { readonly issues: readonly string[] };

/** Checks values against a schema of any supported kind, and converts it to JSON Schema. Both happen lazily. */
export class ValueSchema {
  readonly #schema: SchemaLike;
  readonly #owner: string;
  #json: Record<string, unknown> | undefined;
  #validator: JsonSchemaValidator | undefined;

  /**
   * @param owner start of error messages, e.g. `tool "x"`
   * @throws ConfigurationError for a value that is not a schema, and for a Standard Schema without a JSON schema
   */
  constructor(schema: SchemaLike, owner: string) {
    if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null || Array.isArray(schema))
      throw new ConfigurationError(
        `${owner}: the schema must be an object, such as z.object({ city: z.string() }) or a JSON Schema`,
      );
    if (isStandard(schema)) jsonSchemaSource(owner, schema);
    else checkKeywords(schema, owner);
    this.#schema = schema;
    this.#owner = owner;
  }

  /** The schema as JSON Schema, draft 2020-12. @throws ConfigurationError for a Standard Schema that JSON Schema cannot express */
  get json(): Record<string, unknown> {
    return (this.#json ??= isStandard(this.#schema)
      ? standardToJson(this.#owner, this.#schema)
      : toJsonSchema(this.#schema));
  }

  /** Checks a value. Returns a promise only if the schema checks asynchronously. @throws ConfigurationError for an invalid JSON Schema */
  check(value: unknown): SchemaCheck | Promise<SchemaCheck> {
    if (!isStandard(this.#schema)) return this.#checkJson(value);
    const result = this.#schema['~standard'].validate(value);
    return result instanceof Promise ? result.then(toCheck) : toCheck(result);
  }

  #checkJson(value: unknown): SchemaCheck {
    this.#validator ??= new JsonSchemaValidator(this.json, this.#owner);
    const issues = this.#validator.issues(value);
    return issues.length === 0 ? { value } : { issues };
  }
}

/** A JSON Schema has at least one of these keywords, unless it is empty. */
const KEYWORDS =
  'type properties $ref $schema $defs definitions anyOf oneOf allOf not enum const items required additionalProperties patternProperties if format description title default'.split(
    ' ',
  );

/** Refuses a record of properties given in place of a schema. @throws ConfigurationError */
function checkKeywords(schema: object, owner: string): void {
  const [property] = Object.keys(schema);
  const holdsSchemas = Object.values(schema).some(
    (value) => typeof value === 'object' && value !== null && '~standard' in value,
  );
  if (property === undefined || (!holdsSchemas && KEYWORDS.some((keyword) => keyword in schema))) return;
  throw new ConfigurationError(
    holdsSchemas
      ? `${owner}: the schema is an object of schemas; write z.object({ ${property}: … })`
      : `${owner}: the schema has no keyword of JSON Schema; write { type: 'object', properties: { ${property}: { type: 'string' } } }, or z.object({ ${property}: z.string() })`,
  );
}

function isStandard(schema: SchemaLike): schema is StandardSchemaWithJson {
  return '~standard' in schema;
}

function toCheck(
  result: { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly StandardIssue[] },
): SchemaCheck {
  return result.issues === undefined ? { value: result.value } : { issues: result.issues.map(issueLine) };
}

function issueLine({ message, path }: StandardIssue): string {
  const keys = path?.map((segment) => String(typeof segment === 'object' ? segment.key : segment)).join('.');
  return `${keys || 'value'}: ${message}`;
}
