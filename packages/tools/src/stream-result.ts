import { RunAbortedError, type ToolContext } from '@eventloom/core';
import { copyJson } from '@eventloom/core/internal';

/** The generator object of a streaming tool, sync or async. */
export type Chunks = AsyncGenerator<unknown, unknown, void> | Generator<unknown, unknown, void>;

/**
 * Emits each chunk of a streaming tool and returns the tool's result: the value that the generator returns, otherwise a final result that
 * it yielded last, otherwise the joined text of the chunks, the list of chunks if not all are strings, or undefined if there were none.
 *
 * The generator continues after the reader has read its chunk. If the run has lost its reader, the generator is closed, so that its finally
 * blocks run. An error of the generator is rethrown, with the earlier chunks in the context's `partialOutput`.
 *
 * @throws RunAbortedError if the run has no reader
 */
export async function streamResult(generator: Chunks, toolContext: ToolContext): Promise<unknown> {
  const chunks: unknown[] = [];
  let final: { readonly value: unknown } | undefined;
  try {
    for (;;) {
      const next = await generator.next();
      // A synchronous generator may yield promises.
      const value = await next.value;
      if (next.done === true) return value === undefined ? (final ? final.value : joined(chunks)) : value;
      final = isFinalToolResult(value) ? value : undefined;
      if (final) continue;
      // The context of a callback, which a program of `@eventloom/adk` may give, streams nothing.
      const taken = toolContext.emit?.(value) ?? true;
      chunks.push(typeof value === 'string' ? value : copyOf(value));
      if (!(await taken)) break;
    }
  } catch (error) {
    toolContext.partialOutput = joined(chunks);
    await generator.return(undefined);
    throw error;
  }
  await generator.return(undefined);
  throw new RunAbortedError('the tool call has ended, so its chunks are no longer read');
}

/** Copies a chunk, because the tool may change the object after it yielded it. */
function copyOf(value: unknown): unknown {
  const copied = copyJson(value);
  return 'value' in copied ? copied.value : value;
}

function joined(chunks: readonly unknown[]): unknown {
  if (chunks.length === 0) return undefined;
  return chunks.every((chunk) => typeof chunk === 'string') ? chunks.join('') : chunks;
}

/**
 * The result of a streaming tool, which the tool yields last in place of its joined chunks. It is not streamed as a chunk.
 *
 * @example
 * async function* countTo3() {
 *   for (const count of [1, 2, 3]) yield `${count} `;
 *   yield new FinalToolResult({ total: 3 });
 * }
 */
export class FinalToolResult {
  /** The result of the tool. */
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }

  get '~eventloom.final-tool-result'(): true {
    return true;
  }
}

/** True for final results, including those of another loaded copy of this package, for which `instanceof` is false. */
export function isFinalToolResult(value: unknown): value is FinalToolResult {
  return typeof value === 'object' && value !== null && '~eventloom.final-tool-result' in value;
}
