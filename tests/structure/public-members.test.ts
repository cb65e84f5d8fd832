import { describe, expect, test } from 'vitest';
import { exportedNames } from './module-syntax.ts';
import { readDeclarations, withoutDocstring } from './public-members.ts';
import { isTestFile, readPackages, type SourceFile } from './repository.ts';

test('every member of the classes and options that eventloom exports has a docstring', () => {
  const files = readPackages().flatMap((workspace) => workspace.files);
  const sources = files.filter(({ path }) => !isTestFile(path));
  const isOfEventloom = ({ path }: SourceFile) => path.startsWith('packages/eventloom/');
  const declarations = readDeclarations([...sources.filter(isOfEventloom), ...sources]);
  const entry = files.find(({ path }) => path === 'packages/eventloom/src/index.ts');
  const names = entry ? exportedNames(entry).flatMap(({ name }) => name ?? []) : [];
  expect(names.length).toBeGreaterThan(100);
  expect(withoutDocstring(names, declarations)).toEqual([]);
});

describe('a member without a docstring', () => {
  const missing = (text: string) => withoutDocstring(['A'], readDeclarations([{ path: 'a.ts', text }]));

  test.each([
    ['a field of a class', 'export class A { b = 1; }'],
    ['a method of a class', 'export class A { b() {} }'],
    ['a field of an interface', 'export interface A { b: string }'],
    ['a member of a base', 'export class A extends B {}\nexport class B { b = 1; }'],
  ])('is reported: %s', (_, text) => {
    expect(missing(text)).toHaveLength(1);
  });

  test.each([
    ['one with a docstring', 'export class A {\n  /** A. */\n  b = 1;\n}'],
    ['a private one', 'export class A { #b = 1; private c = 1; }'],
    ['a constructor', 'export class A { constructor() {} }'],
    [
      'one that overrides one with a docstring',
      'export class A extends B { b = 1; }\nexport class B {\n  /** B. */\n  b = 1;\n}',
    ],
    ['a mark between copies of a package', "export class A { get '~eventloom.a'(): true { return true; } [B] = 1; }"],
  ])('is not reported: %s', (_, text) => {
    expect(missing(text)).toEqual([]);
  });
});
