import { describeKind, isRecord } from '../content/json.ts';
import { resolveWireSchema, type WireSchema } from './wire-schemas.ts';

const KINDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

/**
 * What is wrong with a value by its schema, a line each: the path at fault and what must be there.
 * @param path where the value is, which is not empty
 */
export function wireFaults(reference: WireSchema, value: unknown, path: string): string[] {
  const schema = resolveWireSchema(reference);
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length > 0 && !types.some((type) => isOfType(type, value))) {
    return [`${path}: must be ${types.map((type) => KINDS[type] ?? type).join(' or ')}, is ${describeKind(value)}`];
  }
  const fault = valueFault(schema, value);
  if (fault !== undefined) return [`${path}: ${fault}`];
  if (Array.isArray(value)) {
    const { items } = schema;
    return items ? value.flatMap((item, at) => wireFaults(items, item, `${path}[${at}]`)) : [];
  }
  return isRecord(value) ? memberFaults(schema, value, path) : [];
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isRecord(value);
    default:
      return typeof value === type;
  }
}

function valueFault(schema: WireSchema, value: unknown): string | undefined {
  const { enum: values = 'const' in schema ? [schema.const] : undefined } = schema;
  if (values && !values.includes(value)) return `must be one of ${values.map(String).join(', ')}`;
  if (typeof value === 'string' && value.length < (schema.minLength ?? 0)) return 'must not be empty';
  if (typeof value !== 'number') return undefined;
  if (value < (schema.minimum ?? value)) return `must be at least ${schema.minimum}`;
  if (value > (schema.maximum ?? value)) return `must be at most ${schema.maximum}`;
  return undefined;
}

function memberFaults(schema: WireSchema, value: Record<string, unknown>, path: string): string[] {
  const { properties = {}, required = [], additionalProperties } = schema;
  const faults = Object.entries(properties).flatMap(([key, member]) =>
    Object.hasOwn(value, key) || required.includes(key) ? wireFaults(member, value[key], `${path}.${key}`) : [],
  );
  if (!additionalProperties) return faults;
  const others = Object.keys(value).filter((key) => !Object.hasOwn(properties, key));
  return [...faults, ...others.flatMap((key) => wireFaults(additionalProperties, value[key], `${path}.${key}`))];
}
