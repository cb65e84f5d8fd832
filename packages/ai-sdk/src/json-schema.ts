import type { JSONSchema7 } from '@ai-sdk/provider';
import { isRecord } from '@eventloom/core/internal';

/** Converted schemas by their originals, because requests send the same schemas again and again. */
const CONVERTED = new WeakMap<object, JSONSchema7>();

/**
 * Returns a schema of a declaration or an answer as JSON Schema. A schema in Gemini's dialect (types in capitals, `nullable`, bounds as
 * text) is translated; JSON Schema is returned unchanged. The schema must not change later.
 */
export function toJsonSchema(schema: unknown): JSONSchema7 {
  if (!isRecord(schema)) return {};
  const known = CONVERTED.get(schema);
  if (known) return known;
  const converted = (isGeminiSchema(schema) ? translate(schema) : schema) as JSONSchema7;
  CONVERTED.set(schema, converted);
  return converted;
}

function isGeminiSchema({ type }: Readonly<Record<string, unknown>>): boolean {
  return typeof type === 'string' && /^[A-Z]+$/.test(type);
}

/** Keywords whose values are numbers that Gemini's dialect writes as text. */
const NUMBERS: ReadonlySet<string> = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
]);

function translate(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { type, nullable, properties, items, anyOf, propertyOrdering: _, example, ...rest } = schema;
  const json: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(rest)) json[keyword] = NUMBERS.has(keyword) ? Number(value) : value;
  if (example !== undefined) json['examples'] = [example];
  if (typeof type === 'string' && type !== 'TYPE_UNSPECIFIED')
    json['type'] = nullable === true ? [type.toLowerCase(), 'null'] : type.toLowerCase();
  if (isRecord(properties)) {
    json['properties'] = Object.fromEntries(
      Object.entries(properties).map(([name, value]) => [name, translated(value)]),
    );
  }
  if (items !== undefined) json['items'] = translated(items);
  if (Array.isArray(anyOf)) json['anyOf'] = anyOf.map(translated);
  return json;
}

function translated(schema: unknown): unknown {
  return isRecord(schema) ? translate(schema) : schema;
}
