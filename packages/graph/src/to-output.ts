import { copyJson, type JsonValue } from '@eventloom/core';
import { describeFault } from './describe-fault.ts';
import { NodeError } from './errors.ts';
import { frozen } from './frozen.ts';

/** A copy of what a node gave, that nobody changes: whoever is given it may share it. @throws NodeError for what is not JSON */
export function toOutput(nodeName: string, output: unknown): JsonValue | undefined {
  if (output === undefined) return undefined;
  const copied = copyJson(output, { toJson: true });
  if ('value' in copied) return frozen(copied.value);
  throw new NodeError(nodeName, `its output ${describeFault(copied.fault)}; outputs are JSON`);
}
