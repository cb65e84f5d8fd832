import { isRecord } from '@eventloom/core/internal';
import type { ParameterStyle } from './operations.ts';

/** The form of a parameter's value in a URL, a cookie or a header: see *Style Values* in the OpenAPI Specification. */
export interface ParameterForm {
  readonly name: string;
  readonly style: ParameterStyle;
  readonly explode: boolean;
  readonly allowReserved: boolean;
}

/** A part of a list or an object: an item, or a key with its value. */
type ValuePart = readonly [key: string | undefined, text: string];

/** Writes a value for a path, with its prefix: `5`, `.5` or `;id=5`. Encodes all characters except unreserved ones. */
export function writePathValue({ name, style, explode }: ParameterForm, value: unknown): string {
  if (style === 'json') return encode(JSON.stringify(value));
  const parts = partsOf(value, encode);
  const isObject = isRecord(value);
  switch (style) {
    case 'label':
      return `.${explode ? parts.map((part) => pair(part)).join('.') : flat(parts).join(',')}`;
    case 'matrix': {
      const named = (key: string, text: string): string => (text === '' ? `;${key}` : `;${key}=${text}`);
      const own = encode(name);
      if (explode) return parts.map(([key, text]) => named(isObject && key !== undefined ? key : own, text)).join('');
      return parts.length === 0 ? '' : named(own, flat(parts).join(','));
    }
    default:
      return (explode ? parts.map((part) => pair(part)) : flat(parts)).join(',');
  }
}

/** Writes the value of a header, without encoding. */
export function writeHeaderValue({ style, explode }: ParameterForm, value: unknown): string {
  if (style === 'json') return JSON.stringify(value);
  const parts = partsOf(value, (text) => text);
  return (explode ? parts.map((part) => pair(part)) : flat(parts)).join(',');
}

/**
 * Writes the encoded pairs `name=value` of a query, a form or cookies. Returns none for null, an empty list and an
 * empty object.
 */
export function writePairs(form: ParameterForm, value: unknown): string[] {
  const { name, style, explode, allowReserved } = form;
  const key = encode(name);
  const encodeValue = allowReserved ? encodeUnlessReserved : encode;
  if (value === null) return [];
  if (style === 'json') return [`${key}=${encodeValue(JSON.stringify(value))}`];
  if (style === 'deepObject') return deepPairs(name, value, encodeValue);
  const parts = partsOf(value, encodeValue);
  if (parts.length === 0) return [];
  if (typeof value !== 'object') return [`${key}=${parts.map(([, text]) => text).join('')}`];
  if (style === 'form' && explode)
    return isRecord(value) ? parts.map((part) => pair(part)) : parts.map(([, text]) => `${key}=${text}`);
  const separator = style === 'spaceDelimited' ? '%20' : style === 'pipeDelimited' ? '%7C' : ',';
  // The specification does not define delimiters with `explode` for objects; a list is repeated, as in a form.
  if (explode && !isRecord(value)) return parts.map(([, text]) => `${key}=${text}`);
  return [`${key}=${flat(parts).join(separator)}`];
}

/** Writes brackets for each level: `filter[price][from]=3`, `filter[tags][0]=new`. */
function deepPairs(name: string, value: unknown, encodeValue: (text: string) => string): string[] {
  const pairs: string[] = [];
  const walk = (path: string, held: unknown): void => {
    if (held === null || held === undefined) return;
    if (typeof held !== 'object') pairs.push(`${encode(path)}=${encodeValue(textOf(held))}`);
    else for (const [key, inner] of Object.entries(held)) walk(`${path}[${key}]`, inner);
  };
  walk(name, value);
  return pairs;
}

function partsOf(value: unknown, encodePart: (text: string) => string): ValuePart[] {
  if (Array.isArray(value)) return value.filter(isGiven).map((item) => [undefined, encodePart(textOf(item))]);
  if (!isRecord(value)) return isGiven(value) ? [[undefined, encodePart(textOf(value))]] : [];
  return Object.entries(value)
    .filter(([, held]) => isGiven(held))
    .map(([key, held]) => [encodePart(key), encodePart(textOf(held))]);
}

function isGiven(value: unknown): boolean {
  return value !== null && value !== undefined;
}

/** Returns the text of a value. Nested objects become JSON, because the styles have no form for them. */
export function textOf(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
}

function pair([key, text]: ValuePart): string {
  return key === undefined ? text : `${key}=${text}`;
}

function flat(parts: readonly ValuePart[]): string[] {
  return parts.flatMap(([key, text]) => (key === undefined ? [text] : [key, text]));
}

/** Encodes all characters except the unreserved ones of RFC 3986. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * Encodes a value but keeps reserved and already encoded characters, except `#`, `&` and `+`, which would end the value
 * or mean a space.
 */
function encodeUnlessReserved(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/%(?![0-9A-Fa-f]{2})|[^\w.~:/?@!$'()*,;=[\]%-]/gu, (character) => encode(character));
}
