// Who only has Standard Schemas never loads this.
export { JsonSchemaValidator } from './schema/json-schema-validator.ts';
