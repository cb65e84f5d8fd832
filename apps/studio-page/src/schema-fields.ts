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
  /** `list`: one text or number on each line. `json`: JSON text, for schemas without a simple field. */
  readonly kind: 'group' | 'choice' | 'input' | 'list' | 'json';
  /** Type of the value, or of the values of a list. */
  readonly type: string;
  readonly choices: readonly unknown[];
  readonly fields: readonly FormField[];
  readonly attributes: InputAttributes;
  /** Minimum number of values of a list. An empty list is an answer if it is 0. */
  readonly minItems: number;
  /** Text of the default value. */
  readonly initial: string;
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
}

function makeField(given: unknown, { key, name, isRequired }: FieldPlace): FormField {
  const { schema, isNullable } = withoutNull(isRecord(given) ? given : {});
  const { title, description, properties, items, enum: choices } = schema;
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
    minItems: 0,
    initial: '',
  };
  const fallback = schema['default'];
  if (type === 'object' && isRecord(properties)) {
    const required = new Set(Array.isArray(schema['required']) ? schema['required'] : []);
    const fields = Object.entries(properties).map(([each, property]) =>
      makeField(property, {
        key: key === '' ? each : `${key}.${each}`,
        name: each,
        // A group that may be absent needs none of its fields.
        isRequired: isRequired && required.has(each),
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
      kind: 'list',
      type: String(items['type']),
      minItems: Number(schema['minItems'] ?? 0),
      initial: Array.isArray(fallback) ? fallback.join('\n') : '',
    };
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

/** Deeper values are left out of an example. */
const MAX_EXAMPLE_DEPTH = 4;

/** Returns a value of a schema's shape, to show what to write: `[{ name: 'text', count: 1 }]`. */
function exampleOf(given: unknown, depth: number): unknown {
  const { schema } = withoutNull(isRecord(given) ? given : {});
  const { type, properties, items, enum: choices } = schema;
  if (schema['default'] !== undefined) return schema['default'];
  if (Array.isArray(choices)) return choices[0];
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
  return field.kind === 'group' ? Object.assign({}, ...field.fields.map(initialTexts)) : { [field.key]: field.initial };
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
  const text = texts[key] ?? '';
  if (text === '' && isNullable && isRequired) return null;
  if (kind === 'list') {
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
  const keys = keysOf(field).toSorted((a, b) => b.length - a.length);
  const [, listed = ''] = /requested schema: ([\s\S]*)$/.exec(error) ?? [];
  const errors: Record<string, string> = {};
  for (const issue of listed.split('; ')) {
    const [, path = '', text = ''] = /^([^:]*): ([\s\S]*)$/.exec(issue) ?? [];
    const place = path
      .replaceAll(/[/[]/g, '.')
      .replaceAll(/[\]"]/g, '')
      .replace(/^[.$]+/, '');
    // This is the server's name for an answer that is a single value.
    const key =
      path === 'value'
        ? keys.find((each) => each === '')
        : keys.find((each) => place === each || place.startsWith(`${each}.`));
    if (key === undefined || path === '') return { errors, rest: error };
    errors[key] = text;
  }
  return { errors };
}

function keysOf(field: FormField): readonly string[] {
  return field.kind === 'group' ? field.fields.flatMap(keysOf) : [field.key];
}

export function isRecord(value: unknown): value is JsonFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
