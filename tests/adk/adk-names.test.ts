import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as adk from '@eventloom/adk';
import { beforeAll, describe, expect, test } from 'vitest';
import { adviceForMember, compareMembers, type MemberComparison, membersTable } from './adk-members.ts';
import { groupedNames, installedAdkNames, namesOfOtherEntries, type PublicName } from './adk-names.ts';
import { memberAdvice } from './member-advice.ts';

const root = join(import.meta.dirname, '../..');
const page = join(root, 'docs/guide/from-adk.md');
const theirs = installedAdkNames();
/** Exports of the other entries of `@google/adk` that its main entry does not have. */
const others = namesOfOtherEntries().filter(({ name }) => !theirs.some((each) => each.name === name));
const groups = groupedNames(join(root, 'packages/adk/src/index.ts'));
const ours = new Map([...groups.values()].flat().map((each) => [each.name, each]));
const values: Readonly<Record<string, unknown>> = adk;

function adviceOf({ name }: PublicName): string | undefined {
  const advised = advisedTypes.get(name);
  if (advised !== undefined) return advised;
  const value = values[name];
  try {
    const prototype: unknown = typeof value === 'function' ? value.prototype : undefined;
    return prototype === null ? '' : undefined;
  } catch (error) {
    if (!adk.NotOfferedError.isInstance(error)) throw error;
    return error.message.slice(error.message.indexOf('; ') + 2);
  }
}

/** The advice for types that are not offered, by name. Types have no value that could throw it. */
const advisedTypes = new Map(
  Array.from(
    readFileSync(join(root, 'packages/adk/src/not-offered-types.ts'), 'utf8').matchAll(
      /^export type (\w+) =\s+NotOffered<'(.*)'>;$/gm,
    ),
    ([, name = '', advice = '']) => [name, advice] as const,
  ),
);

const isHere = (each: PublicName): boolean => ours.has(each.name) && adviceOf(each) === undefined;
const listed = (names: readonly PublicName[]): string => names.map(({ name }) => `\`${name}\``).join(', ');

/** Returns the section of the guide between its two marks. */
function namesSection(): string {
  const all = [...theirs, ...others].toSorted((one, other) => one.name.localeCompare(other.name, 'en'));
  const here = Array.from(groups, ([group, names]) => {
    const shared = new Set(names.map(({ name }) => name));
    const found = all.filter((each) => shared.has(each.name) && isHere(each));
    return found.length === 0 ? '' : `- **${group}**: ${listed(found)}\n`;
  }).join('');
  const absent = all.filter((each) => !isHere(each));
  const byAdvice = Map.groupBy(absent, (each) => adviceOf(each) ?? '');
  const rows = Array.from(byAdvice, ([advice, names]) => `| ${listed(names)} | ${advice} |\n`).join('');
  const count = all.length - absent.length;
  return [
    `@google/adk ${adk.version} and its other entries export ${all.length} names. ${count} of them are here:\n\n${here}`,
    `The others are not offered:\n\n| names | instead |\n|---|---|\n${rows}`,
  ].join('\n');
}

const MARKS = /(?<=<!-- names: pnpm docs:update -->\n\n)[\s\S]*(?=\n<!-- end of names -->)/;
const MEMBER_MARKS = /(?<=<!-- members: pnpm docs:update -->\n\n)[\s\S]*(?=\n<!-- end of members -->)/;

let installed: Readonly<Record<string, unknown>> = {};
let compared: MemberComparison = { absent: [], skipped: [] };

beforeAll(async () => {
  installed = (await import('@google/adk')) as object as Record<string, unknown>;
  compared = await compareMembers(theirs, installed);
});

test('the guide lists every export of @google/adk, and the members that are not here (after a change: pnpm docs:update)', async () => {
  const text = readFileSync(page, 'utf8');
  expect(text).toMatch(MARKS);
  expect(text).toMatch(MEMBER_MARKS);
  const table = membersTable(compared.absent, installed);
  await expect(text.replace(MARKS, namesSection).replace(MEMBER_MARKS, () => table)).toMatchFileSnapshot(page);
});

test('every export of the other entries of @google/adk is here, or among the names of its main entry', () => {
  expect(others.map(({ name }) => name)).toContain('isDatabaseConnectionString');
  expect(others.filter((each) => !isHere(each))).toEqual([]);
});

describe('members that only @google/adk has', () => {
  test('all have advice, and there is no advice for other members', () => {
    expect(compared.absent.length).toBeGreaterThan(20);
    expect(compared.absent.filter((each) => adviceForMember(each) === undefined)).toEqual([]);
    const unused = memberAdvice.flatMap((advice) => {
      const used = compared.absent.filter((each) => adviceForMember(each) === advice).map(({ member }) => member);
      return advice.members.filter((member) => !used.includes(member));
    });
    expect(unused).toEqual([]);
  });

  test('are found in all names except types with type arguments', () => {
    expect(compared.skipped).toEqual([
      'FunctionNodeResult',
      'RequireConfirmation',
      'ToolExecuteArgument',
      'ToolExecuteFunction',
      'ToolOptions',
    ]);
  });
});

test('the entry file exports the names that are not offered, and no others, below their comment', () => {
  const below = groups.get('Names that are not offered') ?? expect.unreachable();
  const refused = theirs.filter((each) => !isHere(each)).map(({ name }) => name);
  expect(below.map(({ name }) => name).filter((name) => name !== 'NotOffered')).toEqual(
    expect.arrayContaining(refused),
  );
  expect(below.filter((each) => each.name !== 'NotOffered' && isHere(each))).toEqual([]);
});

test('every value and every type that @google/adk exports can be imported', () => {
  expect(theirs.length).toBeGreaterThan(400);
  expect(theirs.filter(({ name }) => !ours.has(name))).toEqual([]);
  expect(theirs.filter(({ kind, name }) => kind === 'value' && !(name in values))).toEqual([]);
});

test('every name that is not offered says what to write instead', () => {
  const absent = theirs.filter((each) => !isHere(each));
  expect(absent.filter((each) => (adviceOf(each) ?? '').length < 20)).toEqual([]);
});

test('the name of every class is one that is exported, because error messages have it', () => {
  const classes = Object.entries(values).filter(
    ([name]) => /^[A-Z]/.test(name) && adviceOf({ kind: 'value', name }) === undefined,
  );
  const named = classes.flatMap(([name, value]) => (typeof value === 'function' ? [[name, value.name] as const] : []));
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter(([, name]) => !ours.has(name))).toEqual([]);
});

test('the list of names includes every value that the installed @google/adk exports at run time', () => {
  const known = new Set(theirs.filter(({ kind }) => kind === 'value').map(({ name }) => name));
  expect(Object.keys(installed).filter((name) => !known.has(name))).toEqual([]);
});

test('constants have the values that they have in @google/adk', () => {
  const isConstant = (value: unknown): boolean => {
    if (typeof value !== 'object' || value === null) return typeof value !== 'function';
    return Object.getPrototypeOf(value) === Object.prototype;
  };
  const offered = Object.entries(installed).filter(
    ([name, value]) => isConstant(value) && name in values && typeof values[name] !== 'function',
  );
  expect(offered.length).toBeGreaterThan(10);
  expect(Object.fromEntries(offered.map(([name]) => [name, values[name]]))).toEqual(Object.fromEntries(offered));
});

describe('a name that is not offered', () => {
  const Service = adk.VertexAiSessionService as never as new () => object;
  const refusal = expect.objectContaining({
    code: 'ADK_NOT_OFFERED',
    message: expect.stringMatching(
      /^VertexAiSessionService of @google\/adk is not offered; write DatabaseSessionService/,
    ),
  });

  test.each([
    ['constructed', () => new Service()],
    ['called', () => (Service as never as () => void)()],
    ['extended', () => class extends Service {}],
    ['read', () => (Service as never as { name: string }).name],
    ['written', () => Object.assign(Service, { option: 1 })],
    ['listed, as an enumeration is', () => Object.values(Service)],
  ])('throws an error that says what to write when it is %s', (_title, use) => {
    expect(use).toThrow(refusal);
  });

  test('can be printed and awaited', async () => {
    await expect(Promise.resolve(adk.VertexAiSessionService)).resolves.toBeTypeOf('function');
  });
});
