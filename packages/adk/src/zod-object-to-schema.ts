import { type SchemaLike, ValueSchema } from '@eventloom/tools';
import { type GeminiSchema, toGeminiSchema } from './gemini-schema.ts';

/**
 * Returns the schema of a zod object, or of another schema that tools take, in the form of Gemini: a `Schema` of `@google/genai`.
 * @throws ConfigurationError for a schema that JSON Schema cannot express
 */
export function zodObjectToSchema(schema: SchemaLike): GeminiSchema {
  return toGeminiSchema(new ValueSchema(schema, 'zodObjectToSchema').json);
}
