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

/**
 * Converts the `@google/genai` dialect (types in upper case, counts as strings, `nullable`) to JSON Schema. Returns an equal copy
 * of a schema that is JSON Schema already.
 */
export function toJsonSchema(schema: JsonSchema): Record<string, unknown> {
  return convert(schema, () => true);
}

/**
 * Returns a copy of a schema for the validator. Leaves out annotations that the validator would misread: objects (`example`, `x-…`), in
 * which it would look for schemas, and `id`, which names a schema in draft 4. Also leaves out the format `url`, which is not part of JSON
 * Schema and takes the validator exponential time.
 */
export function toValidatingSchema(schema: JsonSchema): Record<string, unknown> {
  return convert(schema, (keyword, value) => {
    if (keyword === 'id' || (keyword === 'format' && value === 'url')) return false;
    return !isRecord(value) || isSchemaKeyword(keyword) || DATA.has(keyword);
  });
}

type Keeps = (keyword: string, value: unknown) => boolean;

function isSchemaKeyword(keyword: string): boolean {
  return SCHEMAS.has(keyword) || SCHEMA_MAPS.has(keyword);
}

function convert(schema: JsonSchema, keeps: Keeps): Record<string, unknown> {
  const converted: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'nullable' && typeof value === 'boolean') continue;
    if (keyword === 'type' && value === 'TYPE_UNSPECIFIED') continue;
    if (keeps(keyword, value)) setOwn(converted, keyword, convertKeyword(keyword, value, keeps));
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

function convertKeyword(keyword: string, value: unknown, keeps: Keeps): unknown {
  if (keyword === 'type') return Array.isArray(value) ? value.map(lowerCase) : lowerCase(value);
  if (COUNTS.has(keyword) && typeof value === 'string') return Number(value);
  if (SCHEMAS.has(keyword)) {
    return Array.isArray(value) ? value.map((item) => convertSchema(item, keeps)) : convertSchema(value, keeps);
  }
  if (SCHEMA_MAPS.has(keyword) && isRecord(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, convertSchema(schema, keeps)]));
  }
  return value;
}

function lowerCase(type: unknown): unknown {
  return typeof type === 'string' ? type.toLowerCase() : type;
}

function convertSchema(value: unknown, keeps: Keeps): unknown {
  return isRecord(value) ? convert(value, keeps) : value;
}
