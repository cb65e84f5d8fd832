import { ConfigurationError, toError } from '../errors.ts';
import { isZodSchema, zodToJson } from './zod-to-json.ts';

/** The part of a Standard Schema that converts it to JSON Schema. */
interface JsonSchemaSource {
  readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>;
}

/** True for a schema of a library (zod, arktype, valibot, …), false for JSON Schema. */
export function isLibrarySchema(schema: object): boolean {
  return '~standard' in schema || isZodSchema(schema);
}

/** Advice for schemas of libraries that need another package for JSON Schema. */
const ADVICE: Readonly<Record<string, string>> = {
  valibot: 'write toStandardJsonSchema(schema), from @valibot/to-json-schema 1.5 or newer',
  arktype: 'use arktype 2.1.28 or newer',
  effect: 'write Schema.toStandardJSONSchemaV1(schema), from effect 4',
};

/**
 * Checks that a library schema can be converted to JSON Schema: by its own `~standard.jsonSchema`, or by ours for zod.
 * @param owner the owner of the schema, for the message
 * @throws ConfigurationError for a schema without a JSON Schema
 */
export function checkLibrarySchema(owner: string, schema: object): void {
  jsonSchemaSource(owner, schema);
}

function jsonSchemaSource(owner: string, schema: object): JsonSchemaSource {
  const { jsonSchema, vendor } = standardOf(schema);
  if (typeof jsonSchema?.input === 'function') return jsonSchema;
  if (isZodSchema(schema)) return { input: () => zodToJson(schema) };
  const advice =
    ADVICE[vendor ?? ''] ??
    'use a library with Standard JSON Schema, such as zod or arktype, or give JSON Schema itself';
  throw new ConfigurationError(`${owner}: the ${vendor ? `${vendor} ` : ''}schema has no JSON Schema; ${advice}`);
}

interface StandardPart {
  readonly vendor?: string;
  readonly jsonSchema?: JsonSchemaSource;
}

function standardOf(schema: object): StandardPart {
  return (schema as { readonly '~standard'?: StandardPart })['~standard'] ?? {};
}

/**
 * Returns a library schema as JSON Schema, draft 2020-12, of the values that it accepts.
 * @throws ConfigurationError for a schema that JSON Schema cannot express
 */
export function librarySchemaToJson(owner: string, schema: object): Record<string, unknown> {
  const source = jsonSchemaSource(owner, schema);
  try {
    const { $schema: _, ...json } = source.input({ target: 'draft-2020-12' });
    return json;
  } catch (cause) {
    // The messages of our own conversion say what to write.
    const advice = standardOf(schema).jsonSchema ? '; change that part, or write the schema as JSON Schema' : '';
    throw new ConfigurationError(
      `${owner}: the schema cannot be converted to JSON Schema: ${toError(cause).message}${advice}`,
      { cause },
    );
  }
}
