import type { Node, ParseResult, Statement } from 'oxc-parser';
import { dirname, join } from 'node:path/posix';
import { parseModule } from './module-syntax.ts';
import type { SourceFile, Workspace } from './repository.ts';

/** The statement that declares a name. */
export interface Declaration {
  readonly name: string;
  readonly file: SourceFile;
  /** The declaration, without `export`. */
  readonly node: Node;
  /** The text of the docstring, as in the source without its asterisks; undefined if there is none. */
  readonly docstring: string | undefined;
}

const parsed = new WeakMap<SourceFile, ParseResult>();

/** Parses a file at the first call: an entry exports many names of one file, and takes many of them through the same files. */
export function parseOnce(file: SourceFile): ParseResult {
  const result = parsed.get(file) ?? parseModule(file);
  parsed.set(file, result);
  return result;
}

/** Returns the declaration of a name that a file declares, imports or exports; undefined if it comes from a foreign library. */
export function findDeclaration(name: string, path: string, packages: readonly Workspace[]): Declaration | undefined {
  const file = readFile(path, packages);
  const own = ownDeclarations(file).get(name);
  if (own) return own;
  const { module } = parseOnce(file);
  const follow = (specifier: string, original: string | null): Declaration | undefined => {
    const source = resolve(specifier, path, packages);
    return source === undefined ? undefined : findDeclaration(original ?? name, source, packages);
  };
  for (const { entries } of module.staticExports) {
    for (const { exportName, importName, moduleRequest } of entries)
      if (exportName.name === name && moduleRequest) return follow(moduleRequest.value, importName.name);
  }
  for (const { entries, moduleRequest } of module.staticImports) {
    for (const { importName, localName } of entries)
      if (localName.value === name) return follow(moduleRequest.value, importName.name);
  }
  return undefined;
}

const declarationsOf = new WeakMap<SourceFile, ReadonlyMap<string, Declaration>>();

/** Returns the declarations of a file by name: of an overloaded function the first, which has the docstring. */
function ownDeclarations(file: SourceFile): ReadonlyMap<string, Declaration> {
  const known = declarationsOf.get(file);
  if (known) return known;
  const declarations = new Map<string, Declaration>();
  for (const statement of parseOnce(file).program.body) {
    const node = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    const docstring = docstringAbove(statement, file);
    for (const name of node ? declaredNames(node) : [])
      if (node && !declarations.has(name)) declarations.set(name, { name, file, node, docstring });
  }
  declarationsOf.set(file, declarations);
  return declarations;
}

function declaredNames(node: Node | Statement): string[] {
  if (node.type === 'VariableDeclaration')
    return node.declarations.flatMap(({ id }) => (id.type === 'Identifier' ? [id.name] : []));
  return 'id' in node && node.id?.type === 'Identifier' ? [node.id.name] : [];
}

const docstringsOf = new WeakMap<SourceFile, ReadonlyMap<number, string>>();

/** Returns the docstring directly above a node. */
export function docstringAbove({ start }: Node, file: SourceFile): string | undefined {
  const docstrings = docstringsOf.get(file) ?? readDocstrings(file);
  docstringsOf.set(file, docstrings);
  return docstrings.get(start);
}

/** Reads the docstrings of a file by the position of the code below them; that of a type in a union begins behind the `|`. */
function readDocstrings(file: SourceFile): ReadonlyMap<number, string> {
  const code = /[^\s|]/g;
  const docstrings = new Map<number, string>();
  for (const { type, value, end } of parseOnce(file).comments) {
    if (type !== 'Block' || !value.startsWith('*')) continue;
    code.lastIndex = end;
    const lines = value.split('\n').map((line) => line.replace(/^\s*\*+ ?/, ''));
    const below = code.exec(file.text);
    if (below) docstrings.set(below.index, lines.join('\n').trim());
  }
  return docstrings;
}

/** Returns the file of a specifier, or undefined for a foreign library. */
export function resolve(specifier: string, from: string, packages: readonly Workspace[]): string | undefined {
  if (specifier.startsWith('.')) return join(dirname(from), specifier);
  for (const { manifest, folder } of packages) {
    if (specifier !== manifest.name && !specifier.startsWith(`${manifest.name}/`)) continue;
    const source = manifest.exports?.[`.${specifier.slice(manifest.name.length)}`];
    if (source !== undefined) return join(folder, source);
  }
  return undefined;
}

const filesOf = new WeakMap<readonly Workspace[], ReadonlyMap<string, SourceFile>>();

export function readFile(path: string, packages: readonly Workspace[]): SourceFile {
  const files =
    filesOf.get(packages) ?? new Map(packages.flatMap(({ files }) => files.map((file) => [file.path, file])));
  filesOf.set(packages, files);
  const file = files.get(path);
  if (!file) throw new TypeError(`there is no ${path}`);
  return file;
}
