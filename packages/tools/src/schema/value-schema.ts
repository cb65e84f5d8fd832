import { ConfigurationError } from '@eventloom/core';
import {
  checkLibrarySchema,
  isLibrarySchema,
  isPromiseLike,
  isRecord,
  librarySchemaToJson,
  describeKind,
} from '@eventloom/core/internal';
import { toJsonSchema } from './json-schema.ts';
import { JsonSchemaValidator } from './json-schema-validator.ts';
import type { JsonSchema, SchemaLike, StandardIssue, StandardResult } from './standard-schema.ts';

/**
 * The result of checking a value: the value as the schema returns it (defaults filled in), or the problems, one line
 * each.
 */
export type SchemaCheck = { readonly value: unknown } | { readonly issues: readonly string[] };

/** Checks a value with the library that made the schema. */
type Validate = (value: unknown) => StandardResult<unknown> | PromiseLike<StandardResult<unknown>>;

/** Checks values against a schema of any supported kind, and converts it to JSON Schema. Both happen lazily. */
export class ValueSchema {
  readonly #schema: SchemaLike;
  readonly #owner: string;
  /** The library's own check; undefined for JSON Schema. */
  readonly #validate: Validate | undefined;
  #json: Record<string, unknown> | undefined;
  #validator: JsonSchemaValidator | undefined;

  /**
   * @param owner start of error messages, e.g. `tool "x"`
   * @throws ConfigurationError for a value that is not a schema, and for a library's schema without a JSON Schema
   */
  constructor(schema: SchemaLike, owner: string) {
    // Schemas of some libraries, such as arktype, are functions.
    if (!isRecord(schema) && (typeof schema !== 'function' || !isLibrarySchema(schema)))
      throw new ConfigurationError(
        `${owner}: expected a schema, got ${describeKind(schema)}; write z.object({ city: z.string() }), or a JSON Schema`,
      );
    if (isLibrarySchema(schema)) {
      checkLibrarySchema(owner, schema);
      this.#validate = validatorOf(schema);
    } else checkKeywords(schema, owner);
    this.#schema = schema;
    this.#owner = owner;
  }

  /**
   * The schema as JSON Schema, draft 2020-12.
   * @throws ConfigurationError for a library's schema that JSON Schema cannot express, and for an object that contains itself
   */
  get json(): Record<string, unknown> {
    return (this.#json ??= isLibrarySchema(this.#schema)
      ? librarySchemaToJson(this.#owner, this.#schema)
      : toJsonSchema(this.#schema as JsonSchema, this.#owner));
  }

  /**
   * Refuses a schema of values that are not objects. Reads only the `type` of a JSON Schema or the kind of a zod schema, without converting
   * the schema.
   * @throws ConfigurationError
   */
  requireObject(): void {
    const kind = kindOf(this.#schema);
    if (kind === undefined || !NO_OBJECTS.has(kind)) return;
    const example = isLibrarySchema(this.#schema)
      ? 'z.object({ city: z.string() })'
      : "{ type: 'object', properties: { city: { type: 'string' } } }";
    throw new ConfigurationError(
      `${this.#owner}: expected a schema of an object, because a model sends arguments by name, got one of ${kind === 'array' || kind === 'enum' ? 'an' : 'a'} ${kind}; write ${example}`,
    );
  }

  /**
   * Refuses a JSON Schema with a type that does not exist: no value would ever match it.
   * @throws ConfigurationError
   */
  requireKnownTypes(): void {
    if (!isLibrarySchema(this.#schema)) checkTypes(this.#schema as JsonSchema, this.#owner, []);
  }

  /** Checks a value. Returns a promise only if the schema checks asynchronously. @throws ConfigurationError for an invalid JSON Schema */
  check(value: unknown): SchemaCheck | Promise<SchemaCheck> {
    const validate = this.#validate;
    if (!validate) return this.#checkJson(value);
    const result = validate(value);
    return isPromiseLike(result) ? Promise.resolve(result.then(toCheck)) : toCheck(result);
  }

  #checkJson(value: unknown): SchemaCheck {
    this.#validator ??= new JsonSchemaValidator(this.json, this.#owner);
    const issues = this.#validator.issues(value);
    return issues.length === 0 ? { value } : { issues };
  }
}

/** The part of a schema of zod before 3.24, which is not a Standard Schema. */
interface OldZodSchema {
  safeParseAsync(
    value: unknown,
  ): Promise<
    { success: true; data: unknown } | { success: false; error: { readonly issues: readonly StandardIssue[] } }
  >;
}

/** Returns the check of the schema's own library; undefined for a schema that only has a JSON Schema. */
function validatorOf(schema: object): Validate | undefined {
  const { validate } = (schema as { '~standard'?: { validate?: Validate } })['~standard'] ?? {};
  if (validate) return validate;
  if (!('safeParseAsync' in schema)) return undefined;
  const zod = schema as OldZodSchema;
  return async (value) => {
    const parsed = await zod.safeParseAsync(value);
    return parsed.success ? { value: parsed.data } : { issues: parsed.error.issues };
  };
}

/** Keywords of JSON Schema. A schema that is not empty has at least one of them. */
const KEYWORDS =
  'type properties $ref $schema $defs definitions anyOf oneOf allOf not enum const items required additionalProperties patternProperties if format description title default'.split(
    ' ',
  );

/** Refuses a record of properties that is given instead of a schema. @throws ConfigurationError */
function checkKeywords(schema: object, owner: string): void {
  const [property] = Object.keys(schema);
  const holdsSchemas = Object.values(schema).some(
    (value) =>
      ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
      isLibrarySchema(value as object),
  );
  if (property === undefined || (!holdsSchemas && KEYWORDS.some((keyword) => keyword in schema))) return;
  throw new ConfigurationError(
    holdsSchemas
      ? `${owner}: expected a schema, got an object of schemas; write z.object({ ${property}: … })`
      : `${owner}: expected a schema, got an object without JSON Schema keywords; write { type: 'object', properties: { ${property}: { type: 'string' } } }, or z.object({ ${property}: z.string() })`,
  );
}

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

/** True for a type of JSON Schema, in lower case or in upper case as in the dialect of `@google/genai`. */
function isType(type: unknown): boolean {
  return typeof type === 'string' && (TYPES.includes(type.toLowerCase()) || type === 'TYPE_UNSPECIFIED');
}

/** Checks the types of a schema, its properties and its items. @throws ConfigurationError */
function checkTypes(schema: JsonSchema, owner: string, path: readonly string[]): void {
  const { type, properties, items } = schema;
  const unknown = [type ?? []].flat().find((each) => !isType(each));
  if (unknown !== undefined)
    throw new ConfigurationError(
      `${[owner, ...path].join('.')}: there is no type ${JSON.stringify(unknown)} in JSON Schema; write one of ${TYPES.join(', ')}`,
    );
  // A schema that contains itself is refused when it is converted.
  if (path.length > 10) return;
  if (isRecord(properties))
    for (const [name, property] of Object.entries(properties))
      if (isRecord(property)) checkTypes(property, owner, [...path, name]);
  if (isRecord(items)) checkTypes(items, owner, [...path, 'items']);
}

/** The types in JSON Schema and zod whose values are never objects. */
const NO_OBJECTS: ReadonlySet<unknown> = new Set(
  'string number integer boolean null array bigint date enum literal tuple set'.split(' '),
);

/**
 * Returns the type of values that a JSON Schema, or a schema of zod or valibot, describes; undefined if there is no
 * single word for it.
 */
function kindOf(schema: SchemaLike): string | undefined {
  const { type, def, _def } = schema as {
    readonly type?: unknown;
    readonly def?: SchemaKind;
    readonly _def?: SchemaKind;
  };
  const kind = isLibrarySchema(schema) ? (def?.type ?? _def?.typeName?.replace('Zod', '') ?? type) : type;
  return typeof kind === 'string' ? kind.toLowerCase() : undefined;
}

/** The type of a schema in zod 4 (`type`) and in zod 3 (`typeName`). */
interface SchemaKind {
  readonly type?: string;
  readonly typeName?: string;
}

function toCheck(result: StandardResult<unknown>): SchemaCheck {
  return result.issues === undefined ? { value: result.value } : { issues: result.issues.map(issueLine) };
}

function issueLine({ message, path }: StandardIssue): string {
  const keys = path?.map((segment) => String(typeof segment === 'object' ? segment.key : segment)).join('.');
  return `${keys || 'value'}: ${message}`;
}
