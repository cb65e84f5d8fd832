import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Statement } from 'oxc-parser';
import { exportedNames, parseModule } from '../structure/module-syntax.ts';

/** A name that a package exports. */
export interface PublicName {
  readonly kind: 'type' | 'value';
  readonly name: string;
}

/**
 * Returns the exports of the installed `@google/adk`, read from its declarations, sorted. A class or an enumeration
 * that is exported as a type counts as a type.
 */
export function installedAdkNames(): PublicName[] {
  const manifest = createRequire(import.meta.url).resolve('@google/adk/package.json');
  return sorted(namesOf(join(dirname(manifest), 'dist/types/index.d.ts')));
}

/** Returns the exports of the other entries of the installed `@google/adk`, such as `@google/adk/a2a`. */
export function namesOfOtherEntries(): PublicName[] {
  const manifest = createRequire(import.meta.url).resolve('@google/adk/package.json');
  const { exports } = JSON.parse(readFileSync(manifest, 'utf8')) as {
    readonly exports: Readonly<Record<string, { readonly types?: string }>>;
  };
  const types = Object.entries(exports).flatMap(([entry, files]) =>
    files.types === undefined || entry === '.' || entry.includes('*') ? [] : [files.types],
  );
  return sorted(types.flatMap((path) => namesOf(join(dirname(manifest), path))));
}

/**
 * Returns the exports of an entry file and of the modules that it exports with a star. Declarations without a value are
 * types.
 */
function namesOf(path: string): PublicName[] {
  const file = { path, text: readFileSync(path, 'utf8') };
  const { module, program } = parseModule(file);
  const declaredTypes = new Set(program.body.flatMap(declaredType));
  const stars = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ exportName, moduleRequest }) =>
      exportName.kind === 'None' && moduleRequest ? [join(dirname(path), sourceOf(moduleRequest.value))] : [],
    ),
  );
  const own = exportedNames(file).flatMap(({ kind, name }) => (name === undefined ? [] : [{ kind, name }]));
  // In a declaration file every declaration counts as a type.
  const isDeclared = new Set(program.body.flatMap(declaredName));
  const named = own.map(({ kind, name }): PublicName =>
    isDeclared.has(name) ? { kind: declaredTypes.has(name) ? 'type' : 'value', name } : { kind, name },
  );
  return [...named, ...stars.flatMap(namesOf)];
}

/** Returns the name of an exported declaration. */
function declaredName(statement: Statement): string[] {
  const declaration = statement.type === 'ExportNamedDeclaration' ? statement.declaration : null;
  if (!declaration) return [];
  const { id } =
    declaration.type === 'VariableDeclaration' ? (declaration.declarations[0] ?? { id: null }) : declaration;
  return id && 'name' in id && typeof id.name === 'string' ? [id.name] : [];
}

/** Returns the name of an exported interface or type alias. */
function declaredType(statement: Statement): string[] {
  const kind = statement.type === 'ExportNamedDeclaration' ? statement.declaration?.type : undefined;
  return kind === 'TSInterfaceDeclaration' || kind === 'TSTypeAliasDeclaration' ? declaredName(statement) : [];
}

function sourceOf(specifier: string): string {
  return specifier.replace(/\.js$/, '.d.ts');
}

function sorted(names: readonly PublicName[]): PublicName[] {
  const byName = new Map<string, PublicName>();
  for (const each of names) if (byName.get(each.name)?.kind !== 'value') byName.set(each.name, each);
  return [...byName.values()].toSorted((one, other) => (one.name.toLowerCase() < other.name.toLowerCase() ? -1 : 1));
}

/** Returns the names that one of our entry files exports, by the comment above their export. */
export function groupedNames(path: string): ReadonlyMap<string, readonly PublicName[]> {
  const file = { path, text: readFileSync(path, 'utf8') };
  const { comments, module, program } = parseModule(file);
  const groups = new Map<string, PublicName[]>();
  let group = '';
  for (const { start } of program.body) {
    const above = comments.find(({ type, end }) => type === 'Line' && file.text.slice(end, start) === '\n');
    group = above?.value.trim() ?? group;
    const found = module.staticExports.filter((each) => each.start === start).flatMap(({ entries }) => entries);
    const names = found.map(({ exportName, isType }) => ({
      kind: isType ? ('type' as const) : ('value' as const),
      name: exportName.name ?? '',
    }));
    groups.set(group, [...(groups.get(group) ?? []), ...names]);
  }
  return groups;
}
