export type JsonFields = Readonly<Record<string, unknown>>;

/** Attributes of an input element that a browser checks. */
export interface InputAttributes {
  readonly type?: 'text' | 'number' | 'email' | 'url' | 'date' | 'time' | 'datetime-local';
  readonly step?: number | 'any';
  readonly min?: number;
  readonly max?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
}

/** A field of a form, or a group of fields, made from a JSON Schema. */
export interface FormField {
  /** The names from the answer to the value, such as `address.zip`. Empty for the answer itself. */
  readonly key: string;
  readonly name: string;
  readonly label: string;
  readonly description: string | undefined;
  readonly isRequired: boolean;
  readonly isNullable: boolean;
  /**
   * `lines`: a list with one text or number on each line. `items`: a list with fields for each item. `json`: JSON text, for schemas that
   * have no fields.
   */
  readonly kind: 'group' | 'choice' | 'input' | 'lines' | 'items' | 'json';
  /** Type of the value, or of the values of a list. */
  readonly type: string;
  readonly choices: readonly unknown[];
  readonly fields: readonly FormField[];
  readonly attributes: InputAttributes;
  /** Minimum number of values of a list. An empty list is an answer if it is 0. */
  readonly minItems: number;
  readonly maxItems: number;
  /** Text of the default value. For `items` the number of items. */
  readonly initial: string;
  /** For `items`: returns the field of an item. */
  readonly itemAt?: (index: number) => FormField;
  /** For `json`: a value of the schema's shape as JSON. */
  readonly example?: string;
}

/** Formats of strings for which browsers have input elements. */
const INPUT_TYPES: Readonly<Record<string, NonNullable<InputAttributes['type']>>> = {
  email: 'email',
  uri: 'url',
  url: 'url',
  date: 'date',
  time: 'time',
  'date-time': 'datetime-local',
};

/** Creates the field for an answer. Without a schema the answer is a text. */
export function fieldOf(schema: JsonFields = { type: 'string' }): FormField {
  return makeField(schema, { key: '', name: 'answer', isRequired: true });
}

interface FieldPlace {
  readonly key: string;
  readonly name: string;
  readonly isRequired: boolean;
  /** The value in the default of the group or the list around the field. */
  readonly fallback?: unknown;
}

function makeField(given: unknown, { key, name, isRequired, fallback: outer }: FieldPlace): FormField {
  const { schema, isNullable } = withoutNull(isRecord(given) ? given : {});
  const { title, description, properties, items, minItems, maxItems, enum: choices } = schema;
  const type = typeof schema['type'] === 'string' ? schema['type'] : '';
  const base = {
    key,
    name,
    label: typeof title === 'string' ? title : name,
    description: typeof description === 'string' ? description : undefined,
    isRequired,
    isNullable,
    type,
    choices: [],
    fields: [],
    attributes: {},
    minItems: Number(minItems ?? 0),
    maxItems: Number(maxItems ?? Infinity),
    initial: '',
  };
  const fallback = outer ?? schema['default'];
  if (type === 'object' && isRecord(properties)) {
    const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
    const fields = Object.entries(properties).map(([each, property]) =>
      makeField(property, {
        key: keyIn(key, each),
        name: each,
        // A group that may be absent needs none of its fields.
        isRequired: isRequired && required.has(each),
        fallback: isRecord(fallback) ? fallback[each] : undefined,
      }),
    );
    return { ...base, kind: 'group', fields };
  }
  if (type === 'boolean' || Array.isArray(choices))
    return {
      ...base,
      kind: 'choice',
      choices: Array.isArray(choices) ? choices : [true, false],
      initial: textOf(fallback),
    };
  if (type === 'array' && isRecord(items) && isSimple(items['type']) && !Array.isArray(items['enum']))
    return {
      ...base,
      kind: 'lines',
      type: String(items['type']),
      initial: Array.isArray(fallback) ? fallback.join('\n') : '',
    };
  if (type === 'array' && isRecord(items)) {
    const values: readonly unknown[] = Array.isArray(fallback) ? fallback : [];
    const itemAt = (index: number): FormField => {
      const itemName = `${base.label} ${index + 1}`;
      const item = makeField(items, {
        key: keyIn(key, String(index)),
        name: itemName,
        // An item that was added is part of the answer.
        isRequired: true,
        fallback: values[index],
      });
      return { ...item, label: itemName };
    };
    const count = Math.max(values.length, isRequired ? Math.min(base.minItems, MAX_OFFERED) : 0);
    if (itemAt(0).kind !== 'json') return { ...base, kind: 'items', initial: String(count), itemAt };
  }
  if (isSimple(type))
    return {
      ...base,
      kind: 'input',
      attributes: type === 'string' ? textAttributes(schema) : numberAttributes(schema),
      initial: textOf(fallback),
    };
  return {
    ...base,
    kind: 'json',
    initial: fallback === undefined ? '' : JSON.stringify(fallback, undefined, 2),
    example: JSON.stringify(exampleOf(schema, 0)),
  };
}

/** Maximum number of empty items that a form begins with. */
const MAX_OFFERED = 10;

function keyIn(key: string, name: string): string {
  return key === '' ? name : `${key}.${name}`;
}

/** Deeper values are left out of an example. */
const MAX_EXAMPLE_DEPTH = 4;

/** Returns a value of a schema's shape, to show what to write: `[{ name: 'text', count: 1 }]`. */
function exampleOf(given: unknown, depth: number): unknown {
  const { schema } = withoutNull(isRecord(given) ? given : {});
  const { type, properties, items, anyOf, enum: choices } = schema;
  if (schema['default'] !== undefined) return schema['default'];
  if (Array.isArray(choices)) return choices[0];
  if (Array.isArray(anyOf)) return exampleOf(anyOf[0], depth);
  if (type === 'string') return 'text';
  if (type === 'number' || type === 'integer') return 1;
  if (type === 'boolean') return true;
  if (type === 'array') return depth < MAX_EXAMPLE_DEPTH && isRecord(items) ? [exampleOf(items, depth + 1)] : [];
  const entries = depth < MAX_EXAMPLE_DEPTH && isRecord(properties) ? Object.entries(properties) : [];
  return Object.fromEntries(entries.map(([name, property]) => [name, exampleOf(property, depth + 1)])) as unknown;
}

/** Returns a default value as the text of an input. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isSimple(type: unknown): boolean {
  return type === 'string' || type === 'number' || type === 'integer';
}

/** Returns a schema without the variant `null`: `anyOf: [{ type: 'string' }, { type: 'null' }]` or `type: ['string', 'null']`. */
function withoutNull(schema: JsonFields): { readonly schema: JsonFields; readonly isNullable: boolean } {
  const { type, anyOf, ...others } = schema;
  if (Array.isArray(type)) {
    const types: unknown[] = type.filter((each) => each !== 'null');
    if (types.length === 1) return { schema: { ...others, type: types[0] }, isNullable: types.length < type.length };
  }
  if (Array.isArray(anyOf)) {
    const variants: unknown[] = anyOf.filter((each) => !(isRecord(each) && each['type'] === 'null'));
    const [only] = variants;
    if (variants.length === 1 && isRecord(only))
      return { schema: { ...others, ...only }, isNullable: variants.length < anyOf.length };
  }
  return { schema, isNullable: false };
}

function textAttributes({ format, minLength, maxLength, pattern }: JsonFields): InputAttributes {
  const type = typeof format === 'string' && Object.hasOwn(INPUT_TYPES, format) ? INPUT_TYPES[format] : undefined;
  const isTime = type === 'time' || type === 'datetime-local';
  return {
    type: type ?? 'text',
    ...(isTime && { step: 1 }),
    ...(typeof minLength === 'number' && { minLength }),
    ...(typeof maxLength === 'number' && { maxLength }),
    // The pattern of a format is checked by the type of the input.
    ...(type === undefined &&
      typeof pattern === 'string' &&
      isBrowserPattern(pattern) && { pattern: `.*(?:${pattern}).*` }),
  };
}

/** True for a pattern that browsers accept, which read it with the flag `v`. */
function isBrowserPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'v') instanceof RegExp;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

function numberAttributes({ type, minimum, maximum }: JsonFields): InputAttributes {
  // Schemas of integers often name the limits of all integers.
  const isLimit = (value: unknown): value is number =>
    typeof value === 'number' && Number.MAX_SAFE_INTEGER > Math.abs(value);
  return {
    type: 'number',
    step: type === 'integer' ? 1 : 'any',
    ...(isLimit(minimum) && { min: minimum }),
    ...(isLimit(maximum) && { max: maximum }),
  };
}

/** Texts of the fields by key. */
export type FieldTexts = Readonly<Record<string, string>>;

/** Returns the texts that a form begins with: the defaults of the schema. */
export function initialTexts(field: FormField): FieldTexts {
  if (field.kind === 'group') return Object.assign({}, ...field.fields.map(initialTexts));
  const own = { [field.key]: field.initial };
  return field.kind === 'items' ? Object.assign(own, ...itemsOf(field, own).map(initialTexts)) : own;
}

/** Returns the fields of the items of a list. */
export function itemsOf({ key, itemAt }: FormField, texts: FieldTexts): readonly FormField[] {
  return itemAt ? Array.from({ length: Number(texts[key] ?? 0) }, (_, index) => itemAt(index)) : [];
}

/** Returns the texts with a further item at the end of a list, which begins with its defaults. */
export function addItem(list: FormField, texts: FieldTexts): FieldTexts {
  const count = Number(texts[list.key] ?? 0);
  const added = list.itemAt ? initialTexts(list.itemAt(count)) : {};
  return { ...texts, ...added, [list.key]: String(count + 1) };
}

/** Returns the texts without an item of a list. The items after it move up. */
export function removeItem({ key }: FormField, texts: FieldTexts, removed: number): FieldTexts {
  const prefix = key === '' ? '' : `${key}.`;
  const kept = Object.entries(texts).flatMap(([each, text]): [string, string][] => {
    const [, number = '', rest = ''] = each.startsWith(prefix)
      ? (/^(\d+)((?:\..*)?)$/s.exec(each.slice(prefix.length)) ?? [])
      : [];
    if (number === '' || Number(number) < removed) return [[each, text]];
    return Number(number) === removed ? [] : [[`${prefix}${Number(number) - 1}${rest}`, text]];
  });
  return { ...Object.fromEntries(kept), [key]: String(Number(texts[key] ?? 0) - 1) };
}

/** Returns the answer that the texts of a form make, or messages by the keys of the fields that cannot be read. */
export function readAnswer(
  field: FormField,
  texts: FieldTexts,
): { readonly value: unknown } | { readonly errors: Readonly<Record<string, string>> } {
  const errors: Record<string, string> = {};
  const value = readField(field, texts, errors);
  return Object.keys(errors).length > 0 ? { errors } : { value };
}

function readField(field: FormField, texts: FieldTexts, errors: Record<string, string>): unknown {
  const { key, kind, type, isRequired, isNullable, choices } = field;
  if (kind === 'group') {
    const entries = field.fields.flatMap((each) => {
      const value = readField(each, texts, errors);
      return value === undefined ? [] : [[each.name, value]];
    });
    if (entries.length === 0 && !isRequired) return undefined;
    return Object.fromEntries(entries) as unknown;
  }
  if (kind === 'items') {
    const items = itemsOf(field, texts);
    if (items.length === 0 && isNullable && isRequired) return null;
    if (items.length === 0 && !isRequired) return undefined;
    if (items.length < field.minItems) errors[key] = `Expected at least ${field.minItems}, got ${items.length}.`;
    return items.map((item) => readField(item, texts, errors));
  }
  const text = texts[key] ?? '';
  if (text === '' && isNullable && isRequired) return null;
  if (kind === 'lines') {
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    if (lines.length === 0 && !isRequired) return undefined;
    if (type === 'string') return lines;
    const wrong = lines.find((line) => Number.isNaN(Number(line)));
    if (wrong !== undefined) errors[key] = `Expected a number on each line, got “${wrong}”.`;
    return lines.map(Number);
  }
  if (text === '' && !isRequired) return undefined;
  if (kind === 'choice') return choices.find((choice) => String(choice) === text);
  if (kind === 'json') return readJsonText(key, text, errors);
  if (type !== 'string') return Number(text);
  return field.attributes.type === 'datetime-local' && text !== '' ? new Date(text).toISOString() : text;
}

function readJsonText(key: string, text: string, errors: Record<string, string>): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    errors[key] = 'Expected JSON, such as {"approved": true} or ["a", "b"].';
    return undefined;
  }
}

/**
 * Returns the messages of a refused answer by the keys of their fields, from an error such as `…requested schema: name: too short; tags[0]: too
 * long`. `rest` has the whole error if a part of it belongs to no field.
 */
export function refusedFields(
  field: FormField,
  error: string,
): { readonly errors: FieldTexts; readonly rest?: string } {
  const [, listed = ''] = /requested schema: ([\s\S]*)$/.exec(error) ?? [];
  const errors: Record<string, string> = {};
  for (const issue of listed.split('; ')) {
    const [, path = '', text = ''] = /^([^:]*): ([\s\S]*)$/.exec(issue) ?? [];
    const place = path
      .replaceAll(/[/[]/g, '.')
      .replaceAll(/[\]"]/g, '')
      .replace(/^[.$]+/, '');
    // This is the server's name for an answer that is a single value.
    const key = path === 'value' && field.kind !== 'group' ? field.key : keyOf(field, place);
    if (key === undefined || path === '') return { errors, rest: error };
    errors[key] = text;
  }
  return { errors };
}

/** Returns the key of the innermost field around a place in the answer; undefined if there is none. */
function keyOf(field: FormField, place: string): string | undefined {
  const { key, kind, fields, itemAt } = field;
  const isIn = (inner: FormField): boolean => place === inner.key || place.startsWith(`${inner.key}.`);
  if (kind === 'group') {
    // A name may contain a dot.
    const inner = fields.filter(isIn).sort((a, b) => b.key.length - a.key.length)[0];
    return inner && keyOf(inner, place);
  }
  const [number] = /^\d+/.exec(key === '' ? place : place.slice(key.length + 1)) ?? [];
  return (number !== undefined && itemAt && keyOf(itemAt(Number(number)), place)) || key;
}

export function isRecord(value: unknown): value is JsonFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
