import type { Comment, Statement } from 'oxc-parser';
import { join } from 'node:path/posix';
import { type Declaration, findDeclaration, parseOnce, readFile, resolve } from './declarations.ts';
import { exportedNames } from './module-syntax.ts';
import { membersOf, parameterList, type ReferenceMembers } from './reference-members.ts';
import type { SourceFile, Workspace } from './repository.ts';
import { codeSpan, oneLine, sentencesOf, shortened, withoutComments } from './source-text.ts';

/** A public name with data of its declaration. */
export interface ReferenceName {
  readonly name: string;
  /** The group in the entry file: the text of the comment above the export; empty if there is none. */
  readonly group: string;
  /** The declaration without its body, in one line. */
  readonly signature: string;
  /** The first sentence of the docstring; empty if there is none. */
  readonly summary: string;
  readonly declaration: Declaration;
}

/** The exports of one entry of a package. */
export interface ReferenceEntry {
  /** The specifier that is imported from, e.g. `@eventloom/sessions/sqlite`. */
  readonly specifier: string;
  readonly names: readonly ReferenceName[];
}

/** The members of a public name, which one page shows: all other pages with the name link to it. */
export interface MemberSection {
  readonly page: string;
  readonly name: string;
  /** The heading: `class Runner`. */
  readonly title: string;
  readonly members: ReferenceMembers;
}

/** The sections of members by the declaration of their name. */
export type MemberSections = ReadonlyMap<Declaration, MemberSection | undefined>;

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
 * Reads the members of public interfaces, classes and object types. Of several pages with a name, the one of the package that declares it
 * shows the members, or else the first.
 *
 * @param entries the entries of each page
 */
export function readMemberSections(
  entries: ReadonlyMap<string, readonly ReferenceEntry[]>,
  packages: readonly Workspace[],
): MemberSections {
  const places = new Map<Declaration, { readonly page: string; readonly name: string }>();
  for (const [page, list] of entries) {
    for (const { name, declaration } of list.flatMap(({ names }) => names)) {
      const isOwn = declaration.file.path.startsWith(`packages/${page}/`);
      const known = places.get(declaration);
      if (!known || (isOwn && known.page !== page)) places.set(declaration, { page, name });
    }
  }
  const sections = new Map<Declaration, MemberSection | undefined>();
  const sectionOf = (declaration: Declaration): MemberSection | undefined => {
    const place = places.get(declaration);
    if (!place || sections.has(declaration)) return sections.get(declaration);
    const members = membersOf(declaration, packages, (base) => {
      const section = sectionOf(base);
      return section && linkTo(section, place.page);
    });
    const section = members && { ...place, title: `${keywordOf(declaration)} ${place.name}`, members };
    sections.set(declaration, section);
    return section;
  };
  for (const declaration of places.keys()) sectionOf(declaration);
  return sections;
}

function keywordOf({ node }: Declaration): string {
  if (node.type === 'ClassDeclaration') return 'class';
  return node.type === 'TSInterfaceDeclaration' ? 'interface' : 'type';
}

/** Returns the target of a link to a section: GitHub makes the id of a heading, of its title. */
function linkTo({ page, title }: MemberSection, from: string): string {
  return `${page === from ? '' : `${page}.md`}#${title.toLowerCase().replaceAll(' ', '-')}`;
}

/** A page of the reference. */
export interface ReferencePage {
  /** The name of its file, without `.md`. */
  readonly page: string;
  readonly title: string;
  readonly entries: readonly ReferenceEntry[];
  readonly sections: MemberSections;
  /** Returns the pages that show a name, if the page should list them. */
  readonly pagesOf?: (name: string) => readonly string[];
}

/** Returns the reference page of a package: its names by task, and the members of those that are declared in the package. */
export function referencePage(reference: ReferencePage): string {
  const { page, title, entries, sections } = reference;
  const lists = entries.map(({ specifier, names }) => {
    const heading = entries.length > 1 ? `\n## ${specifier}\n` : '';
    const groups = Map.groupBy(names, ({ group }) => group);
    return heading + Array.from(groups, ([group, members]) => groupSection(group, members, reference)).join('');
  });
  const shown = [...sections.values()]
    .filter((section) => section?.page === page)
    .filter((section) => section !== undefined);
  const details = shown.toSorted((one, other) => compareNames(one.name, other.name)).map(memberSection);
  const members = details.length === 0 ? '' : `\n## Members\n${details.join('')}`;
  return `# ${title}\n\n${GENERATED}${lists.join('')}${members}`;
}

function memberSection({ title, members: { own, inherited } }: MemberSection): string {
  const lines = own.map(({ signature, summary }) => `- ${codeSpan(signature)}${summary === '' ? '' : ` ${summary}`}\n`);
  const bases = inherited.length === 0 ? '' : `- All of ${inherited.join(', ')}\n`;
  return `\n### ${title}\n\n${lines.join('')}${bases}`;
}

/** Returns the page that lists the pages of all packages. */
export function referenceIndex(entries: ReadonlyMap<string, readonly ReferenceEntry[]>): string {
  const rows = Array.from(entries, ([page, list]) =>
    list.map(({ specifier, names }) => `| [\`${specifier}\`](${page}.md) | ${names.length} |\n`).join(''),
  );
  return [
    `# API reference\n\n${GENERATED}`,
    'Every public name of every package with its signature and the first sentence of its docstring, and below them the members of classes and interfaces: options with their defaults, limits, methods. Editors show the whole docstring. Errors with their codes are in [the guide](../guide/errors.md).\n',
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
    for (const { name, declaration } of own) files.set(name, (files.get(name) ?? new Set()).add(declaration.file.path));
  }
  return Array.from(files).flatMap(([name, paths]) => (paths.size > 1 ? [`${name}: ${[...paths].join(', ')}`] : []));
}

/** Returns the names of an entry that another package exports for something else: declared elsewhere, or under another name. */
export function twinNames(entries: readonly ReferenceEntry[], specifier: string): string[] {
  const places = (isOwn: boolean): Map<string, string[]> => {
    const names = entries.flatMap((entry) => ((entry.specifier === specifier) === isOwn ? entry.names : []));
    const found = new Map<string, string[]>();
    for (const { name, declaration } of names)
      found.set(name, [...(found.get(name) ?? []), `${declaration.file.path}#${declaration.name}`]);
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
  const isOwn = ({ declaration }: ReferenceName) => declaration.file.path.startsWith(`${folder}/`);
  const names = entries.flatMap((entry) => entry.names);
  const others = new Set(names.filter((name) => !isOwn(name)).map(({ name }) => name));
  const twins = names.filter((name) => isOwn(name) && others.has(name.name));
  return twins.filter(({ summary }) => !explanations.some((words) => summary.includes(words))).map(({ name }) => name);
}

const GENERATED = '<!-- Generated from the sources: pnpm docs:update -->\n';

function groupSection(
  group: string,
  names: readonly ReferenceName[],
  { page: ownPage, sections, pagesOf = () => [] }: ReferencePage,
): string {
  const sorted = names.toSorted((one, other) => (one.name.toLowerCase() < other.name.toLowerCase() ? -1 : 1));
  const lines = sorted.map(({ name, signature, summary, declaration }) => {
    const [page] = pagesOf(name);
    const section = sections.get(declaration);
    const members = section ? ` [Members](${linkTo(section, ownPage)}).` : '';
    const link = page === undefined ? '' : ` Shown in [${page.replace(/^.*?(guide|examples)\//, '')}](../../${page}).`;
    const alias = name === declaration.name ? '' : `\`${name}\`: the same as `;
    return `- ${alias}${codeSpan(signature)}${summary === '' ? '' : ` ${summary}`}${members}${link}\n`;
  });
  return `${group === '' ? '' : `\n### ${group}\n`}\n${lines.join('')}`;
}

function namesOf(entry: SourceFile, packages: readonly Workspace[]): ReferenceName[] {
  const { program, comments, module } = parseOnce(entry);
  const names: ReferenceName[] = [];
  let group = '';
  for (const statement of program.body) {
    group = groupAbove(statement, comments, entry.text) ?? group;
    for (const { entries } of module.staticExports.filter(({ start }) => start === statement.start)) {
      for (const { exportName, importName, localName, moduleRequest } of entries) {
        const path = moduleRequest ? resolve(moduleRequest.value, entry.path, packages) : entry.path;
        if (path === undefined) throw new TypeError(`${entry.path}: cannot follow ${moduleRequest?.value}`);
        if (importName.kind === 'AllButDefault') {
          names.push(...namesOf(readFile(path, packages), packages));
          continue;
        }
        const name = exportName.name ?? 'default';
        const original = (moduleRequest ? importName : localName).name ?? name;
        const declaration = findDeclaration(original, path, packages);
        if (!declaration) throw new TypeError(`${path} declares no ${original}`);
        const [summary = ''] = sentencesOf(declaration.docstring);
        names.push({ name, group, signature: signatureOf(declaration), summary, declaration });
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

/** Returns the declaration of a name without its body, in one line. */
function signatureOf({ name, node, file: { text } }: Declaration): string {
  const textOf = (start: number, end: number): string => withoutComments(text.slice(start, end)).replace(/;$/, '');
  switch (node.type) {
    case 'VariableDeclaration': {
      const variable = node.declarations.find(({ id }) => id.type === 'Identifier' && id.name === name);
      const annotation = variable?.id.typeAnnotation;
      if (annotation) return shortened(`const ${name}${textOf(annotation.start, annotation.end)}`, MAX_SIGNATURE);
      const whole = variable ? oneLine(text.slice(variable.start, variable.end)) : name;
      const isShown = whole.length <= 80 && variable?.init?.type !== 'CallExpression';
      return isShown ? `const ${whole}` : `const ${name}`;
    }
    case 'FunctionDeclaration':
    case 'TSDeclareFunction':
      return shortened(textOf(node.start, node.body?.start ?? node.end), MAX_SIGNATURE);
    case 'ClassDeclaration': {
      const head = textOf(node.start, node.body.start);
      const made = node.body.body.find((member) => member.type === 'MethodDefinition' && member.kind === 'constructor');
      if (made?.type !== 'MethodDefinition' || node.abstract) return shortened(head, MAX_SIGNATURE);
      const parameters = parameterList(made.value.params, ({ start, end }) => textOf(start, end));
      return shortened(`${head} { constructor${parameters} }`, MAX_SIGNATURE);
    }
    case 'TSInterfaceDeclaration':
      return shortened(textOf(node.start, node.body.start), MAX_SIGNATURE);
    case 'TSTypeAliasDeclaration': {
      const whole = textOf(node.start, node.end);
      return whole.length <= MAX_SIGNATURE ? whole : `${textOf(node.start, node.typeAnnotation.start)} …`;
    }
    default:
      return textOf(node.start, node.end);
  }
}
