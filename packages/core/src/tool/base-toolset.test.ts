import { expect, test, vi } from 'vitest';
import type { ReadonlyContext } from '../context/callback-context.ts';
import { ConfigurationError } from '../errors.ts';
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

test('without a context, a list of names selects tools, and a function selects all', async () => {
  const [tool, ...others] = await new Three(['c']).getTools();
  expect([tool?.name, others]).toEqual(['c', []]);
  expect(await new Three(() => false).getTools()).toHaveLength(3);
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
    'Three: onUnavailable: expected one of fail, skip, got "retry"; write onUnavailable: \'skip\'',
  );
});

test.each<[unknown[], string]>([
  [[[], undefined, { onUnavailabel: 'skip' }], 'Three: has no option "onUnavailabel"; did you mean "onUnavailable"?'],
  [[[], undefined, { nmae: 'letters' }], 'Three: has no option "nmae"; did you mean "name"?'],
  [[[], undefined, null], "Three: expected an object of options, got null; write { name: 'menu' }"],
  [
    ['get_weather'],
    "Three: toolFilter: expected a list of names or a function, got a string; write toolFilter: ['get_weather']",
  ],
  [[[], 5], "Three: prefix: expected a string, got the number 5; write prefix: 'weather'"],
])('the toolset with the arguments %j is refused', (given, message) => {
  const create = (): Three => new Three(...(given as ConstructorParameters<typeof Three>));
  expect(create).toThrow(ConfigurationError);
  expect(create).toThrow(message);
});

test('a toolset may pass options of its own on to BaseToolset', () => {
  const own = { name: 'letters', names: [], url: 'https://letters.example' };
  expect(new Three([], undefined, own).name).toBe('letters');
});

test('assigning the version of a toolset throws ConfigurationError with what to write', () => {
  expect(() => Object.assign(new Three(), { version: 2 })).toThrow(
    'Three: version cannot be assigned; write get version() { return this.#version; } in its class',
  );
});
