import { expect, test } from 'vitest';
import type { ReadonlyContext } from '../context/readonly-context.ts';
import { BaseTool } from './base-tool.ts';
import { BaseToolset } from './base-toolset.ts';

class Named extends BaseTool {
  runAsync(): Promise<unknown> {
    return Promise.resolve();
  }
}

/** A toolset of three tools that shows which of them its filter lets pass. */
class Three extends BaseToolset {
  getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    const tools = ['a', 'b', 'c'].map((name) => new Named({ name, description: '' }));
    return Promise.resolve(context ? tools.filter((tool) => this.isToolSelected(tool, context)) : tools);
  }

  async close(): Promise<void> {}
}

async function namesOf(toolset: BaseToolset): Promise<string[]> {
  // The filters here do not look at it.
  const tools = await toolset.getTools({} as ReadonlyContext);
  return tools.map((tool) => tool.name);
}

test('an empty filter lets every tool pass, a list those it names, a predicate those it picks', async () => {
  expect(await namesOf(new Three())).toEqual(['a', 'b', 'c']);
  expect(await namesOf(new Three([]))).toEqual(['a', 'b', 'c']);
  expect(await namesOf(new Three(['c', 'a', 'z']))).toEqual(['a', 'c']);
  expect(await namesOf(new Three((tool) => tool.name > 'a'))).toEqual(['b', 'c']);
  expect(await namesOf(new Three(() => false))).toEqual([]);
});
