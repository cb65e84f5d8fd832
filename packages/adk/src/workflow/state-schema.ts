import { ConfigurationError } from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { type SchemaLike, ValueSchema } from '@eventloom/tools';
import { StateSchemaError } from '../errors.ts';

/** The keys and values that nodes may write to state. */
export class StateSchema {
  /** The schemas of the values by key; undefined for a schema that declares no keys. */
  readonly #values: ReadonlyMap<string, ValueSchema> | undefined;

  /** @throws ConfigurationError for a schema whose keys are unknown, because JSON Schema cannot express it */
  constructor(schema: SchemaLike) {
    this.#values = valueSchemasOf(schema);
  }

  /**
   * Checks a write to state.
   * @throws StateSchemaError for a key without a prefix that the schema does not have, and for a value that does not
   * match
   */
  check(key: string, value: unknown): void {
    if (key.includes(':') || !this.#values) return;
    const declared = this.#values.get(key);
    if (!declared)
      throw new StateSchemaError(
        `Key '${key}' is not declared in the state schema. Declared fields: ${JSON.stringify([...this.#values.keys()].toSorted())}`,
      );
    const checked = declared.check(value);
    if (checked instanceof Promise)
      throw new ConfigurationError(
        `stateSchema: the schema of "${key}" checks asynchronously; write one that does not, because state is written at once`,
      );
    if (!('issues' in checked)) return;
    throw new StateSchemaError(
      `Value for '${key}' does not match the type declared in the state schema: ${checked.issues.join('; ')}`,
    );
  }
}

function valueSchemasOf(schema: SchemaLike): ReadonlyMap<string, ValueSchema> | undefined {
  const shape: unknown = 'shape' in schema ? schema.shape : undefined;
  // Objects of zod: their schemas may accept values that JSON Schema cannot express, such as dates.
  if (isRecord(shape) && Object.values(shape).every(isStandardSchema))
    return new Map(
      Object.entries(shape).map(([key, value]) => [key, new ValueSchema(value as SchemaLike, 'stateSchema')]),
    );
  const { properties, $defs } = new ValueSchema(schema, 'stateSchema').json;
  if (!isRecord(properties)) return undefined;
  const entries = Object.entries(properties).filter((entry): entry is [string, Record<string, unknown>] =>
    isRecord(entry[1]),
  );
  return new Map(
    entries.map(([key, value]) => [key, new ValueSchema({ ...value, ...($defs ? { $defs } : {}) }, 'stateSchema')]),
  );
}

function isStandardSchema(value: unknown): boolean {
  return isRecord(value) && '~standard' in value;
}
