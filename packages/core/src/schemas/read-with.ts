import * as z from 'zod';
import { isRecord } from '../content/json.ts';
import { InvalidEventError } from '../errors.ts';
import { ANY } from '../event/field.ts';
import { readObject, type Reader } from '../event/read-json.ts';

/**
 * A schema that reads with the runtime's own parser first: either spelling of keys, nulls left out, and a fault at its exact
 * path. `shape` is what comes out of it, and what OpenAPI shows.
 */
export function readWith<S extends z.ZodType>(read: Reader, shape: S) {
  return z.preprocess((value, context) => {
    try {
      return read(value, '');
    } catch (error) {
      if (!InvalidEventError.isInstance(error)) throw error;
      const { path = '', message } = error;
      context.addIssue({ code: 'custom', path: toSegments(path), message: message.slice(path.length + 2) });
      return z.NEVER;
    }
  }, shape);
}

/** The body of a request or an answer: keys in either spelling, nulls left out, keys it does not know ignored. */
export function bodySchema<S extends z.core.$ZodLooseShape>(shape: S) {
  const keys = Object.fromEntries(Object.keys(shape).map((key) => [key, ANY]));
  return z.preprocess((value) => (isRecord(value) ? readObject(keys, value, '') : value), z.object(shape));
}

/** `.parts[0].text` as zod writes it: parts, 0, text. */
function toSegments(path: string): (string | number)[] {
  return Array.from(path.matchAll(/\[(\d+)\]|([^.[\]]+)/g), ([, index, key]) =>
    index === undefined ? (key ?? '') : Number(index),
  );
}
