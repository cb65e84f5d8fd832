import { type SchemaLike, ValueSchema } from '@eventloom/tools';

/** Returns the JSON Schema of a zod object, or of another schema that tools take. @throws ConfigurationError for a schema that JSON Schema cannot express */
export function zodObjectToSchema(schema: SchemaLike): Readonly<Record<string, unknown>> {
  return new ValueSchema(schema, 'zodObjectToSchema').json;
}
