import type { Field } from '../event/field.ts';
import { type OpenApiSchemaName, WIRE_SHAPES } from './wire-shapes.ts';

/** The part of JSON Schema that the wire schemas use. */
export interface WireSchema {
  /** A reference: `#/components/schemas/` and the name of another schema. A schema with it has no other member. */
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly items?: WireSchema;
  readonly properties?: Readonly<Record<string, WireSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: WireSchema;
}

let schemas: Readonly<Record<OpenApiSchemaName, WireSchema>> | undefined;

/**
 * The JSON Schema of everything that goes over the wire, for `components.schemas` of an OpenAPI 3.1 document; they refer to each other
 * there. Generated from the shapes that describe events and bodies.
 */
export function wireSchemas(): Readonly<Record<OpenApiSchemaName, WireSchema>> {
  schemas ??= Object.fromEntries(Object.entries(WIRE_SHAPES).map(([name, shape]) => [name, schemaOf(shape)])) as Record<
    OpenApiSchemaName,
    WireSchema
  >;
  return schemas;
}

const TYPES: Readonly<Record<Field['kind'], string | undefined>> = {
  text: 'string',
  base64: 'string',
  flag: 'boolean',
  number: 'number',
  integer: 'integer',
  seconds: 'number',
  data: 'object',
  vendor: 'object',
  map: 'object',
  shape: 'object',
  list: 'array',
  any: undefined,
};

function schemaOf(field: Field): WireSchema {
  const { kind, item, required, isOpen, description, limits } = field;
  const fields = field.fields ?? field.vendorFields;
  const { types, values, min, max, minLength } = limits ?? {};
  const type = TYPES[kind] ?? types;
  const shown = Object.entries(fields ?? {}).filter(([, { isHidden }]) => !isHidden);
  const properties = Object.fromEntries(shown.map(([name, member]) => [name, referenceTo(member)]));
  return {
    ...(type !== undefined && { type }),
    ...(description !== undefined && { description }),
    ...(values && { enum: values }),
    ...(min !== undefined && { minimum: min }),
    ...(max !== undefined && { maximum: max }),
    ...(minLength !== undefined && { minLength }),
    ...(kind === 'list' && item && { items: referenceTo(item) }),
    ...(kind === 'map' && item && { additionalProperties: referenceTo(item) }),
    ...(fields && { properties }),
    ...(required.length > 0 && { required }),
    ...(fields && isOpen && { additionalProperties: {} }),
  };
}

/** Returns a reference for a field that is a component itself. */
function referenceTo(field: Field): WireSchema {
  return field.name === undefined ? schemaOf(field) : { $ref: `#/components/schemas/${field.name}` };
}
