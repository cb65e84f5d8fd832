import { ConfigurationError } from '@eventloom/core';
import { isRecord, setOwn } from '@eventloom/core/internal';
import type { JsonSchema } from './standard-schema.ts';

/** Keywords whose values are records of schemas. */
const SCHEMA_MAPS = new Set([
  'properties',
  '$defs',
  'definitions',
  'patternProperties',
  'dependentSchemas',
  'dependencies',
]);
/** Keywords that hold one schema or a list of them. */
const SCHEMAS = new Set([
  'items',
  'prefixItems',
  'anyOf',
  'oneOf',
  'allOf',
  'not',
  'additionalProperties',
  'additionalItems',
  'unevaluatedProperties',
  'unevaluatedItems',
  'contains',
  'if',
  'then',
  'else',
  'propertyNames',
]);
/** Counts that are strings in the `@google/genai` dialect. */
const COUNTS = new Set(['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties']);
/** Keywords whose values are data and may be objects. */
const DATA = new Set(['const', 'enum', 'default', 'type', 'required', 'dependentRequired']);

/** Maximum number of schemas around a schema. */
const MAX_DEPTH = 100;

/**
 * Converts the `@google/genai` dialect (types in upper case, counts as strings, `nullable`) to JSON Schema. Returns an equal copy
 * of a schema that is JSON Schema already.
 * @param owner start of error messages, e.g. `tool "x"`
 * @throws ConfigurationError for a schema that contains itself, or is nested deeper than 100 schemas
 */
export function toJsonSchema(schema: JsonSchema, owner: string): Record<string, unknown> {
  return convert(schema, { owner, keeps: () => true }, 0);
}

/**
 * Returns a copy of a schema for the validator. Leaves out annotations that the validator would misread: objects (`example`, `x-…`), in
 * which it would look for schemas, and `id`, which names a schema in draft 4. Also leaves out the format `url`, which is not part of JSON
 * Schema and takes the validator exponential time.
 */
export function toValidatingSchema(schema: JsonSchema, owner: string): Record<string, unknown> {
  const keeps = (keyword: string, value: unknown): boolean => {
    if (keyword === 'id' || (keyword === 'format' && value === 'url')) return false;
    return !isRecord(value) || isSchemaKeyword(keyword) || DATA.has(keyword);
  };
  return convert(schema, { owner, keeps }, 0);
}

interface SchemaConversion {
  readonly owner: string;
  readonly keeps: (keyword: string, value: unknown) => boolean;
}

function isSchemaKeyword(keyword: string): boolean {
  return SCHEMAS.has(keyword) || SCHEMA_MAPS.has(keyword);
}

function convert(schema: JsonSchema, conversion: SchemaConversion, depth: number): Record<string, unknown> {
  if (depth > MAX_DEPTH)
    throw new ConfigurationError(
      `${conversion.owner}: the schema contains itself, or is nested deeper than ${MAX_DEPTH} schemas; write the part that repeats into $defs, and { $ref: '#/$defs/<name>' } where it repeats`,
    );
  const converted: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'nullable' && typeof value === 'boolean') continue;
    if (keyword === 'type' && value === 'TYPE_UNSPECIFIED') continue;
    if (!conversion.keeps(keyword, value)) continue;
    setOwn(converted, keyword, convertKeyword(keyword, value, conversion, depth + 1));
  }
  if (schema['nullable'] === true) allowNull(converted);
  return converted;
}

/** Makes a schema accept null. A schema without `type` accepts null already, unless `enum` or `anyOf` restricts it. */
export function allowNull(schema: Record<string, unknown>): void {
  const { type, enum: values, anyOf } = schema;
  if (typeof type === 'string' && type !== 'null') schema['type'] = [type, 'null'];
  if (Array.isArray(values) && !values.includes(null)) schema['enum'] = [...(values as unknown[]), null];
  if (Array.isArray(anyOf)) schema['anyOf'] = [...(anyOf as unknown[]), { type: 'null' }];
}

function convertKeyword(keyword: string, value: unknown, conversion: SchemaConversion, depth: number): unknown {
  if (keyword === 'type') return Array.isArray(value) ? value.map(lowerCase) : lowerCase(value);
  if (COUNTS.has(keyword) && typeof value === 'string') return Number(value);
  if (SCHEMAS.has(keyword)) {
    return Array.isArray(value)
      ? value.map((item) => convertSchema(item, conversion, depth))
      : convertSchema(value, conversion, depth);
  }
  if (SCHEMA_MAPS.has(keyword) && isRecord(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, schema]) => [name, convertSchema(schema, conversion, depth)]),
    );
  }
  return value;
}

function lowerCase(type: unknown): unknown {
  return typeof type === 'string' ? type.toLowerCase() : type;
}

function convertSchema(value: unknown, conversion: SchemaConversion, depth: number): unknown {
  return isRecord(value) ? convert(value, conversion, depth) : value;
}
