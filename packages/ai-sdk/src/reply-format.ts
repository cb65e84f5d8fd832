import type { JSONSchema7, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { LlmRequest } from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { toJsonSchema } from './json-schema.ts';

/**
 * The schemas of answers that a model takes:
 * - `any`: the provider does what its service requires
 * - `openai`: objects, like the services of OpenAI; its strict mode refuses schemas that do not follow its rules
 * - `none`: the model answers in JSON, and the provider does not send the schema
 */
export type ReplySchemas = 'any' | 'openai' | 'none';

/** The way in which a model is asked for an answer in JSON. */
interface ReplyFormat {
  readonly responseFormat?: LanguageModelV4CallOptions['responseFormat'];
  /** A text for the system instruction, if the service does not get the schema. */
  readonly instruction?: string;
  /** False if OpenAI's strict mode would refuse the schema. */
  readonly isStrict: boolean;
}

/** Returns the way in which a model is asked for the answer that a request wants; without a format if any text is allowed. */
export function toReplyFormat(config: LlmRequest['config'], schemas: ReplySchemas): ReplyFormat {
  const given = config.responseJsonSchema ?? config.responseSchema;
  if (given === undefined)
    return {
      ...(config.responseMimeType === 'application/json' && { responseFormat: { type: 'json' } }),
      isStrict: true,
    };
  const schema = toJsonSchema(given);
  if (schemas === 'any') return { responseFormat: { type: 'json', schema, name: 'response' }, isStrict: true };
  const isObject = schema.type === 'object';
  if (schemas === 'openai' && isObject) {
    const strict = toStrictSchema(schema);
    return {
      responseFormat: { type: 'json', schema: strict ?? schema, name: 'response' },
      isStrict: strict !== undefined,
    };
  }
  const instruction = `Answer with one JSON value that matches this JSON Schema, and with no other text:\n${JSON.stringify(schema)}`;
  // The mode without a schema allows objects only.
  return { ...(isObject && { responseFormat: { type: 'json' } }), instruction, isStrict: true };
}

/** Keywords that OpenAI's strict mode allows, beside those that `strictSchema` checks. */
const ALLOWED: ReadonlySet<string> = new Set(
  'type description title enum const minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems'.split(
    ' ',
  ),
);
const FORMATS: readonly unknown[] = [
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
];

/** Strict forms of schemas by their originals, because requests send the same schemas again and again. */
const STRICT = new WeakMap<object, { readonly schema: JSONSchema7 | undefined }>();

/**
 * Returns a schema for OpenAI's strict mode, with `additionalProperties: false` where the schema does not mention other
 * properties; undefined if that mode would refuse it, for example because a property is not required.
 */
function toStrictSchema(schema: JSONSchema7): JSONSchema7 | undefined {
  const known = STRICT.get(schema);
  if (known) return known.schema;
  const strict = strictSchema(schema);
  STRICT.set(schema, { schema: strict });
  return strict;
}

function strictSchema(schema: unknown): JSONSchema7 | undefined {
  if (!isRecord(schema)) return undefined;
  const {
    type,
    properties,
    required = [],
    additionalProperties,
    items,
    anyOf,
    format,
    $ref,
    $defs,
    $schema: _,
    ...rest
  } = schema;
  if ($ref !== undefined) return Object.keys(schema).length === 1 ? schema : undefined;
  if (type === undefined && anyOf === undefined) return undefined;
  const isKnown = Object.keys(rest).every((keyword) => ALLOWED.has(keyword));
  if (!isKnown || (format !== undefined && !FORMATS.includes(format))) return undefined;
  const strict: Record<string, unknown> = { ...rest };
  if (type !== undefined) strict['type'] = type;
  if (format !== undefined) strict['format'] = format;
  if (includesType(type, 'object')) {
    const all = strictSchemas(properties);
    if (!all || !Array.isArray(required) || (additionalProperties ?? false) !== false) return undefined;
    if (!Object.keys(all).every((name) => required.includes(name))) return undefined;
    Object.assign(strict, { properties: all, required, additionalProperties: false });
  }
  if (includesType(type, 'array')) strict['items'] = strictSchema(items);
  if (anyOf !== undefined) strict['anyOf'] = strictList(anyOf);
  if ($defs !== undefined) strict['$defs'] = strictSchemas($defs);
  return Object.values(strict).includes(undefined) ? undefined : strict;
}

function includesType(type: unknown, name: string): boolean {
  return Array.isArray(type) ? type.includes(name) : type === name;
}

function strictSchemas(schemas: unknown): Record<string, JSONSchema7> | undefined {
  if (!isRecord(schemas)) return undefined;
  const strict: Record<string, JSONSchema7> = {};
  for (const [name, schema] of Object.entries(schemas)) {
    const each = strictSchema(schema);
    if (!each) return undefined;
    strict[name] = each;
  }
  return strict;
}

function strictList(schemas: unknown): JSONSchema7[] | undefined {
  if (!Array.isArray(schemas)) return undefined;
  const strict = schemas.flatMap((schema) => strictSchema(schema) ?? []);
  return strict.length === schemas.length ? strict : undefined;
}
