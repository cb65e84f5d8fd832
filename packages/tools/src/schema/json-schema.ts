import type { JsonSchema } from './standard-schema.ts';

/** Keywords whose values are schemas by name. */
const SCHEMA_MAPS = new Set(['properties', '$defs', 'definitions', 'patternProperties', 'dependentSchemas']);
/** Keywords that hold one schema or a list of them. */
const SCHEMAS = new Set([
  'items',
  'prefixItems',
  'anyOf',
  'oneOf',
  'allOf',
  'not',
  'additionalProperties',
  'contains',
  'if',
  'then',
  'else',
  'propertyNames',
]);
/** Counts that the @google/genai dialect writes as text. */
const COUNTS = new Set(['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties']);

/**
 * JSON Schema from JSON Schema or from the @google/genai dialect of it, which writes types in upper case, counts as text and
 * null as `nullable`. What is JSON Schema already comes out equal.
 */
export function toJsonSchema(schema: JsonSchema): Record<string, unknown> {
  const converted: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'nullable' && typeof value === 'boolean') continue;
    converted[keyword] = convertKeyword(keyword, value);
  }
  if (schema['nullable'] === true && typeof converted['type'] === 'string')
    converted['type'] = [converted['type'], 'null'];
  return converted;
}

function convertKeyword(keyword: string, value: unknown): unknown {
  if (keyword === 'type' && typeof value === 'string') return value.toLowerCase();
  if (COUNTS.has(keyword) && typeof value === 'string') return Number(value);
  if (SCHEMAS.has(keyword)) return Array.isArray(value) ? value.map(convertSchema) : convertSchema(value);
  if (SCHEMA_MAPS.has(keyword) && isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, convertSchema(schema)]));
  }
  return value;
}

function convertSchema(value: unknown): unknown {
  return isObject(value) ? toJsonSchema(value) : value;
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
