import { isRecord, type JsonFields, SchemaReader } from './schema-reader.ts';

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

interface FieldBase {
  /** The names from the answer to the value as a pointer, such as `/address/zip`. Empty for the answer itself. */
  readonly key: string;
  readonly name: string;
  readonly label: string;
  readonly description: string | undefined;
  readonly isRequired: boolean;
  readonly isNullable: boolean;
}

/** A group of fields: an object that is part of the answer, or a list whose items have places of their own. */
interface GroupField extends FieldBase {
  readonly kind: 'group' | 'tuple';
  readonly fields: readonly FormField[];
}

/**
 * A value that has one of several shapes, or a group that may be absent, which has one. The text of `variantKey` is the index of the chosen
 * variant, and empty without one.
 */
export interface VariantField extends FieldBase {
  readonly kind: 'variants';
  readonly variants: readonly Variant[];
  readonly initial: string;
}

interface Variant {
  readonly label: string;
  /** Properties that distinguish this variant from the others. They are part of the answer and have no fields. */
  readonly constants: JsonFields;
  /** Creates the field of the value. Called for chosen variants alone, because a schema may contain itself. */
  readonly createField: () => FormField;
}

/** A value out of a list. */
interface ChoiceField extends FieldBase {
  readonly kind: 'choice';
  readonly choices: readonly unknown[];
  readonly initial: string;
}

interface InputField extends FieldBase {
  readonly kind: 'input';
  readonly type: 'text' | 'number';
  readonly attributes: InputAttributes;
  readonly initial: string;
}

/** A list with one text or number on each line. */
interface LinesField extends FieldBase {
  readonly kind: 'lines';
  readonly type: 'text' | 'number';
  /** An empty list is an answer if it is 0. */
  readonly minItems: number;
  readonly initial: string;
}

/** A list with fields for each item. The text of its key is the number of items. */
export interface ItemsField extends FieldBase {
  readonly kind: 'items';
  readonly minItems: number;
  readonly maxItems: number;
  readonly initial: string;
  readonly itemAt: (index: number) => FormField;
}

/** A value as JSON text, for schemas that have no fields. */
interface JsonField extends FieldBase {
  readonly kind: 'json';
  readonly initial: string;
  /** JSON of the value's type. */
  readonly example: string;
}

/** A field of a form, or a group of fields, made from a JSON Schema. */
export type FormField = GroupField | VariantField | ChoiceField | InputField | LinesField | ItemsField | JsonField;

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
  return new FieldMaker(new SchemaReader(schema)).make(schema, { key: '', name: 'answer', isRequired: true });
}

interface FieldPlace {
  readonly key: string;
  readonly name: string;
  readonly isRequired: boolean;
  /** The value in the default of the group or the list around the field. */
  readonly fallback?: unknown;
  /** Number of groups around the field that are created together with it. Default 0. */
  readonly level?: number;
}

/** A form begins with this many levels of groups and items. The person adds those below them, because a schema may contain itself. */
const MAX_LEVELS = 6;

/** Creates the fields of a schema. */
class FieldMaker {
  readonly #reader: SchemaReader;

  constructor(reader: SchemaReader) {
    this.#reader = reader;
  }

  make(given: unknown, place: FieldPlace): FormField {
    const { schema, isNullable } = this.#reader.read(given);
    const { title, description, properties, items, prefixItems, anyOf } = schema;
    const type = typeof schema['type'] === 'string' ? schema['type'] : '';
    const { key, name, isRequired, level = 0 } = place;
    const base = {
      key,
      name,
      label: typeof title === 'string' ? title : name,
      description: typeof description === 'string' ? description : undefined,
      isRequired,
      isNullable,
    };
    const fallback = place.fallback ?? schema['default'];
    const choices = this.#reader.choicesOf(schema);
    const isTuple = type === 'array' && Array.isArray(prefixItems);
    if (isTuple || ((type === 'object' || type === '') && isRecord(properties)))
      return isRequired && !isNullable && level < MAX_LEVELS
        ? { ...base, kind: isTuple ? 'tuple' : 'group', fields: this.#fieldsOf(schema, { ...place, fallback }) }
        : this.#variantsOf(base, [{ ...schema, title: base.label }], fallback);
    if (choices.length > 0) return { ...base, kind: 'choice', choices, initial: textOf(fallback) };
    if (type === 'array' && isRecord(items)) return this.#listOf(base, schema, items, fallback);
    if (type === 'string' || isNumeric(type)) return inputOf(base, schema, fallback);
    if (Array.isArray(anyOf)) return this.#variantsOf(base, anyOf.filter(isRecord), fallback);
    return {
      ...base,
      kind: 'json',
      initial: fallback === undefined ? '' : JSON.stringify(fallback, undefined, 2),
      example: type === 'array' ? '[]' : '{}',
    };
  }

  #fieldsOf(schema: JsonFields, { key, fallback, level = 0 }: FieldPlace): FormField[] {
    const { prefixItems, properties, required } = schema;
    const names = new Set(Array.isArray(required) ? required : []);
    const values = new Map(typeof fallback === 'object' && fallback !== null ? Object.entries(fallback) : []);
    const inner = { level: level + 1 };
    if (Array.isArray(prefixItems))
      return prefixItems.map((item, index) => {
        const name = String(index);
        const field = this.make(item, {
          ...inner,
          key: keyIn(key, name),
          name,
          isRequired: true,
          fallback: values.get(name),
        });
        return field.label === name ? { ...field, label: String(index + 1) } : field;
      });
    return Object.entries(isRecord(properties) ? properties : {}).map(([name, property]) =>
      this.make(property, {
        ...inner,
        key: keyIn(key, name),
        name,
        isRequired: names.has(name),
        fallback: values.get(name),
      }),
    );
  }

  #listOf(base: FieldBase, schema: JsonFields, items: JsonFields, fallback: unknown): FormField {
    const { schema: item, isNullable } = this.#reader.read(items);
    const { type } = item;
    const [minItems, maxItems] = [Number(schema['minItems'] ?? 0), Number(schema['maxItems'] ?? Infinity)];
    const values: readonly unknown[] = Array.isArray(fallback) ? fallback : [];
    const isClosed = this.#reader.choicesOf(item).length > 0;
    if (!isClosed && !isNullable && (type === 'string' || isNumeric(type)))
      return { ...base, kind: 'lines', type: typeOf(type), minItems, initial: values.map(String).join('\n') };
    const itemAt = (index: number): FormField => {
      const label = `${base.label} ${index + 1}`;
      const place = { key: keyIn(base.key, String(index)), name: label, fallback: values[index] };
      // An item that was added is part of the answer.
      return { ...this.make(items, { ...place, isRequired: true }), label };
    };
    const count = Math.max(values.length, base.isRequired ? Math.min(minItems, MAX_OFFERED) : 0);
    return { ...base, kind: 'items', minItems, maxItems, initial: String(count), itemAt };
  }

  /** Creates the field of a value that has the shape of one of the schemas. */
  #variantsOf(base: FieldBase, schemas: readonly JsonFields[], fallback: unknown): VariantField {
    const all = schemas.map((schema) => this.#reader.constantsOf(schema));
    const [first = {}] = all;
    const distinguishing = Object.keys(first).filter(
      (name) => all.length > 1 && all.every((constants) => Object.hasOwn(constants, name)),
    );
    const isLike = (schema: JsonFields): boolean =>
      schemas.length === 1 ? typeof fallback === 'object' && fallback !== null : this.#reader.isLike(schema, fallback);
    const chosen = fallback === undefined ? -1 : schemas.findIndex(isLike);
    const variants = schemas.map((schema, index): Variant => {
      const { properties = {} } = schema;
      const pick = (fields: unknown, isPicked: boolean): JsonFields =>
        Object.fromEntries(
          Object.entries(isRecord(fields) ? fields : {}).filter(([name]) => distinguishing.includes(name) === isPicked),
        );
      const constants = pick(all[index], true);
      const label = variantLabel(schema, constants);
      const shown = distinguishing.length === 0 ? schema : { ...schema, properties: pick(properties, false) };
      const place = { key: base.key, name: base.name, isRequired: true };
      const isFallback = index === chosen;
      const createField = (): FormField => this.make(shown, isFallback ? { ...place, fallback } : place);
      return { label, constants, createField };
    });
    const labels = variants.map(({ label }) => label);
    const numbered = variants.map((variant, index) =>
      labels.indexOf(variant.label) === labels.lastIndexOf(variant.label)
        ? variant
        : { ...variant, label: `${variant.label} ${index + 1}` },
    );
    return { ...base, kind: 'variants', variants: numbered, initial: chosen < 0 ? '' : String(chosen) };
  }
}

/** Names of types for people. */
const TYPE_NAMES = new Map<unknown, string>([
  ['string', 'text'],
  ['integer', 'number'],
  ['number', 'number'],
  ['boolean', 'true or false'],
  ['array', 'list'],
  ['object', 'group'],
]);

/** Returns the name of a variant: its title, the values that distinguish it, or its type. */
function variantLabel({ title, type }: JsonFields, constants: JsonFields): string {
  const values = Object.values(constants).map(choiceText).join(', ');
  return typeof title === 'string' ? title : values || (TYPE_NAMES.get(type) ?? 'value');
}

/** Maximum number of empty items that a form begins with. */
const MAX_OFFERED = 10;

function inputOf(base: FieldBase, schema: JsonFields, fallback: unknown): InputField {
  const { type } = schema;
  const attributes = type === 'string' ? textAttributes(schema) : numberAttributes(schema);
  const initial = attributes.type === 'datetime-local' ? toLocalTime(textOf(fallback)) : textOf(fallback);
  return { ...base, kind: 'input', type: typeOf(type), attributes, initial };
}

/** Returns a time such as `2026-01-02T03:04:05Z` as the local time that an input has. Empty for other texts. */
function toLocalTime(text: string): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return '';
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return local.toISOString().replace(/(?:\.000)?Z$/, '');
}

function typeOf(type: unknown): 'text' | 'number' {
  return isNumeric(type) ? 'number' : 'text';
}

function isNumeric(type: unknown): boolean {
  return type === 'number' || type === 'integer';
}

/** Returns the key of a value inside another: a JSON Pointer, in which `#` is also escaped. */
function keyIn(key: string, name: string): string {
  return `${key}/${name.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('#', '~2')}`;
}

/** Returns the key of the text that has the chosen variant. The value has the key of the field itself. */
export function variantKey({ key }: VariantField): string {
  return `${key}#`;
}

/** Returns a choice as the text that is shown for it. */
export function choiceText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns a default value as the text of an input. */
function textOf(value: unknown): string {
  return value === undefined || value === null ? '' : choiceText(value);
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

/**
 * Returns the texts that a form begins with: the defaults of the schema.
 * @param level the number of lists and groups around the field that begin with it
 */
export function initialTexts(field: FormField, level = 0): FieldTexts {
  const isShown = level < MAX_LEVELS;
  switch (field.kind) {
    case 'group':
    case 'tuple':
      return Object.assign({}, ...field.fields.map((each) => initialTexts(each, level)));
    case 'variants':
      return chooseVariant(field, {}, isShown ? field.initial : '', level + 1);
    case 'items': {
      const own = { [field.key]: isShown ? field.initial : '0' };
      return Object.assign(own, ...itemsOf(field, own).map((item) => initialTexts(item, level + 1)));
    }
    default:
      return { [field.key]: field.initial };
  }
}

/** Returns the fields of the items of a list. */
export function itemsOf({ key, itemAt }: ItemsField, texts: FieldTexts): readonly FormField[] {
  return Array.from({ length: Number(texts[key] ?? 0) }, (_, index) => itemAt(index));
}

/** Returns the texts with a further item at the end of a list, which begins with its defaults. */
export function addItem({ key, itemAt }: ItemsField, texts: FieldTexts): FieldTexts {
  const count = Number(texts[key] ?? 0);
  return { ...texts, ...initialTexts(itemAt(count)), [key]: String(count + 1) };
}

/** Returns the texts without an item of a list. The items after it move up. */
export function removeItem({ key }: ItemsField, texts: FieldTexts, removed: number): FieldTexts {
  const prefix = `${key}/`;
  const kept = Object.entries(texts).flatMap(([each, text]): [string, string][] => {
    const [, number = '', rest = ''] = each.startsWith(prefix)
      ? (/^(\d+)((?:[/#].*)?)$/s.exec(each.slice(prefix.length)) ?? [])
      : [];
    if (number === '' || Number(number) < removed) return [[each, text]];
    return Number(number) === removed ? [] : [[`${prefix}${Number(number) - 1}${rest}`, text]];
  });
  return { ...Object.fromEntries(kept), [key]: String(Number(texts[key] ?? 0) - 1) };
}

/** Returns the chosen variant of a value; undefined without one. */
export function variantOf(field: VariantField, texts: FieldTexts): Variant | undefined {
  const chosen = texts[variantKey(field)] ?? '';
  return chosen === '' ? undefined : field.variants[Number(chosen)];
}

/** Returns the texts with another variant of a value, which begins with its defaults. */
export function chooseVariant(field: VariantField, texts: FieldTexts, chosen: string, level = 0): FieldTexts {
  const kept = Object.entries(texts).filter(([key]) => !isWithin(key, field.key));
  const next = { ...Object.fromEntries(kept), [variantKey(field)]: chosen };
  const variant = variantOf(field, next);
  return variant ? { ...next, ...initialTexts(variant.createField(), level) } : next;
}

/** True for the key of a field, and for those of fields inside it. */
export function isWithin(key: string, outer: string): boolean {
  return key.startsWith(outer) && ['', '/', '#'].includes(key.charAt(outer.length));
}

/** Returns the answer that the texts of a form make, or messages by the keys of the fields that cannot be read. */
export function readAnswer(
  field: FormField,
  texts: FieldTexts,
): { readonly value: unknown } | { readonly errors: FieldTexts } {
  const errors: Record<string, string> = {};
  const value = readField(field, texts, errors);
  return Object.keys(errors).length > 0 ? { errors } : { value };
}

function readField(field: FormField, texts: FieldTexts, errors: Record<string, string>): unknown {
  const { key, isRequired, isNullable } = field;
  const absent = isRequired && isNullable ? null : undefined;
  if (field.kind === 'tuple') return field.fields.map((each) => readField(each, texts, errors));
  if (field.kind === 'group') {
    const entries = field.fields.flatMap((each) => {
      const value = readField(each, texts, errors);
      return value === undefined ? [] : [[each.name, value]];
    });
    return Object.fromEntries(entries) as unknown;
  }
  if (field.kind === 'variants') {
    const variant = variantOf(field, texts);
    if (!variant) {
      if (isRequired && !isNullable) errors[variantKey(field)] = 'Expected a value.';
      return absent;
    }
    const value = readField(variant.createField(), texts, errors);
    return isRecord(value) ? { ...variant.constants, ...value } : value;
  }
  if (field.kind === 'items') {
    const items = itemsOf(field, texts);
    if (items.length === 0 && (isNullable || !isRequired)) return absent;
    if (items.length < field.minItems) errors[key] = `Expected at least ${field.minItems}, got ${items.length}.`;
    return items.map((item) => readField(item, texts, errors));
  }
  const text = texts[key] ?? '';
  if (text === '' && (isNullable || !isRequired)) return absent;
  switch (field.kind) {
    case 'lines':
      return readLines(field, text, errors);
    case 'choice':
      return field.choices.find((choice) => choiceText(choice) === text);
    case 'json':
      return readJsonText(key, text, errors);
    case 'input':
      if (field.type === 'number') return Number(text);
      return field.attributes.type === 'datetime-local' && text !== '' ? new Date(text).toISOString() : text;
  }
}

function readLines({ key, type, isRequired }: LinesField, text: string, errors: Record<string, string>): unknown {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0 && !isRequired) return undefined;
  if (type === 'text') return lines;
  const wrong = lines.find((line) => Number.isNaN(Number(line)));
  if (wrong !== undefined) errors[key] = `Expected a number on each line, got “${wrong}”.`;
  return lines.map(Number);
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
 * Returns the messages of a refused answer by the keys of their fields, from an error such as
 * `…requested schema: name: too short; tags.0: too long`. `rest` has the whole error if a part of it belongs to no
 * field.
 *
 * @param texts the texts of the answer
 */
export function refusedFields(
  field: FormField,
  texts: FieldTexts,
  error: string,
): { readonly errors: FieldTexts; readonly rest?: string } {
  const [, listed = ''] = /requested schema: ([\s\S]*)$/.exec(error) ?? [];
  const errors: Record<string, string> = {};
  for (const issue of listed.split('; ')) {
    const [, place = '', text = ''] = /^([^:]*): ([\s\S]*)$/.exec(issue) ?? [];
    // This is the server's name for the answer itself.
    const key = keyOf(field, texts, place) ?? (place === 'value' ? keyOf(field, texts, '') : undefined);
    if (key === undefined || place === '') return { errors, rest: error };
    errors[key] = text;
  }
  return { errors };
}

/**
 * Returns the key of the innermost field around a place such as `lines.0.count`, which is inside the given field;
 * undefined if there is none.
 */
function keyOf(field: FormField, texts: FieldTexts, place: string): string | undefined {
  switch (field.kind) {
    case 'group':
    case 'tuple': {
      // A name may contain a dot.
      const inner = field.fields
        .filter(({ name }) => place === name || place.startsWith(`${name}.`))
        .sort((a, b) => b.name.length - a.name.length)[0];
      return inner && keyOf(inner, texts, place.slice(inner.name.length + 1));
    }
    case 'variants': {
      const variant = variantOf(field, texts);
      return (variant && keyOf(variant.createField(), texts, place)) ?? variantKey(field);
    }
    case 'items': {
      const [number] = /^\d+(?=\.|$)/.exec(place) ?? [];
      const isShown = number !== undefined && Number(number) < itemsOf(field, texts).length;
      return (isShown && keyOf(field.itemAt(Number(number)), texts, place.slice(number.length + 1))) || field.key;
    }
    default:
      return field.key;
  }
}
