import type { Comment, Node, ParseResult, Statement } from 'oxc-parser';
import { dirname, join } from 'node:path/posix';
import { exportedNames, parseModule } from './module-syntax.ts';
import type { SourceFile, Workspace } from './repository.ts';

/** A public name with data of its declaration. */
export interface ReferenceName {
  readonly name: string;
  /** The group in the entry file: the text of the comment above the export; empty if there is none. */
  readonly group: string;
  /** The declaration without its body, in one line. */
  readonly signature: string;
  /** The first sentence of the docstring; empty if there is none. */
  readonly summary: string;
  /** The name in its declaration, which differs if the export renames it. */
  readonly declaredAs: string;
  /** The file that declares the name, to distinguish two declarations of one name. */
  readonly declaredIn: string;
}

/** The exports of one entry of a package. */
export interface ReferenceEntry {
  /** The specifier that is imported from, e.g. `@eventloom/sessions/sqlite`. */
  readonly specifier: string;
  readonly names: readonly ReferenceName[];
}

interface Declaration {
  readonly declaredAs: string;
  readonly signature: string;
  readonly summary: string;
  readonly path: string;
}

const MAX_SIGNATURE = 160;
const MAX_UNGROUPED = 20;

/**
 * Names that several declarations may have: `Runner` of eventloom extends that of the runner package, and the PostgreSQL back ends of
 * sessions and server, which cannot import each other, describe the same parts of a foreign client.
 */
const SAME_MEANING = new Set(['PostgresClient', 'PostgresPool', 'PostgresQuery', 'PostgresResult', 'Runner']);

/**
 * Returns the public entries of a package, in the order of its manifest. `./internal` is excluded: it may change with
 * every release.
 */
export function readEntries(workspace: Workspace, packages: readonly Workspace[]): ReferenceEntry[] {
  const { name: packageName, exports = {} } = workspace.manifest;
  return Object.entries(exports).flatMap(([key, source]) => {
    if (/^\.\/internal(\/|$)/.test(key) || !source.endsWith('.ts')) return [];
    const path = join(workspace.folder, source);
    const entry = readFile(path, packages);
    // Its names are on the page of the package.
    if (exportedNames(entry).some(({ name, from }) => name === undefined && from === '@eventloom/adk')) return [];
    const names = namesOf(entry, packages);
    return [{ specifier: `${packageName}${key.slice(1)}`, names }];
  });
}

/**
 * Returns the reference page of a package.
 *
 * @param pagesOf returns the pages that show a name, if the page should list them
 */
export function referencePage(
  packageName: string,
  entries: readonly ReferenceEntry[],
  pagesOf: (name: string) => readonly string[] = () => [],
): string {
  const sections = entries.map(({ specifier, names }) => {
    const title = entries.length > 1 ? `\n## ${specifier}\n` : '';
    const groups = Map.groupBy(names, ({ group }) => group);
    return title + Array.from(groups, ([group, members]) => groupSection(group, members, pagesOf)).join('');
  });
  return `# ${packageName}\n\n${GENERATED}${sections.join('')}`;
}

/** Returns the page that lists the pages of all packages. */
export function referenceIndex(entries: ReadonlyMap<string, readonly ReferenceEntry[]>): string {
  const rows = Array.from(entries, ([page, list]) =>
    list.map(({ specifier, names }) => `| [\`${specifier}\`](${page}.md) | ${names.length} |\n`).join(''),
  );
  return [
    `# API reference\n\n${GENERATED}`,
    'Every public name of every package with its signature and the first sentence of its docstring. Editors show the whole docstring.\n',
    'To find out from where a name is imported, see [all names](names.md).\n',
    '`./internal` entries are left out: only the packages of Eventloom import them, and they may change with every release.\n',
    `| import from | names |\n|---|---|\n${rows.join('')}`,
  ].join('\n');
}

/** Returns the page that lists the import of every public name, the entries of `eventloom` first. */
export function nameIndex(entries: ReadonlyMap<string, readonly ReferenceEntry[]>): string {
  const links = Array.from(entries).flatMap(([page, list]) =>
    list.flatMap(({ specifier, names }) => names.map(({ name }) => ({ name, specifier, page }))),
  );
  const byName = Map.groupBy(links, ({ name }) => name);
  const rows = Array.from(byName.keys())
    .toSorted(compareNames)
    .map((name) => {
      const places = (byName.get(name) ?? []).toSorted((one, other) => compareNames(one.specifier, other.specifier));
      return `| \`${name}\` | ${places.map(({ specifier, page }) => `[\`${specifier}\`](${page}.md)`).join(', ')} |\n`;
    });
  return [
    `# All names\n\n${GENERATED}`,
    'From where each public name is imported. The names of `@eventloom/adk` can also be imported from `eventloom/adk`.\n',
    `| name | import from |\n|---|---|\n${rows.join('')}`,
  ].join('\n');
}

/** Compares names by letters, ignoring case; `eventloom` comes before `@eventloom/…`, and `@eventloom/adk` last. */
function compareNames(one: string, other: string): number {
  const key = (name: string): string =>
    name === '@eventloom/adk' ? '~' : name.replace(/^eventloom/, ' ').toLowerCase();
  return key(one) < key(other) ? -1 : 1;
}

/** Returns names without a docstring: `specifier: name`. */
export function withoutSummary(entries: readonly ReferenceEntry[]): string[] {
  return entries.flatMap(({ specifier, names }) =>
    names.filter(({ summary }) => summary === '').map(({ name }) => `${specifier}: ${name}`),
  );
}

/** Returns names without a group, in entries with more than `MAX_UNGROUPED` names: `specifier: name`. */
export function ungroupedNames(entries: readonly ReferenceEntry[]): string[] {
  const large = entries.filter(({ names }) => names.length > MAX_UNGROUPED);
  return large.flatMap(({ specifier, names }) =>
    names.filter(({ group }) => group === '').map(({ name }) => `${specifier}: ${name}`),
  );
}

/** Returns public names that mean different things in different entries: the name and the files that declare it. */
export function ambiguousNames(entries: readonly ReferenceEntry[]): string[] {
  const files = new Map<string, Set<string>>();
  for (const { names } of entries) {
    const own = names.filter(({ name }) => !SAME_MEANING.has(name));
    for (const { name, declaredIn } of own) files.set(name, (files.get(name) ?? new Set()).add(declaredIn));
  }
  return Array.from(files).flatMap(([name, paths]) => (paths.size > 1 ? [`${name}: ${[...paths].join(', ')}`] : []));
}

/** Returns the names of an entry that another package exports for something else: declared elsewhere, or under another name. */
export function twinNames(entries: readonly ReferenceEntry[], specifier: string): string[] {
  const places = (isOwn: boolean): Map<string, string[]> => {
    const names = entries.flatMap((entry) => ((entry.specifier === specifier) === isOwn ? entry.names : []));
    const found = new Map<string, string[]>();
    for (const { name, declaredIn, declaredAs } of names)
      found.set(name, [...(found.get(name) ?? []), `${declaredIn}#${declaredAs}`]);
    return found;
  };
  const others = places(false);
  return Array.from(places(true)).flatMap(([name, [place]]) =>
    others.get(name)?.some((other) => other !== place) ? [name] : [],
  );
}

/** Returns the names in the first column of the first table below a text of a page. */
export function namesInTable(page: string, above: string): string[] {
  const [, below] = page.split(above, 2);
  if (below === undefined) throw new Error(`the page does not have the text "${above}"`);
  const [, rows = ''] = /^\|-[-|]*\|\n((?:\|.*\n)*)/m.exec(below) ?? [];
  return Array.from(rows.matchAll(/^\| ([^|]*) \|/gm)).flatMap(([, cell = '']) =>
    Array.from(cell.matchAll(/`([^`]+)`/g), ([, name = '']) => name),
  );
}

/**
 * Returns names of the `adk` entry that another entry uses for something else and whose summary does not name `@google/adk`.
 */
export function unexplainedTwins(
  entries: readonly ReferenceEntry[],
  { folder, explanations }: { readonly folder: string; readonly explanations: readonly string[] },
): string[] {
  const isOwn = ({ declaredIn }: ReferenceName) => declaredIn.startsWith(`${folder}/`);
  const names = entries.flatMap((entry) => entry.names);
  const others = new Set(names.filter((name) => !isOwn(name)).map(({ name }) => name));
  const twins = names.filter((name) => isOwn(name) && others.has(name.name));
  return twins.filter(({ summary }) => !explanations.some((words) => summary.includes(words))).map(({ name }) => name);
}

const GENERATED = '<!-- Generated from the sources: pnpm docs:update -->\n';

function groupSection(
  group: string,
  names: readonly ReferenceName[],
  pagesOf: (name: string) => readonly string[],
): string {
  const sorted = names.toSorted((one, other) => (one.name.toLowerCase() < other.name.toLowerCase() ? -1 : 1));
  const lines = sorted.map(({ name, declaredAs, signature, summary }) => {
    const [page] = pagesOf(name);
    const link = page === undefined ? '' : ` Shown in [${page.replace(/^.*?(guide|examples)\//, '')}](../../${page}).`;
    const alias = name === declaredAs ? '' : `\`${name}\`: the same as `;
    return `- ${alias}${codeSpan(signature)}${summary === '' ? '' : ` ${summary}`}${link}\n`;
  });
  return `${group === '' ? '' : `\n### ${group}\n`}\n${lines.join('')}`;
}

function codeSpan(text: string): string {
  return text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``;
}

function namesOf(entry: SourceFile, packages: readonly Workspace[]): ReferenceName[] {
  const { program, comments, module } = parseOnce(entry);
  const names: ReferenceName[] = [];
  let group = '';
  for (const statement of program.body) {
    group = groupAbove(statement, comments, entry.text) ?? group;
    for (const { entries } of module.staticExports.filter(({ start }) => start === statement.start)) {
      for (const { exportName, importName, localName, moduleRequest } of entries) {
        if (moduleRequest && importName.kind === 'AllButDefault') {
          const path = resolve(moduleRequest.value, entry.path, packages);
          names.push(...namesOf(readFile(path, packages), packages));
          continue;
        }
        const name = exportName.name ?? 'default';
        const found = moduleRequest
          ? findDeclaration(importName.name ?? name, resolve(moduleRequest.value, entry.path, packages), packages)
          : findDeclaration(localName.name ?? name, entry.path, packages);
        const { signature, summary, path, declaredAs } = found;
        names.push({ name, declaredAs, group, signature, summary, declaredIn: path });
      }
    }
  }
  return names;
}

/** Returns the text of a one-line comment in the line above a statement. */
function groupAbove(statement: Statement, comments: readonly Comment[], text: string): string | undefined {
  const above = comments.find(({ type, end }) => type === 'Line' && text.slice(end, statement.start) === '\n');
  return above?.value.trim();
}

const parsed = new WeakMap<SourceFile, ParseResult>();

/** Parses a file at the first call: an entry exports many names of one file, and takes many of them through the same files. */
function parseOnce(file: SourceFile): ParseResult {
  const result = parsed.get(file) ?? parseModule(file);
  parsed.set(file, result);
  return result;
}

function findDeclaration(name: string, path: string, packages: readonly Workspace[]): Declaration {
  const file = readFile(path, packages);
  const { program, comments, module } = parseOnce(file);
  for (const statement of program.body) {
    const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    const signature = declared && signatureOf(declared, name, file.text);
    if (signature === undefined || signature === null) continue;
    return { declaredAs: name, signature, summary: summaryAbove(statement, comments, file.text), path };
  }
  for (const { entries } of module.staticExports) {
    for (const { exportName, importName, moduleRequest } of entries) {
      if (exportName.name === name && moduleRequest)
        return findDeclaration(importName.name ?? name, resolve(moduleRequest.value, path, packages), packages);
    }
  }
  for (const { entries, moduleRequest } of module.staticImports) {
    for (const { importName, localName } of entries) {
      if (localName.value === name)
        return findDeclaration(importName.name ?? name, resolve(moduleRequest.value, path, packages), packages);
    }
  }
  throw new TypeError(`${path} declares no ${name}`);
}

/** Returns the declaration of a name without its body, in one line; undefined if the node declares something else. */
function signatureOf(node: Node, name: string, text: string): string | undefined {
  if (node.type === 'VariableDeclaration') {
    const variable = node.declarations.find(({ id }) => id.type === 'Identifier' && id.name === name);
    if (!variable) return undefined;
    const { typeAnnotation } = variable.id;
    const whole = oneLine(text.slice(variable.start, variable.end));
    if (typeAnnotation)
      return shortened(`const ${name}${oneLine(text.slice(typeAnnotation.start, typeAnnotation.end))}`);
    const isShown = whole.length <= 80 && variable.init?.type !== 'CallExpression';
    return isShown ? `const ${whole}` : `const ${name}`;
  }
  if (!('id' in node) || node.id?.type !== 'Identifier' || node.id.name !== name) return undefined;
  switch (node.type) {
    case 'FunctionDeclaration':
    case 'TSDeclareFunction':
      return shortened(withoutComments(text.slice(node.start, node.body?.start ?? node.end)).replace(/;$/, ''));
    case 'ClassDeclaration': {
      const head = oneLine(text.slice(node.start, node.body.start));
      const made = node.body.body.find((member) => member.type === 'MethodDefinition' && member.kind === 'constructor');
      if (made?.type !== 'MethodDefinition' || node.abstract) return shortened(head);
      const { params, start } = made.value;
      const last = params.at(-1);
      const list = last ? withoutComments(text.slice(params[0]?.start ?? start, last.end)) : '';
      const shown = list.length > 60 ? '…' : list;
      return shortened(`${head} { constructor(${shown}) }`);
    }
    case 'TSInterfaceDeclaration':
      return shortened(oneLine(text.slice(node.start, node.body.start)));
    case 'TSTypeAliasDeclaration': {
      const whole = withoutComments(text.slice(node.start, node.end)).replace(/;$/, '');
      return whole.length <= MAX_SIGNATURE ? whole : `${oneLine(text.slice(node.start, node.typeAnnotation.start))} …`;
    }
    default:
      return undefined;
  }
}

function withoutComments(text: string): string {
  return oneLine(text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, ''));
}

function oneLine(text: string): string {
  return text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/([(<]) /g, '$1')
    .replaceAll(/,? (\)|>(?!=))/g, '$1')
    .trim();
}

function shortened(signature: string): string {
  return signature.length <= MAX_SIGNATURE ? signature : `${signature.slice(0, MAX_SIGNATURE)}…`;
}

/** Returns the first sentence of the docstring directly above a statement. */
function summaryAbove(statement: Node, comments: readonly Comment[], text: string): string {
  const above = comments.findLast(({ end }) => end <= statement.start);
  if (!above || above.type !== 'Block' || text.slice(above.end, statement.start).trim() !== '') return '';
  if (!above.value.startsWith('*')) return '';
  const lines = above.value.split('\n').map((line) => line.replace(/^\s*\*+ ?/, ''));
  const prose =
    lines
      .join('\n')
      .trim()
      .split(/\n\s*\n|(?:^|\s)@\w+(?![\w/])/)[0] ?? '';
  const sentence = /^[\s\S]*?(?<!e\.g)(?<!i\.e)\.(?=\s+[A-Z`]|$)/.exec(prose)?.[0] ?? prose;
  return sentence
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\{@link (\w+)\}/g, '`$1`')
    .trim();
}

function resolve(specifier: string, from: string, packages: readonly Workspace[]): string {
  if (specifier.startsWith('.')) return join(dirname(from), specifier);
  for (const { manifest, folder } of packages) {
    if (specifier !== manifest.name && !specifier.startsWith(`${manifest.name}/`)) continue;
    const source = manifest.exports?.[`.${specifier.slice(manifest.name.length)}`];
    if (source !== undefined) return join(folder, source);
  }
  throw new TypeError(`${from}: cannot follow ${specifier}`);
}

function readFile(path: string, packages: readonly Workspace[]): SourceFile {
  const file = packages.flatMap(({ files }) => files).find((candidate) => candidate.path === path);
  if (!file) throw new TypeError(`there is no ${path}`);
  return file;
}
