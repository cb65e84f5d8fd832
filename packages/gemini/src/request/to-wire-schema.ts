type SchemaObject = Readonly<Record<string, unknown>>;

/** Converted schemas by their originals, because requests send the same schemas again and again. */
const CONVERTED = new WeakMap<object, unknown>();

/**
 * Returns a JSON Schema in keywords that the service reads: `const` becomes an `enum` of one value, because the service ignores
 * keywords that it does not know. Returns the schema itself if nothing changes. The schema must not change later.
 */
export function toWireSchema(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (!CONVERTED.has(schema))
    CONVERTED.set(schema, Array.isArray(schema) ? convertList(schema) : convert(schema as SchemaObject));
  return CONVERTED.get(schema);
}

function convertList(schemas: readonly unknown[]): readonly unknown[] {
  const converted = schemas.map(toWireSchema);
  return converted.some((schema, index) => schema !== schemas[index]) ? converted : schemas;
}

/** Keywords whose values are data rather than schemas. */
const DATA: ReadonlySet<string> = new Set(['enum', 'default', 'example', 'examples', 'required', 'propertyOrdering']);
/** Keywords whose values are schemas by names that the developer chose. */
const NAMED: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions', 'patternProperties']);

function convert(schema: SchemaObject): SchemaObject {
  let changed = false;
  const converted: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === 'const') {
      converted['enum'] ??= [value];
      changed = true;
      continue;
    }
    const wire = DATA.has(keyword) ? value : NAMED.has(keyword) ? convertNamed(value) : toWireSchema(value);
    converted[keyword] = wire;
    changed ||= wire !== value;
  }
  return changed ? converted : schema;
}

function convertNamed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, schema]) => [name, toWireSchema(schema)] as const);
  return entries.some(([name, schema]) => schema !== (value as SchemaObject)[name])
    ? Object.fromEntries(entries)
    : value;
}
