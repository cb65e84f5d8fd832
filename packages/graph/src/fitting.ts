import { EventloomError, type JsonValue, toError } from '@eventloom/core';
import type { ValueSchema } from '@eventloom/tools';
import { NodeError } from './errors/node-error.ts';
import { toOutput } from './run-function.ts';

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

/** The failure of a node: Eventloom's own errors as they are, anything else as the cause of a NodeError. */
export function toNodeError(nodeName: string, thrown: unknown): EventloomError {
  if (EventloomError.isInstance(thrown)) return thrown;
  const error = toError(thrown);
  return new NodeError(nodeName, error.message || error.name, { cause: thrown });
}
