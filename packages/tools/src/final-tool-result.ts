/** Yielded last by a streaming tool: the tool's result, in place of what its chunks make together. It is no chunk itself. */
export class FinalToolResult {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }

  get '~eventloom.final-tool-result'(): true {
    return true;
  }
}

/** True for final results, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isFinalToolResult(value: unknown): value is FinalToolResult {
  return typeof value === 'object' && value !== null && '~eventloom.final-tool-result' in value;
}
