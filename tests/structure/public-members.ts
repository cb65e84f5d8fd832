import type { Class, TSInterfaceDeclaration } from 'oxc-parser';
import { parseModule } from './module-syntax.ts';
import type { SourceFile } from './repository.ts';

/** A member of a class or an interface that editors offer after a dot. */
interface Member {
  readonly name: string;
  readonly hasDocstring: boolean;
}

interface Declaration {
  readonly path: string;
  readonly members: readonly Member[];
  /** Names of the types that it extends and implements. */
  readonly bases: readonly string[];
}

/** Declarations by name. A class of `eventloom` takes precedence over the class of the same name that it extends. */
export type Declarations = ReadonlyMap<string, Declaration>;

/** Reads the exported classes and interfaces of source files. The first declaration of a name is used. */
export function readDeclarations(files: readonly SourceFile[]): Declarations {
  const declarations = new Map<string, Declaration>();
  for (const file of files) {
    for (const statement of parseModule(file).program.body) {
      const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : null;
      if (declared?.type !== 'ClassDeclaration' && declared?.type !== 'TSInterfaceDeclaration') continue;
      if (!declared.id || declarations.has(declared.id.name)) continue;
      declarations.set(declared.id.name, {
        path: file.path,
        members: membersOf(declared, file.text),
        bases: basesOf(declared, file.text),
      });
    }
  }
  return declarations;
}

/**
 * Returns public members of the named types, and of their bases, without a docstring of their own or of a base: `path:
 * Type.member`.
 */
export function withoutDocstring(names: readonly string[], declarations: Declarations): string[] {
  const missing = new Set<string>();
  const visited = new Set<string>();
  const pending = [...names];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    const declaration = declarations.get(name);
    if (!declaration || visited.has(name)) continue;
    visited.add(name);
    pending.push(...declaration.bases);
    for (const member of declaration.members) {
      if (!isDescribed(name, member.name, declarations)) missing.add(`${declaration.path}: ${name}.${member.name}`);
    }
  }
  return [...missing].toSorted();
}

/** True if the member or that of a base has a docstring: editors show the docstring of a base for a member that overrides one. */
function isDescribed(type: string, member: string, declarations: Declarations): boolean {
  const declaration = declarations.get(type);
  if (!declaration) return false;
  return (
    declaration.members.some(({ name, hasDocstring }) => name === member && hasDocstring) ||
    declaration.bases.some((base) => base !== type && isDescribed(base, member, declarations))
  );
}

/**
 * Returns the members without constructors, private ones, and those whose name is computed or marks copies of a package
 * (`'~eventloom…'`).
 */
function membersOf({ body }: Class | TSInterfaceDeclaration, text: string): Member[] {
  return body.body.flatMap((member) => {
    if (!('key' in member) || member.key.type !== 'Identifier' || ('computed' in member && member.computed)) return [];
    if ('accessibility' in member && member.accessibility === 'private') return [];
    if ('kind' in member && (member.kind === 'constructor' || member.kind === 'set')) return [];
    const hasDocstring = /\*\/\s*$/.test(text.slice(0, member.start));
    return [{ name: member.key.name, hasDocstring }];
  });
}

function basesOf(declared: Class | TSInterfaceDeclaration, text: string): string[] {
  const nodes =
    declared.type === 'TSInterfaceDeclaration'
      ? declared.extends.map(({ expression }) => expression)
      : [declared.superClass ?? [], declared.implements?.map(({ expression }) => expression) ?? []].flat();
  return nodes.map(({ start, end }) => text.slice(start, end));
}
