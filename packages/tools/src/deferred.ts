import { JsonSchemaValidator } from './schema/json-schema-validator.ts';

/** Who only has Standard Schemas never loads this. */
export const deferred = {
  JsonSchemaValidator,
} as const;
