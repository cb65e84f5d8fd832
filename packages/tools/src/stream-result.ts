import { RunAbortedError, type ToolContext } from '@eventloom/core';
import { copyJson } from '@eventloom/core/internal';

type Chunks = AsyncGenerator<unknown, unknown, void> | Generator<unknown, unknown, void>;

/** True for what a generator function returns. */
export function isGenerator(value: unknown): value is Chunks {
  if (typeof value !== 'object' || value === null || !('next' in value) || typeof value.next !== 'function')
    return false;
  return Symbol.asyncIterator in value || Symbol.iterator in value;
}

/**
 * Passes each chunk on as it comes and gives the result of all of them: what the generator returns; else a final result that it
 * yielded last; else the text of the chunks when all are texts, the list of them when not, and nothing when there were none.
 *
 * The generator goes on when its chunk was taken. When nobody takes it any more, it is closed, so that its finally blocks run.
 * What it throws is thrown; what came until then is the context's `partialOutput`.
 */
export async function streamResult(generator: Chunks, toolContext: ToolContext): Promise<unknown> {
  const chunks: unknown[] = [];
  let final: { readonly value: unknown } | undefined;
  try {
    for (;;) {
      const next = await generator.next();
      // A generator that is not async may yield promises.
      const value = await next.value;
      if (next.done === true) return value === undefined ? (final ? final.value : joined(chunks)) : value;
      final = isFinalToolResult(value) ? value : undefined;
      if (final) continue;
      const taken = toolContext.emit(value);
      chunks.push(typeof value === 'string' ? value : copyOf(value));
      if (!(await taken)) break;
    }
  } catch (error) {
    toolContext.partialOutput = joined(chunks);
    await generator.return(undefined);
    throw error;
  }
  await generator.return(undefined);
  throw new RunAbortedError('the tool call has ended: its chunks are not read any more');
}

/** The tool may go on writing to what it yielded. */
function copyOf(value: unknown): unknown {
  const copied = copyJson(value, { toJson: true });
  return 'value' in copied ? copied.value : value;
}

function joined(chunks: readonly unknown[]): unknown {
  if (chunks.length === 0) return undefined;
  return chunks.every((chunk) => typeof chunk === 'string') ? chunks.join('') : chunks;
}

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
