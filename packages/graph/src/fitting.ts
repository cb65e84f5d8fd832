import type { JsonValue } from '@eventloom/core';
import type { ValueSchema } from '@eventloom/tools';
import { NodeError } from './errors.ts';
import { toOutput } from './to-output.ts';

/** @throws NodeError for a value that the schema does not let through */
export async function fitting(
  nodeName: string,
  what: string,
  schema: ValueSchema | undefined,
  value: JsonValue | undefined,
): Promise<JsonValue | undefined> {
  if (!schema) return value;
  const checked = await schema.check(value);
  if ('issues' in checked) throw new NodeError(nodeName, `its ${what} does not fit: ${checked.issues.join('; ')}`);
  return toOutput(nodeName, checked.value);
}
