import type { JsonValue } from '@eventloom/core';
import { copyJson, isSameJson, type JsonFault } from '@eventloom/core/internal';
import type { ValueSchema } from '@eventloom/tools';
import { NodeError } from './errors.ts';

/** Freezes a value deeply and returns it: nodes share their inputs and outputs. */
export function frozen<T extends JsonValue>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    for (const item of Object.values(value)) frozen(item);
    Object.freeze(value);
  }
  return value;
}

/** The items appended to a non-empty list; undefined when anything else changed. */
export function listAdditions(before: JsonValue | undefined, after: JsonValue): JsonValue[] | undefined {
  if (!Array.isArray(before) || !Array.isArray(after) || before.length === 0 || after.length < before.length)
    return undefined;
  return before.every((item, index) => isSameJson(item, after[index])) ? after.slice(before.length) : undefined;
}

/** Describes why a value is not JSON, to be appended to the name of the value. */
export function describeFault({ path, reason }: JsonFault): string {
  return path === '' ? reason : `at ${path} ${reason}`;
}

/** Returns a frozen copy of a node's output. @throws NodeError for an output that is not JSON */
export function toOutput(nodeName: string, output: unknown): JsonValue | undefined {
  if (output === undefined) return undefined;
  const copied = copyJson(output);
  if ('value' in copied) return frozen(copied.value);
  throw new NodeError(nodeName, `its output ${describeFault(copied.fault)}; outputs are JSON`);
}

/** Checks a value against a schema and returns the parsed value. @throws NodeError for a value that does not match */
export async function validateValue(
  nodeName: string,
  what: string,
  schema: ValueSchema | undefined,
  value: JsonValue | undefined,
): Promise<JsonValue | undefined> {
  if (!schema) return value;
  const checked = await schema.check(value);
  if ('issues' in checked)
    throw new NodeError(nodeName, `its ${what} does not match the schema: ${checked.issues.join('; ')}`);
  return toOutput(nodeName, checked.value);
}
