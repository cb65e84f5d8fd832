import { isRecord } from '../content/json.ts';

type Json = Record<string, unknown>;

/** The definition of a schema: `_def` in zod 3, `_zod.def` in zod 4. The fields differ between types and versions. */
type Definition = Readonly<Record<string, unknown>>;

/** True for schemas of zod: version 3, `zod/v3`, version 4 and `zod/mini`. */
export function isZodSchema(schema: object): boolean {
  return definitionOf(schema) !== undefined;
}

/**
 * Converts a zod schema to JSON Schema of the values that it takes, for versions of zod that cannot do it themselves: zod 3, zod
 * before 4.2 and `zod/mini`. Checks that JSON Schema cannot express (refinements, transforms) are left out.
 * @throws TypeError for a type without a form in JSON, such as a function
 */
export function zodToJson(schema: object): Json {
  return new Conversion().root(schema);
}

/** Types that the ADK converts for zod 3 alone. Their values come from JSON if they are coerced, or absent. */
const TYPES_OF_ZOD_3: Readonly<Record<string, Json>> = {
  date: { type: 'string', format: 'date-time' },
  bigint: { type: 'integer', format: 'int64' },
};

/** One conversion. A recursive schema is converted once, under `$defs`, and referenced elsewhere. */
class Conversion {
  /** Schemas whose conversion has started and not ended. */
  readonly #open = new Set<object>();
  /** References to schemas that contain themselves. */
  readonly #references = new Map<object, string>();
  readonly #definitions: Json = {};
  /** Names of the properties around the schema that is being converted. */
  readonly #path: string[] = [];

  root(schema: object): Json {
    this.#open.add(schema);
    const json = this.#describe(schema);
    return Object.keys(this.#definitions).length === 0 ? json : { ...json, $defs: this.#definitions };
  }

  #convert(schema: unknown): Json {
    if (!isSchema(schema)) throw this.#fault('is not a zod schema');
    if (this.#open.has(schema)) {
      const isRoot = this.#open.values().next().value === schema;
      const reference = this.#references.get(schema) ?? (isRoot ? '#' : `#/$defs/schema${this.#references.size}`);
      this.#references.set(schema, reference);
      return { $ref: reference };
    }
    this.#open.add(schema);
    const json = this.#describe(schema);
    this.#open.delete(schema);
    const reference = this.#references.get(schema);
    if (reference === undefined) return json;
    this.#definitions[reference.slice('#/$defs/'.length)] = json;
    return { $ref: reference };
  }

  #describe(schema: object): Json {
    const def = definitionOf(schema) ?? {};
    const json = this.#typed(typeOf(def), def);
    const description = descriptionOf(schema, def);
    return description === undefined ? json : { ...json, description };
  }

  #typed(type: string, def: Definition): Json {
    switch (type) {
      case 'string':
        return { type: 'string', ...stringChecks(def) };
      case 'number':
        return { type: 'number', ...numberChecks(def) };
      case 'boolean':
      case 'success':
        return { type: 'boolean' };
      case 'null':
        return { type: 'null' };
      case 'any':
      case 'unknown':
        return {};
      case 'never':
        return { not: {} };
      case 'literal':
        return this.#choice('values' in def ? (def['values'] as unknown[]) : [def['value']]);
      case 'enum':
      case 'nativeenum':
        return this.#choice(enumValues(def['entries'] ?? def['values']));
      case 'template_literal':
        return { type: 'string' };
      case 'object':
        return this.#object(def);
      case 'array':
        return { type: 'array', items: this.#convert(def['element'] ?? def['type']), ...lengthChecks(def, 'Items') };
      case 'tuple':
        return this.#tuple(def);
      case 'record':
        return { type: 'object', additionalProperties: this.#convert(def['valueType']) };
      case 'union':
      case 'discriminatedunion':
        return { anyOf: Array.from(iterable(def['options']), (option) => this.#convert(option)) };
      case 'intersection':
        return { allOf: [this.#convert(def['left']), this.#convert(def['right'])] };
      case 'nullable':
        return { anyOf: [this.#convert(def['innerType']), { type: 'null' }] };
      case 'default':
      case 'prefault':
        return this.#withDefault(def);
      case 'lazy':
        return this.#convert(called(def['getter']));
      case 'pipe':
      case 'pipeline':
        // A pipe that begins with a function accepts the input of its second schema.
        return this.#convert(isTransform(def['in']) ? def['out'] : def['in']);
      case 'effects':
        return this.#convert(def['schema']);
      case 'branded':
        return this.#convert(def['type']);
      case 'optional':
      case 'nonoptional':
      case 'readonly':
      case 'catch':
        return this.#convert(def['innerType']);
      default:
        if ('typeName' in def && Object.hasOwn(TYPES_OF_ZOD_3, type)) return { ...TYPES_OF_ZOD_3[type] };
        throw this.#fault(`${type} has no form in JSON; use a string, a number, a boolean, an array or an object`);
    }
  }

  #fault(message: string): TypeError {
    return new TypeError(`${this.#path.join('.') || 'value'}: ${message}`);
  }

  /** The schema of a value that is one of a list. */
  #choice(values: readonly unknown[]): Json {
    const types = new Set(values.map((value) => (value === null ? 'null' : typeof value)));
    const other = Array.from(types).find((type) => !JSON_TYPES.has(type));
    if (other !== undefined) throw this.#fault(`a literal of type ${other} has no form in JSON`);
    const [type] = types;
    return { ...(types.size === 1 && { type }), enum: [...values] };
  }

  #object(def: Definition): Json {
    const shape = called(def['shape']);
    const properties: Json = {};
    const required: string[] = [];
    for (const [name, property] of Object.entries(isRecord(shape) ? shape : {})) {
      this.#path.push(name);
      properties[name] = this.#convert(property);
      this.#path.pop();
      if (!isOptional(property)) required.push(name);
    }
    const { catchall } = def;
    const isStrict =
      def['unknownKeys'] === 'strict' || (isSchema(catchall) && def['unknownKeys'] === undefined && isNever(catchall));
    const others = isSchema(catchall) && !isNever(catchall) ? this.#convert(catchall) : undefined;
    return {
      type: 'object',
      properties,
      ...(required.length > 0 && { required }),
      ...(isStrict && { additionalProperties: false }),
      ...(others && { additionalProperties: others }),
    };
  }

  #tuple(def: Definition): Json {
    const items = Array.from(iterable(def['items']), (item) => this.#convert(item));
    const rest = def['rest'];
    return {
      type: 'array',
      prefixItems: items,
      minItems: items.length,
      ...(isSchema(rest) ? { items: this.#convert(rest) } : { maxItems: items.length }),
    };
  }

  #withDefault(def: Definition): Json {
    const value = called(def['defaultValue']);
    const json = value instanceof Date ? value.toISOString() : typeof value === 'bigint' ? Number(value) : value;
    return { ...this.#convert(def['innerType']), default: json };
  }
}

function definitionOf(schema: unknown): Definition | undefined {
  if (!isSchema(schema)) return undefined;
  if ('_zod' in schema && isRecord(schema._zod) && isRecord(schema._zod['def'])) return schema._zod['def'];
  if (!('_def' in schema) || !isRecord(schema._def)) return undefined;
  const { typeName } = schema._def;
  return typeof typeName === 'string' && typeName.startsWith('Zod') ? schema._def : undefined;
}

function isSchema(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** The type of a definition, in lower case: `ZodNativeEnum` of zod 3 is `nativeenum`. */
function typeOf(def: Definition): string {
  const { typeName, type } = def;
  return typeof typeName === 'string' ? typeName.slice('Zod'.length).toLowerCase() : String(type);
}

/** The registry in which zod 4 keeps descriptions, shared by all loaded copies of zod. */
interface Registry {
  get(schema: object): { readonly description?: unknown } | undefined;
}

function descriptionOf(schema: object, def: Definition): string | undefined {
  const { description } = '_zod' in schema ? (registered(schema) ?? {}) : def;
  if (typeof description === 'string') return description;
  return 'description' in schema && typeof schema.description === 'string' ? schema.description : undefined;
}

function registered(schema: object): { readonly description?: unknown } | undefined {
  return (globalThis as { readonly __zod_globalRegistry?: Registry }).__zod_globalRegistry?.get(schema);
}

function isTransform(schema: unknown): boolean {
  const def = definitionOf(schema);
  return def !== undefined && typeOf(def) === 'transform';
}

function isNever(schema: object): boolean {
  const def = definitionOf(schema);
  return def !== undefined && typeOf(def) === 'never';
}

/** Returns true for a property that may be absent. */
function isOptional(schema: unknown): boolean {
  if (!isSchema(schema)) return false;
  if ('_zod' in schema && isRecord(schema._zod)) return schema._zod['optin'] !== undefined;
  const def = definitionOf(schema) ?? {};
  switch (typeOf(def)) {
    case 'optional':
    case 'default':
    case 'catch':
      return true;
    case 'nullable':
    case 'readonly':
      return isOptional(def['innerType']);
    case 'effects':
      return isOptional(def['schema']);
    case 'branded':
      return isOptional(def['type']);
    case 'pipeline':
      return isOptional(def['in']);
    case 'lazy':
      return isOptional(called(def['getter']));
    default:
      return false;
  }
}

/** Returns a value; if it is a function, the function's result. */
function called(value: unknown): unknown {
  return typeof value === 'function' ? (value as () => unknown)() : value;
}

function iterable(value: unknown): Iterable<unknown> {
  if (value instanceof Map) return value.values();
  return Array.isArray(value) ? value : [];
}

/** The values of an enum: a list, or an object of TypeScript, which also maps its numbers to their names. */
function enumValues(values: unknown): unknown[] {
  if (Array.isArray(values)) return values;
  if (!isRecord(values)) return [];
  const numbers = Object.values(values).filter((value) => typeof value === 'number');
  return Object.entries(values).flatMap(([name, value]) => (numbers.includes(Number(name)) ? [] : [value]));
}

const JSON_TYPES: ReadonlySet<string> = new Set(['string', 'number', 'boolean', 'null']);

/** A check of a schema in the terms of zod 4. */
interface Check {
  readonly kind: string;
  readonly value: unknown;
  readonly inclusive: boolean;
}

/** Names of zod 4 for checks of zod 3. */
const CHECKS_OF_3: Readonly<Record<string, string>> = { int: 'number_format', multipleOf: 'multiple_of' };

/** Formats of JSON Schema by their names in zod. Others are left out. */
const FORMATS: Readonly<Record<string, string>> = {
  email: 'email',
  url: 'uri',
  uuid: 'uuid',
  guid: 'uuid',
  datetime: 'date-time',
  date: 'date',
  time: 'time',
  duration: 'duration',
  ipv4: 'ipv4',
  ipv6: 'ipv6',
};

function checksOf(def: Definition): Definition[] {
  const checks = Array.from(iterable(def['checks']), (check) => definitionOf(check) ?? (isRecord(check) ? check : {}));
  // In zod 4 a schema such as `z.email()` is a check as well.
  return 'check' in def ? [def, ...checks] : checks;
}

function stringChecks(def: Definition): Json {
  const json: Json = lengthChecks(def, 'Length');
  for (const check of checksOf(def)) {
    const kind = check['check'] === 'string_format' ? check['format'] : check['kind'];
    const pattern = check['regex'] ?? (kind === 'regex' ? check['pattern'] : undefined);
    const format = typeof kind === 'string' ? FORMATS[kind] : undefined;
    if (format !== undefined) json['format'] = format;
    if (pattern instanceof RegExp) json['pattern'] = pattern.source;
  }
  return json;
}

/** Returns `minLength` and `maxLength` of a string, or `minItems` and `maxItems` of a list. */
function lengthChecks(def: Definition, unit: 'Length' | 'Items'): Json {
  const json: Json = {};
  const set = (least: unknown, most: unknown): void => {
    if (typeof least === 'number') json[`min${unit}`] = least;
    if (typeof most === 'number') json[`max${unit}`] = most;
  };
  for (const check of checksOf(def)) {
    set(check['minimum'] ?? check['length'], check['maximum'] ?? check['length']);
    const { kind, value } = check;
    if (kind === 'min' || kind === 'length') set(value, undefined);
    if (kind === 'max' || kind === 'length') set(undefined, value);
  }
  const [least, most, exact] = ['minLength', 'maxLength', 'exactLength'].map((name) => {
    const length = def[name];
    return isRecord(length) ? length['value'] : undefined;
  });
  set(least ?? exact, most ?? exact);
  return json;
}

function numberChecks(def: Definition): Json {
  const json: Json = {};
  for (const { kind, value, inclusive } of checksOf(def).map(numberCheck)) {
    if (kind === 'number_format') json['type'] = 'integer';
    if (kind === 'multiple_of') json['multipleOf'] = value;
    if (kind === 'greater_than') json[inclusive ? 'minimum' : 'exclusiveMinimum'] = value;
    if (kind === 'less_than') json[inclusive ? 'maximum' : 'exclusiveMaximum'] = value;
  }
  return json;
}

function numberCheck(check: Definition): Check {
  const { kind, value, inclusive, format } = check;
  if (typeof check['check'] === 'string') {
    const isFloat = typeof format === 'string' && format.startsWith('float');
    return { kind: isFloat ? 'float' : check['check'], value, inclusive: inclusive === true };
  }
  const name = kind === 'min' ? 'greater_than' : kind === 'max' ? 'less_than' : (CHECKS_OF_3[String(kind)] ?? '');
  return { kind: name, value, inclusive: inclusive !== false };
}
