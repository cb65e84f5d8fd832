import { isRecord, setOwn } from '@eventloom/core/internal';
import type { JsonSchema } from './standard-schema.ts';

/** Keywords whose values are schemas by name. */
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
/** Counts that the @google/genai dialect writes as text. */
const COUNTS = new Set(['minItems', 'maxItems', 'minLength', 'maxLength', 'minProperties', 'maxProperties']);
/** Keywords whose values are data and may be objects. */
const DATA = new Set(['const', 'enum', 'default', 'type', 'required', 'dependentRequired']);

/**
 * JSON Schema from JSON Schema or from the @google/genai dialect of it, which writes types in upper case, counts as text and
 * null as `nullable`. What is JSON Schema already comes out equal.
 */
export function toJsonSchema(schema: JsonSchema): Record<string, unknown> {
  return convert(schema, () => true);
}

/**
 * A schema's own copy of what the validator checks. Left out are annotations that it would read: objects (`example`, `x-…`), in which
 * it would look for schemas, and `id`, which named a schema in draft 4. Left out is also the format `url`, which is no format of
 * JSON Schema: its pattern there takes a time exponential in the length of the value.
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

/** A missing `type` allows null already, unless other keywords say what there may be. */
function allowNull(schema: Record<string, unknown>): void {
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
