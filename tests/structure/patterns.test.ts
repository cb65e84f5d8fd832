import { describe, expect, test } from 'vitest';
import {
  type AllowedPattern,
  patternsOf,
  shippedSources,
  superLinearPart,
  superLinearPatterns,
  unusedAllowances,
} from './patterns.ts';
import { readWorkspaces } from './repository.ts';

/** Patterns that the check rejects and that no input can slow down. */
const ALLOWED: readonly AllowedPattern[] = [
  { path: 'apps/node-server/src/demo/offline/plan-calls.ts', reason: 'reads the first 1000 characters of a message' },
  {
    path: 'packages/memory/src/words.ts',
    text: "new RegExp(`[${[...ALIKE.keys()].join('')}]`, 'gv')",
    reason: 'a class of single characters',
  },
  {
    path: 'packages/adk/src/llm-registry.ts',
    text: 'new RegExp(`^(?:${source})$`, flags)',
    reason: 'a pattern that the program registers, for names that the program writes',
  },
  {
    path: 'apps/studio-page/src/schema-fields.ts',
    text: "new RegExp(pattern, 'v')",
    reason: 'is compiled and not applied: browsers apply the pattern of an input',
  },
];

const file = (text: string) => ({ path: 'packages/core/src/a.ts', text });

// The check parses every source.
describe('the patterns of this repository', () => {
  const sources = shippedSources(readWorkspaces().flatMap(({ files }) => files));

  test('exist', () => {
    expect(sources.flatMap(patternsOf).length).toBeGreaterThan(50);
  });

  test('take linear time', () => {
    expect(superLinearPatterns(sources, ALLOWED)).toEqual([]);
  });

  test('include all patterns with an allowance', () => {
    expect(unusedAllowances(sources, ALLOWED)).toEqual([]);
  });
});

test.each([
  String.raw`/\w+$/`,
  String.raw`/\s+$/`,
  String.raw`/^\s+|\s+$/g`,
  '/(a+)+$/',
  '/^(a+)+$/',
  '/^a*a*b/',
  '/=+$/',
  '/<[^>]*>/',
  String.raw`/\s*,\s*/`,
  String.raw`/(\{+)([^{}]*)(\}+)/g`,
  String.raw`/^(?:\w+\.?)+@/`,
  '/<a[^b]*b/',
  String.raw`/<!(?:[^>x]|\\>)*?x/`,
  String.raw`/projects\/.+\/locations\/.+\/endpoints\/.+/`,
  String.raw`/^projects\/.+\/locations\/.+\/endpoints\//`,
  String.raw`/ab.*(?<!cd)$/`,
  String.raw`/ab(?=.*cd$)/gi`,
  'RegExp("a+$")',
  'const A = "a"; const B = `${A}+`; new RegExp(`${B}$`, "u")',
])('%s is reported', (text) => {
  expect(superLinearPatterns([file(text)])).toHaveLength(1);
});

test('a pattern that is not a constant of the file is reported', () => {
  expect(superLinearPatterns([file('new RegExp(`^${text}`)'), file('let a = "b"; RegExp(a)')])).toHaveLength(2);
  expect(superLinearPatterns([file('new RegExp("a", flags)')])).toHaveLength(1);
});

test.each([
  String.raw`/^\w+$/`,
  String.raw`/\w+/g`,
  String.raw`/\W/`,
  String.raw`/^[a-z]+(?:\.[a-z]+)*$/`,
  String.raw`/(?<!\{)(\{+)([^{}]*)(\}+)/g`,
  // Each run of white space is read once, because the word before it has no white space.
  '/```json\\s*\\n/',
  String.raw`/\s*x/y`,
  '/<a[^<]*b/',
  '/(?:<a)+b/y',
  '/(?<=<a)b|<a<a$/m',
  String.raw`/projects\/[^/]+\/locations\/[^/]+\/endpoints\/.+/`,
  String.raw`/\bab\b|^ab{2,3}$/i`,
  'const A = `a`; new RegExp(`^${A}+$`, "u")',
])('%s passes', (text) => {
  expect(superLinearPatterns([file(text)])).toEqual([]);
});

test('an allowance is for its file and its pattern, and is reported if it is unused', () => {
  const files = [file('/a+$/; /b+$/; /c/')];
  const [a, c] = [
    { path: 'packages/core/src/a.ts', text: '/a+$/', reason: '' },
    { path: 'b.ts', reason: '' },
  ];
  expect(superLinearPatterns(files, [a, c])).toHaveLength(1);
  expect(unusedAllowances(files, [a, c])).toEqual([c]);
  expect(superLinearPatterns(files, [{ path: a.path, reason: '' }])).toEqual([]);
});

test('the reason for a report names the kind of growth', () => {
  expect(patternsOf(file('/^(a+)+$/; /a+$/; /<a[^b]*b/')).map(superLinearPart)).toEqual([
    expect.stringMatching(/^exponential/),
    expect.stringMatching(/^polynomial/),
    'polynomial for repetitions of "<a"',
  ]);
});

test('tests, fixtures and conformance suites are not checked', () => {
  const paths = ['src/a.ts', 'src/a.test.ts', 'src/fixtures/b.ts', 'src/conformance/c.ts', 'tsdown.config.ts'];
  const files = paths.map((path) => ({ path: `packages/core/${path}`, text: '' }));
  expect(shippedSources(files).map(({ path }) => path)).toEqual(['packages/core/src/a.ts']);
});
