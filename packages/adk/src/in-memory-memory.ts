import type { SearchMemoryRequest, SearchMemoryResponse } from '@eventloom/core';
import { InMemoryMemoryService } from '@eventloom/memory';

/**
 * The `InMemoryMemoryService` for programs that were written for `@google/adk`: that of `eventloom`, whose searches
 * without a `limit` give all memories with a word of the query, and whose memories are in the order in which they were
 * said.
 *
 * @example
 * const runner = new Runner({ appName: 'app', agent, sessionService, memoryService: new InMemoryMemoryService() });
 */
export class AdkInMemoryMemoryService extends InMemoryMemoryService {
  /** The name of the class in error messages. */
  static override readonly name: string = 'InMemoryMemoryService';

  protected override get findsAll(): boolean {
    return true;
  }

  /**
   * Finds memories that share a word with the query: all of them, or the best ones if the request has a `limit`. The
   * oldest comes first.
   */
  override async searchMemory(request: SearchMemoryRequest): Promise<SearchMemoryResponse> {
    const found = await super.searchMemory({ ...request, limit: undefined });
    const memories = found.memories.toReversed();
    if (request.limit === undefined) return { memories };
    const best = new Set((await super.searchMemory(request)).memories.map(({ id }) => id));
    return { memories: memories.filter(({ id }) => best.has(id)) };
  }
}
