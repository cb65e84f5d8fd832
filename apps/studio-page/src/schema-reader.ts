export type JsonFields = Readonly<Record<string, unknown>>;

/** An `anyOf` with one variant besides `null` may be inside another. It is read to this depth, because a schema may contain itself. */
const MAX_VARIANT_DEPTH = 4;

/** Reads a JSON Schema and the schemas inside it. */
export class SchemaReader {
  readonly #root: JsonFields;

  constructor(root: JsonFields) {
    this.#root = root;
  }

  /**
   * Returns a schema without references, without `allOf`, and without the variant `null`:
   * `anyOf: [{ type: 'string' }, { type: 'null' }]` or `type: ['string', 'null']`. Several other variants are in its
   * `anyOf`.
   */
  read(given: unknown, depth = 0): { readonly schema: JsonFields; readonly isNullable: boolean } {
    const { type, anyOf, oneOf, ...own } = this.#withoutReferences(given);
    const types = Array.isArray(type) ? type.map((each: unknown) => ({ type: each })) : undefined;
    const listed = [anyOf, oneOf].find((each) => Array.isArray(each)) ?? types;
    const schema = typeof type === 'string' ? { ...own, type } : own;
    if (!listed) return { schema, isNullable: false };
    const all = listed.map((each: unknown) => this.#withoutReferences(each));
    const variants = all.filter((each) => each['type'] !== 'null');
    const [only] = variants;
    const isNullable = variants.length < all.length;
    if (variants.length > 1 || !only || depth === MAX_VARIANT_DEPTH)
      return { schema: { ...schema, anyOf: variants }, isNullable };
    const inner = this.read(only, depth + 1);
    return { schema: merged(schema, inner.schema), isNullable: isNullable || inner.isNullable };
  }

  /**
   * Returns the values that a schema lists: those of `enum` and `const`, of `boolean`, and of an `anyOf` of such
   * schemas. Empty without a list.
   */
  choicesOf(schema: JsonFields): readonly unknown[] {
    const { type, enum: listed, anyOf } = schema;
    if (Array.isArray(listed)) return listed;
    if ('const' in schema) return [schema['const']];
    if (type === 'boolean') return [true, false];
    const lists = Array.isArray(anyOf)
      ? anyOf.map((each) => (isRecord(each) && !('anyOf' in each) ? this.choicesOf(each) : []))
      : [];
    return lists.every((list) => list.length > 0) ? lists.flat() : [];
  }

  /** Returns the properties of an object that have one possible value. */
  constantsOf({ properties }: JsonFields): JsonFields {
    const entries = Object.entries(isRecord(properties) ? properties : {}).flatMap(([name, property]) => {
      const [only, ...others] = this.choicesOf(this.read(property).schema);
      return only === undefined || others.length > 0 ? [] : [[name, only]];
    });
    return Object.fromEntries(entries) as JsonFields;
  }

  /** True if a value has the type of a schema and the values that the schema fixes. */
  isLike(schema: JsonFields, value: unknown): boolean {
    const { type, required } = schema;
    const choices = this.choicesOf(schema);
    if (choices.length > 0) return choices.includes(value);
    if (type === 'array') return Array.isArray(value);
    if (type !== 'object') return type === undefined || typeof value === (type === 'integer' ? 'number' : type);
    return (
      isRecord(value) &&
      Object.entries(this.constantsOf(schema)).every(([name, constant]) => value[name] === constant) &&
      (!Array.isArray(required) || required.every((name) => Object.hasOwn(value, String(name))))
    );
  }

  /**
   * Returns a schema with the keywords of those that it refers to in `$ref`, and of those that it has in `allOf`. Its own keywords win.
   * @param open the references that led to the schema: one of them again adds nothing
   */
  #withoutReferences(given: unknown, open: readonly unknown[] = []): JsonFields {
    if (!isRecord(given)) return {};
    const { $ref, allOf, ...own } = given;
    const referred = typeof $ref === 'string' && !open.includes($ref) ? [this.#find($ref)] : [];
    const parts: readonly unknown[] = [...referred, ...(Array.isArray(allOf) ? allOf : [])];
    return parts.reduce(
      (schema: JsonFields, part) => merged(schema, this.#withoutReferences(part, [...open, $ref])),
      own,
    );
  }

  /** Returns the schema at a local reference such as `#/$defs/address`; undefined if there is none. */
  #find(reference: string): unknown {
    const [start, ...names] = reference.split('/').map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
    if (start !== '#') return undefined;
    return names.reduce(
      (schema: unknown, name) =>
        typeof schema === 'object' && schema !== null && Object.hasOwn(schema, name)
          ? (schema as JsonFields)[name]
          : undefined,
      this.#root,
    );
  }
}

/** Returns the keywords of two schemas. The first one's win, except that an object has the properties of both. */
function merged(schema: JsonFields, added: JsonFields): JsonFields {
  const [properties, others] = [schema['properties'], added['properties']];
  const required = [schema['required'], added['required']].flatMap((names: unknown) =>
    Array.isArray(names) ? names : [],
  );
  return {
    ...added,
    ...schema,
    ...(isRecord(properties) && isRecord(others) && { properties: { ...others, ...properties } }),
    ...(required.length > 0 && { required }),
  };
}

export function isRecord(value: unknown): value is JsonFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
