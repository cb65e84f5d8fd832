import { ConfigurationError, toError } from '../errors.ts';

/** The part of a Standard Schema that converts it to JSON Schema. */
interface JsonSchemaSource {
  readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>;
}

/**
 * Returns the converter of a Standard Schema to JSON Schema.
 * @param owner the owner of the schema, for the message
 * @throws ConfigurationError for a schema without one
 */
export function jsonSchemaSource(owner: string, schema: object): JsonSchemaSource {
  const { jsonSchema } = (schema as { readonly '~standard': { readonly jsonSchema?: JsonSchemaSource } })['~standard'];
  if (typeof jsonSchema?.input === 'function') return jsonSchema;
  throw new ConfigurationError(
    `${owner}: the schema has no JSON Schema; use zod 4.2 or newer, or give JSON Schema itself`,
  );
}

/**
 * A Standard Schema as JSON Schema, draft 2020-12.
 * @throws ConfigurationError for what JSON Schema cannot say
 */
export function standardToJson(owner: string, schema: object): Record<string, unknown> {
  const source = jsonSchemaSource(owner, schema);
  try {
    const { $schema: _, ...json } = source.input({ target: 'draft-2020-12' });
    return json;
  } catch (cause) {
    throw new ConfigurationError(`${owner}: the schema cannot be converted to JSON Schema: ${toError(cause).message}`, {
      cause,
    });
  }
}
