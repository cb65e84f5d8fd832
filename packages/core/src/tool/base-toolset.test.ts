import { expect, test, vi } from 'vitest';
import type { ReadonlyContext } from '../context/callback-context.ts';
import { BaseTool } from './base-tool.ts';
import { BaseToolset, isBaseToolset } from './base-toolset.ts';

class Named extends BaseTool {
  runAsync(): Promise<unknown> {
    return Promise.resolve();
  }
}

/** A toolset of three tools that shows which of them its filter selects. */
class Three extends BaseToolset {
  getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    const tools = ['a', 'b', 'c'].map((name) => new Named({ name: this.prefixed(name), description: '' }));
    return Promise.resolve(tools.filter((tool) => this.isToolSelected(tool, context)));
  }

  async close(): Promise<void> {}
}

async function namesOf(toolset: BaseToolset): Promise<string[]> {
  // The filters of these tests do not read the context.
  const tools = await toolset.getTools({} as ReadonlyContext);
  return tools.map((tool) => tool.name);
}

test('toolFilter selects all tools if empty, those named by a list, or those picked by a predicate', async () => {
  expect(await namesOf(new Three())).toEqual(['a', 'b', 'c']);
  expect(await namesOf(new Three([]))).toEqual(['a', 'b', 'c']);
  expect(await namesOf(new Three(['c', 'a', 'z']))).toEqual(['a', 'c']);
  expect(await namesOf(new Three((tool) => tool.name > 'a'))).toEqual(['b', 'c']);
  expect(await namesOf(new Three(() => false))).toEqual([]);
});

test('isToolSelected is true for every tool without a context', async () => {
  expect(await new Three(() => false).getTools()).toHaveLength(3);
  expect(await new Three(['c']).getTools()).toHaveLength(3);
});

test('prefixed adds the prefix, and toolFilter compares names with the prefix', async () => {
  expect(await namesOf(new Three([], 'my'))).toEqual(['my_a', 'my_b', 'my_c']);
  expect(await namesOf(new Three([], ''))).toEqual(['a', 'b', 'c']);
  expect(await namesOf(new Three(['my_a', 'b'], 'my'))).toEqual(['my_a']);
});

test('isBaseToolset is true for toolsets of another loaded copy of this package, and false for other values', async () => {
  vi.resetModules();
  const copy = await import('./base-toolset.ts');
  expect(copy.BaseToolset).not.toBe(BaseToolset);
  class Foreign extends copy.BaseToolset {
    getTools(): Promise<BaseTool[]> {
      return Promise.resolve([]);
    }

    async close(): Promise<void> {}
  }
  for (const toolset of [new Three(), new Foreign()]) {
    expect(isBaseToolset(toolset)).toBe(true);
    expect(copy.isBaseToolset(toolset)).toBe(true);
  }
  for (const value of [undefined, null, 'a', Three, {}, new Named({ name: 'a', description: '' })])
    expect(isBaseToolset(value)).toBe(false);
});

test('a toolset has the name of its options or of its class, and checks its options', () => {
  expect(new Three().name).toBe('Three');
  expect(new Three([], undefined, { name: 'letters' }).name).toBe('letters');
  expect(new Three().onUnavailable).toBe('fail');
  expect(() => new Three([], undefined, { name: 'a "quoted" name' })).toThrow(
    'toolset name: expected 1 to 128 letters, digits, _ . : and -, beginning with a letter or _, got "a \\"quoted\\" name"',
  );
  expect(() => new Three([], undefined, { onUnavailable: 'retry' as never })).toThrow(
    "Three: onUnavailable: expected fail or skip, got a string; write onUnavailable: 'skip'",
  );
});
