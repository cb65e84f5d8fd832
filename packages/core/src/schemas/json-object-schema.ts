import * as z from 'zod';
import { describeKind, isRecord } from '../content/json.ts';

/** An object whose keys are data. It is handed on as it came: neither copied nor relieved of a key such as `__proto__`. */
export const jsonObjectSchema: z.ZodType<Record<string, unknown>> = z
  .unknown()
  .refine((value): value is Record<string, unknown> => isRecord(value), {
    error: ({ input }) => `must be an object, is ${describeKind(input)}`,
  })
  .meta({ type: 'object' });

/** The same, where `values` is the JSON schema of what is under the keys, checked by whoever reads the object first. */
export function jsonMapSchema<T>(values: Readonly<Record<string, unknown>>): z.ZodType<Record<string, T>> {
  return z
    .unknown()
    .refine((value): value is Record<string, T> => isRecord(value), {
      error: ({ input }) => `must be an object, is ${describeKind(input)}`,
    })
    .meta({ type: 'object', additionalProperties: values });
}
