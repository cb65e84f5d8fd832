import { describe, expect, test } from 'vitest';
import { importCircles } from './import-circles.ts';
import { readPackages } from './repository.ts';

/**
 * The maximum number of files in the largest circle of each package that has one, types included. Lower a number when a circle
 * shrinks. In core, contexts, agents, models, tools and plugins refer to each other's types; in runner, the parts of a
 * run take the `Runner`.
 */
const LARGEST_CIRCLES: Readonly<Record<string, number>> = {
  adk: 3,
  core: 19,
  gemini: 2,
  graph: 13,
  live: 10,
  'llm-agent': 14,
  mcp: 3,
  runner: 26,
  server: 9,
  sessions: 3,
};

describe('this repository', () => {
  const circles = new Map(
    readPackages().map(({ folder, files }) => [folder.slice('packages/'.length), importCircles(files)]),
  );

  test('has no package with a larger circle of files that import each other, types included', () => {
    const larger = [...circles].filter(([name, [circle]]) => circle && circle.length > (LARGEST_CIRCLES[name] ?? 0));
    expect(larger).toEqual([]);
  });

  test('has one circle in core, which leaves out events, content, sessions, state and errors', () => {
    const folders = circles.get('core')?.map((circle) => [...new Set(circle.map((path) => path.split('/')[3]))]);
    expect(folders).toEqual([['agent', 'calls', 'context', 'instrumentation', 'live', 'model', 'plugin', 'tool']]);
  });
});

describe('importCircles', () => {
  const file = (path: string, text: string): { path: string; text: string } => ({ path, text });

  test('finds files that import types of each other through a third one', () => {
    const files = [
      file('src/a.ts', "import type { B } from './b.ts';"),
      file('src/b.ts', "export { C } from './deep/c.ts';"),
      file('src/deep/c.ts', "import type { A } from '../a.ts';"),
      file('src/user.ts', "import { a } from './a.ts';"),
    ];
    expect(importCircles(files)).toEqual([['src/a.ts', 'src/b.ts', 'src/deep/c.ts']]);
  });

  test('finds no circle among files that import each other in one direction', () => {
    const files = [
      file('src/a.ts', "import './b.ts';\nimport './c.ts';"),
      file('src/b.ts', "import './c.ts';"),
      file('src/c.ts', ''),
    ];
    expect(importCircles(files)).toEqual([]);
  });
});
