import { describeKind, isRecord, setOwn } from '@eventloom/core/internal';
import { allowNull } from '@eventloom/tools/internal';
import { below, type Located, type LocatedRecord, type OpenApiDocument, referenceOf } from './document.ts';
import { OpenApiDocumentError } from './errors.ts';

/** A JSON Schema under construction. */
export type DeclaredSchema = Record<string, unknown>;

/** Maximum length of a description in a schema, in characters; the rest is dropped. */
const MAX_DESCRIPTION = 500;
/** Maximum length of a definition that is repeated at each use to save the model a look-up, in characters. */
const MAX_REPEATED = 200;
/** Maximum number of definitions in one declaration. */
const MAX_DEFINITIONS = 200;
/** Maximum depth of definitions that are replaced by their schemas within each other. */
const MAX_INLINED = 20;
/** Maximum depth of nested `allOf`. */
const MAX_INHERITED = 50;
const DEFINITION = '#/$defs/';

const TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);
/** Keywords with the same meaning in both versions, whose values are data. */
const DATA_KEYWORDS = [
  'format',
  'const',
  'minimum',
  'maximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
];

/**
 * Converts the schemas of one operation to JSON Schema, as models read it:
 *
 * - A reference is replaced by its schema. A schema that contains itself, or is large and used more than once, is
 *   written once under `$defs`.
 * - `allOf` of objects becomes one object, and `oneOf` becomes `anyOf`: documents often have alternatives that overlap.
 * - Properties that only responses have (`readOnly`) are left out.
 * - A `pattern` becomes a part of the description, because the dialects of patterns differ; the API checks it.
 */
export class SchemaWriter {
  readonly #document: OpenApiDocument;
  /** The names of definitions by the pointers of their schemas. */
  readonly #names = new Map<string, string>();
  readonly #targets = new Map<string, Located>();
  readonly #written = new Map<string, DeclaredSchema>();
  /** Definitions that are being written: members of their `allOf` may refer back to them. */
  readonly #open = new Set<string>();

  constructor(document: OpenApiDocument) {
    this.#document = document;
  }

  /**
   * Converts a schema of the document; `finish` resolves references in it. An absent schema accepts everything.
   * @throws OpenApiDocumentError
   */
  write(at: Located): DeclaredSchema {
    const { value, pointer } = at;
    if (value === undefined || value === true) return {};
    if (value === false) return { not: {} };
    if (!isRecord(value)) throw new OpenApiDocumentError(pointer, `expected a schema, got ${describeKind(value)}`);
    return referenceOf(value) === undefined ? this.#describe({ value, pointer }) : this.#reference(at);
  }

  /**
   * Returns a written schema with the definitions that it needs, outermost first. Definitions beyond the 200th accept every value.
   *
   * @throws OpenApiDocumentError
   */
  finish(schema: DeclaredSchema): DeclaredSchema {
    const uses = new Map<string, number>();
    const count = (value: unknown): void => {
      const name = definitionOf(value);
      if (name !== undefined) uses.set(name, (uses.get(name) ?? 0) + 1);
      else if (Array.isArray(value)) value.forEach(count);
      else if (isRecord(value)) Object.values(value).forEach(count);
    };
    count(schema);
    const definitions = new Map<string, DeclaredSchema>();
    for (const name of uses.keys()) {
      if (definitions.size === MAX_DEFINITIONS) break;
      const definition = this.#definition(name) ?? {};
      definitions.set(name, definition);
      count(definition);
    }
    const kept = new Set<string>();
    const inline = (value: unknown, depth: number): unknown => {
      if (Array.isArray(value)) return value.map((item) => inline(item, depth));
      if (!isRecord(value)) return value;
      const name = definitionOf(value);
      if (name === undefined) return mapValues(value, (held) => inline(held, depth));
      const { $ref, ...siblings } = value;
      const definition = definitions.get(name);
      if (!definition) return siblings;
      if ((uses.get(name) === 1 && depth < MAX_INLINED) || isSmall(definition))
        return { ...mapValues(definition, (held) => inline(held, depth + 1)), ...siblings };
      kept.add(name);
      // Some models accept no other keyword beside a reference.
      return Object.keys(siblings).length === 0 ? { $ref } : { ...siblings, anyOf: [{ $ref }] };
    };
    const inlineAll = (whole: DeclaredSchema): DeclaredSchema => mapValues(whole, (held) => inline(held, 0));
    const root = inlineAll(schema);
    const $defs: DeclaredSchema = {};
    for (const name of kept) $defs[name] = inlineAll(definitions.get(name) ?? {});
    return kept.size === 0 ? root : { ...openCircles(root, $defs), $defs };
  }

  #definition(name: string): DeclaredSchema | undefined {
    const target = this.#targets.get(name);
    const known = this.#written.get(name);
    if (known || !target || this.#open.has(name) || this.#open.size === MAX_INHERITED) return known;
    this.#open.add(name);
    const schema = this.write(target);
    this.#open.delete(name);
    this.#written.set(name, schema);
    return schema;
  }

  #reference(at: Located): DeclaredSchema {
    const target = this.#document.follow(at);
    const name = this.#names.get(target.pointer) ?? this.#newName(target.pointer);
    this.#names.set(target.pointer, name);
    this.#targets.set(name, target);
    const description = below(at, 'description').value;
    return {
      $ref: `${DEFINITION}${name}`,
      ...(typeof description === 'string' && { description: cut(description, MAX_DESCRIPTION) }),
    };
  }

  #newName(pointer: string): string {
    const last = pointer.slice(pointer.lastIndexOf('/') + 1).replaceAll(/[^\w.-]+/g, '_');
    const name = last.slice(0, 64) || 'schema';
    for (let count = 1; ; count++) {
      const candidate = count === 1 ? name : `${name}_${count}`;
      if (!this.#targets.has(candidate)) return candidate;
    }
  }

  #describe(at: LocatedRecord): DeclaredSchema {
    const { value } = at;
    const schema: DeclaredSchema = {};
    const type = typesOf(value['type']);
    if (type !== undefined) schema['type'] = type;
    const description = describe(value);
    if (description !== '') schema['description'] = description;
    for (const keyword of DATA_KEYWORDS) if (value[keyword] !== undefined) schema[keyword] = value[keyword];
    if (Array.isArray(value['enum'])) schema['enum'] = [...(value['enum'] as unknown[])];
    if (value['default'] !== undefined && isShort(value['default'])) schema['default'] = value['default'];
    this.#addBounds(value, schema);
    this.#addObject(at, schema);
    this.#addArray(at, schema);
    this.#addCombinations(at, schema);
    if (this.#document.isVersion30 && value['nullable'] === true) allowNull(schema);
    return schema;
  }

  /** Converts bounds of version 3.0, where `exclusiveMinimum` is a boolean beside `minimum`. */
  #addBounds(value: LocatedRecord['value'], schema: DeclaredSchema): void {
    for (const [bound, exclusive] of [
      ['minimum', 'exclusiveMinimum'],
      ['maximum', 'exclusiveMaximum'],
    ] as const) {
      if (typeof value[exclusive] === 'number') schema[exclusive] = value[exclusive];
      if (value[exclusive] !== true || typeof schema[bound] !== 'number') continue;
      schema[exclusive] = schema[bound];
      delete schema[bound];
    }
  }

  #addObject(at: LocatedRecord, schema: DeclaredSchema): void {
    const properties = below(at, 'properties');
    const required = below(at, 'required').value;
    const omitted = new Set<string>();
    if (isRecord(properties.value)) {
      const written: DeclaredSchema = {};
      for (const name of Object.keys(properties.value)) {
        const property = below(properties, name);
        if (this.#isReadOnly(property)) omitted.add(name);
        else setOwn<unknown>(written, name, this.write(property));
      }
      schema['properties'] = written;
      schema['type'] ??= 'object';
    }
    if (Array.isArray(required)) {
      const names = required.filter((name) => typeof name === 'string' && !omitted.has(name));
      if (names.length > 0) schema['required'] = names;
    }
    const others = below(at, 'additionalProperties');
    // Names that match a pattern are allowed too.
    const isClosed = others.value === false && value(at, 'patternProperties') === undefined;
    if (isClosed) schema['additionalProperties'] = false;
    else if (isRecord(others.value) && Object.keys(others.value).length > 0)
      schema['additionalProperties'] = this.write(others);
  }

  #isReadOnly(property: Located): boolean {
    return value(property, 'readOnly') === true || value(this.#document.follow(property), 'readOnly') === true;
  }

  #addArray(at: LocatedRecord, schema: DeclaredSchema): void {
    const items = below(at, 'items');
    const first = below(at, 'prefixItems');
    if (Array.isArray(first.value))
      schema['prefixItems'] = first.value.map((_, index) => this.write(below(first, index)));
    if (items.value !== undefined) schema['items'] = this.write(items);
    if (items.value !== undefined || Array.isArray(first.value)) schema['type'] ??= 'array';
  }

  #addCombinations(at: LocatedRecord, schema: DeclaredSchema): void {
    const not = below(at, 'not');
    if (isRecord(not.value)) schema['not'] = this.write(not);
    const alternatives = ['anyOf', 'oneOf'].flatMap((keyword) => {
      const list = below(at, keyword);
      return Array.isArray(list.value) ? [list.value.map((_, index) => this.write(below(list, index)))] : [];
    });
    const all = below(at, 'allOf');
    const members = Array.isArray(all.value) ? all.value.map((_, index) => this.write(below(all, index))) : [];
    const [first, second] = alternatives;
    if (first) schema['anyOf'] = first;
    if (second) members.push({ anyOf: second });
    const isExtended = members.length > 1 || (members.length === 1 && schema['properties'] !== undefined);
    const left: DeclaredSchema[] = [];
    for (const member of members) if (!mergeInto(schema, this.resolve(member))) left.push(member);
    if (left.length > 0) schema['allOf'] = [...listOf(schema['allOf']), ...left];
    // A schema that forbids additional properties would refuse the properties of the other members.
    if (isExtended && schema['additionalProperties'] === false) delete schema['additionalProperties'];
  }

  /**
   * Returns the definition of a written reference; the schema itself if it is not one, or if the definition is still
   * being written.
   */
  resolve(schema: DeclaredSchema): DeclaredSchema {
    const name = definitionOf(schema);
    if (name === undefined) return schema;
    const definition = this.#definition(name);
    if (!definition) return schema;
    const { $ref: _, ...siblings } = schema;
    return { ...definition, ...siblings };
  }
}

/** Keywords whose schemas describe the same value as the enclosing schema. */
const SAME_VALUE = ['allOf', 'anyOf'] as const;

/**
 * Replaces references by which a definition refers to itself without a property or an item in between: a validator would never end. Such a
 * reference adds nothing, so it becomes a schema that accepts every value. Changes the definitions in place.
 */
function openCircles(root: DeclaredSchema, definitions: DeclaredSchema): DeclaredSchema {
  const open = new Set<string>();
  const done = new Set<string>();
  const walk = (value: unknown): unknown => {
    if (!isRecord(value)) return value;
    const name = definitionOf(value);
    if (name === undefined) return walkParts(value);
    if (open.has(name)) return {};
    if (!done.has(name)) {
      open.add(name);
      definitions[name] = walk(definitions[name]);
      open.delete(name);
      done.add(name);
    }
    return value;
  };
  const walkParts = (schema: DeclaredSchema): DeclaredSchema => {
    const parts: DeclaredSchema = {};
    for (const keyword of SAME_VALUE) if (Array.isArray(schema[keyword])) parts[keyword] = schema[keyword].map(walk);
    const { not, ...others } = schema;
    if (not === undefined) return { ...schema, ...parts };
    const name = definitionOf(not);
    return name !== undefined && open.has(name) ? { ...others, ...parts } : { ...schema, ...parts, not: walk(not) };
  };
  for (const name of Object.keys(definitions)) walk({ $ref: `${DEFINITION}${name}` });
  return walkParts(root);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function value(at: Located, key: string): unknown {
  return below(at, key).value;
}

function definitionOf(schema: unknown): string | undefined {
  const ref = referenceOf(schema);
  return ref?.startsWith(DEFINITION) ? ref.slice(DEFINITION.length) : undefined;
}

function mapValues(schema: Readonly<Record<string, unknown>>, map: (value: unknown) => unknown): DeclaredSchema {
  const mapped: DeclaredSchema = {};
  for (const key of Object.keys(schema)) setOwn(mapped, key, map(schema[key]));
  return mapped;
}

/** Returns the known types. Some documents have types that do not exist, such as `file`; they are ignored. */
function typesOf(type: unknown): unknown {
  if (typeof type === 'string') return TYPES.has(type) ? type : undefined;
  if (!Array.isArray(type)) return undefined;
  const types = type.filter((each) => TYPES.has(each));
  return types.length > 1 ? types : types[0];
}

function describe({ description, title, pattern }: Readonly<Record<string, unknown>>): string {
  const text = typeof description === 'string' ? description : typeof title === 'string' ? title : '';
  const shown = cut(text, MAX_DESCRIPTION);
  return typeof pattern === 'string' && pattern.length <= MAX_REPEATED
    ? `${shown}\nMatches the pattern ${pattern}`.trim()
    : shown;
}

/** Truncates text, and marks the truncation. */
export function cut(text: string, length: number): string {
  const trimmed = text.trim();
  return trimmed.length <= length ? trimmed : `${trimmed.slice(0, length - 1).toWellFormed()}…`;
}

/** True for a definition that is repeated at each use. */
function isSmall(definition: DeclaredSchema): boolean {
  const text = JSON.stringify(definition);
  return text.length <= MAX_REPEATED && !text.includes(DEFINITION);
}

function isShort(data: unknown): boolean {
  return (JSON.stringify(data) ?? '').length <= MAX_REPEATED;
}

/** Keywords that two schemas of `allOf` may both have. They only describe, so the first one is kept. */
const DESCRIBING: ReadonlySet<string> = new Set(['description', 'default']);

/**
 * Adds the keywords of a member of `allOf` and returns true. Returns false and changes nothing if both schemas restrict the same property
 * differently.
 */
function mergeInto(schema: DeclaredSchema, member: DeclaredSchema): boolean {
  if (definitionOf(member) !== undefined) return false;
  const merged: DeclaredSchema = {};
  for (const [keyword, given] of Object.entries(member)) {
    const own = schema[keyword];
    if (own === undefined) merged[keyword] = given;
    else if (keyword === 'required' && Array.isArray(own) && Array.isArray(given))
      merged[keyword] = [...new Set([...(own as unknown[]), ...(given as unknown[])])];
    else if (keyword === 'properties' && isRecord(own) && isRecord(given)) {
      const both = mergeProperties(own, given);
      if (!both) return false;
      merged[keyword] = both;
    } else if (keyword === 'additionalProperties' && (own === false || given === false)) merged[keyword] = false;
    else if (!DESCRIBING.has(keyword) && JSON.stringify(own) !== JSON.stringify(given)) return false;
  }
  Object.assign(schema, merged);
  return true;
}

function mergeProperties(own: DeclaredSchema, given: DeclaredSchema): DeclaredSchema | undefined {
  const both: DeclaredSchema = { ...own };
  for (const name of Object.keys(given)) {
    const [mine, theirs] = [Object.hasOwn(own, name) ? own[name] : undefined, given[name]];
    if (mine === undefined) setOwn(both, name, theirs);
    else if (JSON.stringify(mine) !== JSON.stringify(theirs)) {
      if (!isRecord(mine) || !isRecord(theirs)) return undefined;
      const merged = { ...mine };
      if (!mergeInto(merged, theirs)) return undefined;
      setOwn<unknown>(both, name, merged);
    }
  }
  return both;
}

/** Depths to which a too large schema is reduced, in the order in which they are tried. */
const LEVELS = [12, 8, 6, 5, 4, 3, 2, 1];

/**
 * Returns a schema of at most this many characters of JSON. In a larger schema the descriptions are shortened first; then the innermost
 * levels are replaced by their types, which accept more values.
 */
export function limitSize(schema: DeclaredSchema, maxCharacters: number): DeclaredSchema {
  const fits = (candidate: DeclaredSchema): boolean => JSON.stringify(candidate).length <= maxCharacters;
  if (fits(schema)) return schema;
  for (const levels of [Infinity, ...LEVELS]) {
    const candidate = cutLevels(schema, levels);
    if (fits(candidate)) return candidate;
  }
  return { type: 'object' };
}

/** Keywords whose values are schemas by name. */
const SCHEMA_MAPS: ReadonlySet<string> = new Set(['properties', '$defs']);

function cutLevels(schema: DeclaredSchema, levels: number): DeclaredSchema {
  const definitions = isRecord(schema['$defs']) ? schema['$defs'] : {};
  /** The reached definitions, outermost first. */
  const reached = new Map<string, number>();
  const walk = (value: unknown, level: number): unknown => {
    if (Array.isArray(value)) return value.map((item) => walk(item, level));
    if (!isRecord(value)) return value;
    const name = definitionOf(value);
    if (name !== undefined) {
      if (level > levels) return {};
      if (!reached.has(name)) reached.set(name, level);
      return value;
    }
    const { description, type } = value;
    const short = typeof description === 'string' ? { description: cut(description, 80) } : {};
    if (level > levels) return { ...(typeof type === 'string' && { type }), ...short };
    const cutSchema: DeclaredSchema = {};
    for (const key of Object.keys(value)) {
      const held = value[key];
      if (key === '$defs') continue;
      if (SCHEMA_MAPS.has(key) && isRecord(held)) cutSchema[key] = mapValues(held, (each) => walk(each, level + 1));
      else if (DATA_SHAPED.has(key)) cutSchema[key] = held;
      else cutSchema[key] = walk(held, level + 1);
    }
    return { ...cutSchema, ...short };
  };
  const root = walk(schema, 0) as DeclaredSchema;
  const kept: DeclaredSchema = {};
  for (const [name, level] of reached) kept[name] = walk(definitions[name], level);
  return Object.keys(kept).length === 0 ? root : { ...root, $defs: kept };
}

/** Keywords whose values are data, not schemas. */
const DATA_SHAPED: ReadonlySet<string> = new Set([
  ...DATA_KEYWORDS,
  'enum',
  'default',
  'required',
  'type',
  'description',
]);
