import { describe, expect, test } from 'vitest';
import { bareErrors, errorClasses, errorContractBreaches, sharedErrorCodes } from './error-classes.ts';
import { readPackages } from './repository.ts';

const file = (text: string, path = 'packages/sample/src/errors.ts') => ({ path, text });

const base = file("export class EventloomError extends Error { static code = 'BASE'; static isInstance() {} }");
const breaches = (text: string): string[] => errorContractBreaches(errorClasses([base, file(text)]));

describe('the errors of this repository', () => {
  const files = readPackages().flatMap((workspace) => workspace.files);
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
