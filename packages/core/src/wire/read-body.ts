import { describeKind, isRecord } from '../content/json.ts';
import { InvalidEventError, InvalidRequestError } from '../errors.ts';
import type { OpenApiSchemaName } from '../schemas/open-api-schemas.ts';
import { wireFaults } from './wire-faults.ts';
import { wireSchemas } from './wire-schemas.ts';

/** Faults that a message names; a body can have any number of them. */
const MAX_FAULTS = 3;

/** Reads a field before the schema looks at it. @throws InvalidEventError that names what is wrong, and where */
type FieldReader = (value: unknown, path: string) => unknown;

/**
 * The fields of a body by its schema: keys in either spelling, nulls left out, keys that the schema does not have ignored.
 * @param readers of the fields that are not taken as they are
 * @throws InvalidRequestError that names each path at fault and what it must be: `newMessage.parts[0].text: must be a string, is the number 5`
 */
export function readBody(
  name: OpenApiSchemaName,
  readers: Readonly<Record<string, FieldReader>>,
  body: unknown,
): Record<string, unknown> {
  if (!isRecord(body)) throw new InvalidRequestError(`body: must be an object, is ${describeKind(body)}`);
  const { properties = {}, required = [] } = wireSchemas[name];
  const fields: Record<string, unknown> = {};
  const faults: string[] = [];
  for (const [key, schema] of Object.entries(properties)) {
    const given = givenUnder(key, body);
    if (given === undefined && !required.includes(key)) continue;
    try {
      fields[key] = given === undefined ? undefined : (readers[key]?.(given, key) ?? given);
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

/** What a body has under a key, or under the same in snake_case; undefined for null. */
function givenUnder(key: string, body: Readonly<Record<string, unknown>>): unknown {
  const snakeKey = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  for (const name of [key, snakeKey]) {
    const value = Object.hasOwn(body, name) ? body[name] : undefined;
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}
