import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import type { PublicName } from './adk-names.ts';
import { type MemberAdvice, memberAdvice } from './member-advice.ts';

/** A member of something that `@google/adk` exports and that `@eventloom/adk` exports without that member. */
export interface AbsentMember {
  /** The name of the class, the type or the object. */
  readonly owner: string;
  readonly member: string;
}

/** Result of a comparison of the members of two libraries. */
export interface MemberComparison {
  readonly absent: readonly AbsentMember[];
  /** Names that the compiler cannot compare: types that need type arguments. */
  readonly skipped: readonly string[];
}

const root = join(import.meta.dirname, '../..');
const run = promisify(execFile);

/**
 * `InstanceOf`: a class that is declared as a constructor only has a prototype of any type. `Absent`: nothing for a
 * name that is not offered.
 */
const PREAMBLE = `
type IsAny<T> = 0 extends 1 & T ? true : false;
type InstanceOf<C> = C extends { prototype: infer P }
  ? IsAny<P> extends true
    ? C extends abstract new (...args: never[]) => infer I ? I : never
    : P
  : never;
type Absent<Theirs, Ours> = Ours extends { readonly advice: string } ? never : Exclude<Extract<keyof Theirs, string>, keyof Ours>;
`;

/**
 * Compares the public members of exports of `@google/adk` with those of the same exports of `@eventloom/adk`. It
 * assigns a symbol to the type of the absent names, so that the compiler lists them.
 *
 * @param names the exports to compare, which both libraries have
 * @param values the exports of `@google/adk` at run time
 */
export async function compareMembers(
  names: readonly PublicName[],
  values: Readonly<Record<string, unknown>>,
): Promise<MemberComparison> {
  const checks = names.flatMap(({ kind, name }) =>
    (kind === 'type' ? [`theirs.${name}, ours.${name}`] : typesOfValue(name, values[name])).map((types) => ({
      owner: name,
      line: `export const absent: Absent<${types}> = Symbol();`,
    })),
  );
  const messages = await compile(checks.map(({ line }) => line));
  const absent = new Map<string, AbsentMember>();
  const skipped = new Set<string>();
  for (const [index, { owner }] of checks.entries()) {
    const message = messages.get(index) ?? '';
    const [, list] = /: error TS2322: Type 'unique symbol' is not assignable to type '(.*)'\.$/.exec(message) ?? [];
    if (list === undefined && message !== '') skipped.add(owner);
    // Some classes of ours are declared as constructors, which have no prototype.
    for (const [, member = ''] of (list ?? '').matchAll(/"(?!prototype")(\w+)"/g))
      absent.set(`${owner}.${member}`, { owner, member });
  }
  return { absent: [...absent.values()], skipped: [...skipped] };
}

/** Returns pairs of types whose members are those of a value: of a class, its instances and its own. Functions and texts have none. */
function typesOfValue(name: string, value: unknown): string[] {
  const itself = `typeof theirs.${name}, typeof ours.${name}`;
  if (typeof value === 'object') return [itself];
  const isClass = typeof value === 'function' && Function.prototype.toString.call(value).startsWith('class');
  return isClass ? [`InstanceOf<typeof theirs.${name}>, InstanceOf<typeof ours.${name}>`, itself] : [];
}

/** Compiles each line as a module, and returns the first message about it by the index of the line. */
async function compile(lines: readonly string[]): Promise<Map<number, string>> {
  const parent = join(root, 'tests/.tsc');
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'members-'));
  try {
    const manifest = createRequire(import.meta.url).resolve('@google/adk/package.json');
    const theirs = relative(folder, join(dirname(manifest), 'dist/types/index.js'));
    const ours = relative(folder, join(root, 'packages/adk/src/index.ts'));
    const imports = `import type * as theirs from '${theirs}';\nimport type * as ours from '${ours}';\n`;
    const body = lines.map((line, index) => line.replace('const absent', `const absent${index}`)).join('\n');
    writeFileSync(join(folder, 'members.ts'), `${imports}${PREAMBLE}${body}\n`);
    const options = {
      types: ['node'],
      rootDir: relative(folder, root),
      noEmit: true,
      composite: false,
      noErrorTruncation: true,
    };
    const config = {
      extends: relative(folder, join(root, 'tsconfig.base.json')),
      compilerOptions: { ...options, incremental: false, declaration: false, emitDeclarationOnly: false },
      files: ['members.ts'],
      references: [{ path: relative(folder, join(root, 'packages/adk/tsconfig.src.json')) }],
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const compiler = join(root, 'node_modules/.bin/tsc');
    const { stdout } = await run(compiler, ['-b', '--pretty', 'false', folder], {
      maxBuffer: 2 ** 25,
    }).catch((error: { stdout: string }) => error);
    const first = `${imports}${PREAMBLE}`.split('\n').length;
    const found = new Map<number, string>();
    for (const message of stdout.split('\n')) {
      const [, line] = /members\.ts\((\d+),/.exec(message) ?? [];
      if (line === undefined) continue;
      const index = Number(line) - first;
      if (!found.has(index)) found.set(index, message);
    }
    return found;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns what to write in place of a member; undefined if no advice is known. */
export function adviceForMember({ owner, member }: AbsentMember): MemberAdvice | undefined {
  return memberAdvice.find(({ of, members }) => members.includes(member) && (of === undefined || of.includes(owner)));
}

/** Returns the owners of the members, without those whose base class is among them. */
function baseOwners(owners: readonly string[], values: Readonly<Record<string, unknown>>): string[] {
  const classOf = (owner: string): unknown => {
    const value = values[owner];
    return typeof value === 'function' ? value.prototype : value;
  };
  const extendsOne = (owner: string): boolean =>
    owners.some((other) => {
      const [value, base] = [classOf(owner), values[other]];
      return other !== owner && typeof base === 'function' && value instanceof base;
    });
  return owners.filter((owner) => !extendsOne(owner));
}

/**
 * Returns the table of the guide with the absent members, and what to write instead.
 *
 * @param values the exports of `@google/adk` at run time
 */
export function membersTable(absent: readonly AbsentMember[], values: Readonly<Record<string, unknown>>): string {
  const rows = memberAdvice.map((advice) => {
    const of = absent.filter((each) => adviceForMember(each) === advice);
    const listed = (names: readonly string[]): string =>
      [...new Set(names)]
        .toSorted()
        .map((name) => `\`${name}\``)
        .join(', ');
    const owners = baseOwners([...new Set(of.map(({ owner }) => owner))], values);
    return `| ${listed(of.map(({ member }) => member))} | ${listed(owners)} | ${advice.instead} |\n`;
  });
  return `| members | of | instead |\n|---|---|---|\n${rows.join('')}`;
}
