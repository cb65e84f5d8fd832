import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bareErrors, errorClasses, errorContractBreaches, listedErrors, sharedErrorCodes } from './error-classes.ts';
import { readEntries } from './reference.ts';
import { readPackages } from './repository.ts';

const file = (text: string, path = 'packages/sample/src/errors.ts') => ({ path, text });

const base = file("export class EventloomError extends Error { static code = 'BASE'; static isInstance() {} }");
const breaches = (text: string): string[] => errorContractBreaches(errorClasses([base, file(text)]));

describe('the errors of this repository', () => {
  const packages = readPackages();
  const files = packages.flatMap((workspace) => workspace.files);
  const classes = errorClasses(files);

  test('exist', () => {
    expect(classes.map(({ name }) => name)).toContain('EventloomError');
  });

  test('keep the error contract', () => {
    expect(errorContractBreaches(classes)).toEqual([]);
  });

  test('share no code', () => {
    expect(sharedErrorCodes(classes)).toEqual([]);
  });

  test('are listed in the guide with their codes and a package that exports them', () => {
    const codes = new Map(classes.map(({ path, name, code }) => [`${path}#${name}`, code]));
    const entries = packages.flatMap((workspace) => readEntries(workspace, packages));
    const exported = entries.flatMap(({ specifier, names }) =>
      names.flatMap(({ name, declaration }) => {
        const code = codes.get(`${declaration.file.path}#${declaration.name}`);
        return code === undefined ? [] : [{ name, code, specifier }];
      }),
    );
    const listed = listedErrors(readFileSync(join(import.meta.dirname, '../../docs/guide/errors.md'), 'utf8'));
    const line = ({ name, code }: { readonly name: string; readonly code: string }) => `${name} ${code}`;
    expect(listed.map(line).toSorted()).toEqual(Array.from(new Set(exported.map(line))).toSorted());
    const specifiersOf = Map.groupBy(exported, line);
    const wrong = listed.filter((one) => {
      // The entry of eventloom for the ADK exports the names of @eventloom/adk again.
      const specifier = one.specifier === 'eventloom/adk' ? '@eventloom/adk' : one.specifier || 'eventloom';
      return !specifiersOf.get(line(one))?.some((other) => other.specifier === specifier);
    });
    expect(wrong).toEqual([]);
  });

  test('are the only errors that are thrown', () => {
    expect(bareErrors(files)).toEqual([]);
  });
});

describe('the error contract', () => {
  test('is kept by a class with a code of its own that inherits isInstance', () => {
    const text = "export class GoneError extends EventloomError { static override readonly code = 'GONE'; }";
    expect(breaches(text)).toEqual([]);
  });

  test('is kept by the child of such a class', () => {
    const parent = file("class GoneError extends EventloomError { static code = 'GONE'; }");
    const child = file("class FarGoneError extends GoneError { static code = 'FAR_GONE'; }");
    expect(errorContractBreaches(errorClasses([base, parent, child]))).toEqual([]);
  });

  test('requires a code', () => {
    expect(breaches('class GoneError extends EventloomError {}')).toEqual(['GoneError has no static code of its own']);
  });

  test('requires a code that is a literal in the source', () => {
    const text = 'class GoneError extends EventloomError { static code = makeCode(); }';
    expect(breaches(text)).toEqual(['GoneError has no static code of its own']);
  });

  test('requires a code in upper snake case', () => {
    expect(breaches("class GoneError extends EventloomError { static code = 'gone'; }")).toEqual([
      'GoneError has code gone, not in upper snake case',
    ]);
  });

  test('requires the base class and its isInstance', () => {
    expect(breaches("class GoneError extends Error { static code = 'GONE'; }")).toEqual([
      'GoneError does not descend from EventloomError',
      'GoneError has no static isInstance',
    ]);
  });

  test('requires every class that extends an error to be in an errors.ts', () => {
    const stray = file(
      "class GoneError extends EventloomError { static code = 'GONE'; }",
      'packages/sample/src/gone.ts',
    );
    expect(errorContractBreaches(errorClasses([base, stray]))).toEqual(['GoneError is not in errors.ts']);
  });
});

test('two classes with one code are reported', () => {
  const files = ['One', 'Two'].map((name) => file(`class ${name} { static code = 'SAME'; }`));
  expect(sharedErrorCodes(errorClasses(files))).toEqual(['SAME: One, Two']);
});

test('the errors that a page lists are found with the package of their heading', () => {
  const page =
    '| error | code |\n|---|---|\n| **A** (`@a/b`) | |\n| `GoneError` | `GONE` | it is gone |\n| text | text |\n';
  expect(listedErrors(page)).toEqual([{ name: 'GoneError', code: 'GONE', specifier: '@a/b' }]);
});

describe('a plain Error', () => {
  test.each(["throw new Error('no');", "throw Error('no');"])('is reported: %s', (text) => {
    expect(bareErrors([{ path: 'packages/a/src/a.ts', text: `\n${text}` }])).toEqual(['packages/a/src/a.ts:2']);
  });

  test('may be thrown by a test', () => {
    expect(bareErrors([{ path: 'packages/a/src/a.test.ts', text: "throw new Error('no');" }])).toEqual([]);
  });

  test('does not include errors with a code', () => {
    expect(bareErrors([{ path: 'packages/a/src/a.ts', text: "throw new GoneError('no');" }])).toEqual([]);
  });
});
