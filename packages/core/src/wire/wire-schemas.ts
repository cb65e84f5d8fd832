import type { OpenApiSchemaName } from '../schemas/open-api-schemas.ts';
import schemas from './wire-schemas.json' with { type: 'json' };

/** JSON Schema as far as the wire schemas use it. */
export interface WireSchema {
  /** `#/components/schemas/` and the name of another one; then there is nothing else. */
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly items?: WireSchema;
  readonly properties?: Readonly<Record<string, WireSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: WireSchema;
}

/** What `toOpenApiSchemas` gives, written down: the wire schemas for who checks and describes without loading zod. */
export const wireSchemas: Readonly<Record<OpenApiSchemaName, WireSchema>> = schemas;

/** The schema that this one stands for. */
export function resolveWireSchema(schema: WireSchema): WireSchema {
  const name = schema.$ref?.slice('#/components/schemas/'.length);
  return name === undefined ? schema : wireSchemas[name as OpenApiSchemaName];
}
