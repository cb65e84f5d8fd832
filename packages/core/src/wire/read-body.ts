import { describeKind, isRecord } from '../content/json.ts';
import { InvalidEventError } from '../errors/invalid-event-error.ts';
import { InvalidRequestError } from '../errors/invalid-request-error.ts';
import { readAny, readObject, type Shape } from '../event/read-json.ts';
import type { OpenApiSchemaName } from '../schemas/open-api-schemas.ts';
import { wireFaults } from './wire-faults.ts';
import { wireSchemas } from './wire-schemas.ts';

/** Faults that a message names; a body can have any number of them. */
const MAX_FAULTS = 3;

/**
 * The fields of a body by its schema: keys in either spelling, nulls left out, keys that the schema does not have ignored.
 * @param readers what reads a field before the schema looks at it, where that is more than to take it
 * @throws InvalidRequestError that names each path at fault and what it must be: `newMessage.parts[0].text: must be a string, is the number 5`
 */
export function readBody(name: OpenApiSchemaName, readers: Shape, body: unknown): Record<string, unknown> {
  if (!isRecord(body)) throw new InvalidRequestError(`body: must be an object, is ${describeKind(body)}`);
  const { properties = {}, required = [] } = wireSchemas[name];
  const keys = Object.keys(properties);
  const given = readObject(Object.fromEntries(keys.map((key) => [key, readAny])), body, '');
  const fields: Record<string, unknown> = {};
  const faults: string[] = [];
  for (const [key, schema] of Object.entries(properties)) {
    if (!Object.hasOwn(given, key) && !required.includes(key)) continue;
    try {
      fields[key] = Object.hasOwn(given, key) ? (readers[key] ?? readAny)(given[key], key) : undefined;
      faults.push(...wireFaults(schema, fields[key], key));
    } catch (error) {
      if (!InvalidEventError.isInstance(error)) throw error;
      faults.push(error.message);
    }
  }
  if (faults.length === 0) return fields;
  const more = faults.length - MAX_FAULTS;
  throw new InvalidRequestError(faults.slice(0, MAX_FAULTS).join('; ') + (more > 0 ? `; and ${more} more` : ''));
}
