import { Visitor } from 'oxc-parser';
import { exportedNames, parseModule } from './module-syntax.ts';
import type { SourceFile } from './repository.ts';

/** A piece of TypeScript in a page or a docstring. */
export interface CodeSample {
  /** The file that contains the sample, relative to the repository. */
  readonly path: string;
  /** The line of its first line of code in that file, from 1. */
  readonly line: number;
  readonly code: string;
}

/** The import statements of the names that samples may use without importing them. */
export type Imports = ReadonlyMap<string, string>;

const MARKDOWN_BLOCK = /^(<!-- quote: .*-->\n)?```ts\n([\s\S]*?)^```$/gm;
const DOCSTRING = /\/\*\*[\s\S]*?\*\//g;
const DOCSTRING_BLOCK = /^\s*\* (?:@example|```ts)\n([\s\S]*?)(?=^\s*\* (?:@\w|```$)|^\s*\*\/)/gm;

/** Returns the TypeScript blocks of a Markdown page that quote no file: quoted files are compiled themselves. */
export function samplesOfPage({ path, text }: SourceFile): CodeSample[] {
  return Array.from(text.matchAll(MARKDOWN_BLOCK)).flatMap(({ index, 0: block, 1: quote, 2: code = '' }) =>
    quote === undefined ? [{ path, line: lineAt(text, index + block.indexOf('\n') + 1), code }] : [],
  );
}

/** Returns the examples in the docstrings of a source file: after `@example`, up to the next tag, and in code blocks. */
export function samplesOfSource({ path, text }: SourceFile): CodeSample[] {
  return Array.from(text.matchAll(DOCSTRING)).flatMap(({ index: start, 0: docstring }) =>
    Array.from(docstring.matchAll(DOCSTRING_BLOCK), ({ index, 0: block, 1: lines = '' }) => ({
      path,
      line: lineAt(text, start + index + block.indexOf(lines)),
      code: lines.replaceAll(/^\s*\* ?/gm, ''),
    })),
  );
}

/**
 * Converts a sample to a module. Its lines keep their numbers, so that a message of the compiler names the line of the
 * page. Names that the sample neither declares nor imports are imported after it.
 */
export function toModule({ line, code }: CodeSample, importable: Imports): string {
  const imports = Array.from(freeNames(code)).flatMap((name) => importable.get(name) ?? []);
  return `${'\n'.repeat(line - 1)}${code}\nexport {};\n${imports.join('\n')}\n`;
}

/**
 * Returns the imports of all names that a file exports. Names that it only declares, with `declare const`, are imported
 * as values.
 */
export function importsOf(specifier: string, file: SourceFile): [string, string][] {
  return exportedNames(file).flatMap(({ kind, name }) => {
    if (name === undefined) return [];
    const isType = kind === 'type' && !file.text.includes(`export declare`);
    return [[name, `import { ${isType ? 'type ' : ''}${name} } from '${specifier}';`]];
  });
}

/**
 * Returns the names that code uses and neither imports nor declares at its top level. Names of members and properties
 * are excluded, and so are comments and strings.
 */
export function freeNames(code: string): Set<string> {
  const used = new Map<number, string>();
  const members = new Set<number>();
  const leaveOut = ({ computed, key }: { readonly computed: boolean; readonly key: { readonly start: number } }) => {
    if (!computed) members.add(key.start);
  };
  new Visitor({
    Identifier: ({ start, name }) => void used.set(start, name),
    MemberExpression: ({ computed, property: key }) => leaveOut({ computed, key }),
    Property: ({ computed, key, shorthand }) => leaveOut({ computed: computed || shorthand, key }),
    PropertyDefinition: leaveOut,
    MethodDefinition: leaveOut,
    TSPropertySignature: leaveOut,
    TSMethodSignature: leaveOut,
  }).visit(parseModule({ path: 'sample.ts', text: code }).program);
  const own = namesOf(code);
  return new Set(Array.from(used).flatMap(([start, name]) => (members.has(start) || own.has(name) ? [] : [name])));
}

/** Returns the names that a sample imports or declares at its top level. */
function namesOf(code: string): Set<string> {
  const { program, module } = parseModule({ path: 'sample.ts', text: code });
  const names = new Set(module.staticImports.flatMap(({ entries }) => entries.map(({ localName }) => localName.value)));
  for (const statement of program.body) {
    const declared =
      statement.type === 'ExportNamedDeclaration' && statement.declaration ? statement.declaration : statement;
    if (declared.type === 'VariableDeclaration') {
      for (const { id } of declared.declarations) {
        const pattern = code.slice(id.start, id.typeAnnotation?.start ?? id.end);
        for (const name of pattern.match(/[A-Za-z_$][\w$]*/g) ?? []) names.add(name);
      }
    } else if ('id' in declared && declared.id?.type === 'Identifier') {
      names.add(declared.id.name);
    }
  }
  return names;
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}
