import { BaseTool, type FunctionDeclaration, type RunAsyncToolRequest } from '@eventloom/core';
import { type MemoryToolOptions, memoryToolOptions } from './memory-tool-options.ts';
import { memoryTexts } from './memory-texts.ts';

const DECLARATION: FunctionDeclaration = {
  name: 'load_memory',
  description:
    'Searches what was said in conversations with this user, earlier ones too. Use it when they refer to something you cannot see here. Finds what has words of the query.',
  parametersJsonSchema: {
    type: 'object',
    properties: { query: { type: 'string', description: 'Words that were probably said.' } },
    required: ['query'],
  },
};

/**
 * By this tool, `load_memory`, a model looks up what is remembered of the user: `{ memories: [{ content, author, timestamp }] }`, best
 * first, the content as text. When the search fails the model is told why, as with any tool.
 */
export class LoadMemoryTool extends BaseTool {
  readonly #options: Required<MemoryToolOptions>;

  /** @throws ConfigurationError for a number that is no positive integer */
  constructor(options: MemoryToolOptions = {}) {
    super({ name: 'load_memory', description: DECLARATION.description ?? '', idempotent: true });
    this.#options = memoryToolOptions(options);
  }

  override _getDeclaration(): FunctionDeclaration {
    return DECLARATION;
  }

  override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    const { query } = args;
    if (typeof query !== 'string') return { error: 'the arguments of load_memory are not valid: query: must be text' };
    const { limit, maxCharacters } = this.#options;
    const { memories } = await toolContext.searchMemory(query, { limit });
    return { memories: memoryTexts(memories, maxCharacters) };
  }
}

/** A `load_memory` tool with the usual limits, for any number of agents. */
export const LOAD_MEMORY: LoadMemoryTool = /* @__PURE__ */ new LoadMemoryTool();
