import type { Node } from 'oxc-parser';
import { docstringAbove, findDeclaration, type Declaration } from './declarations.ts';
import type { SourceFile, Workspace } from './repository.ts';
import { codeSpan, sentencesOf, shortened, withoutComments } from './source-text.ts';

/** A member of an interface, an object type or a class, as the reference shows it. */
export interface ReferenceMember {
  /** The name with the type, or with the parameters and the result, in one line. */
  readonly signature: string;
  /** The first paragraph of the docstring of the member, or of a base that has the member; empty if there is none. */
  readonly summary: string;
}

/** The members of a name. */
export interface ReferenceMembers {
  readonly own: readonly ReferenceMember[];
  /** Bases whose members are the name's too and are shown elsewhere, as Markdown. */
  readonly inherited: readonly string[];
}

/** Returns a link to the members of a declaration, or undefined if no page shows them. */
export type LinkOf = (declaration: Declaration) => string | undefined;

interface Member {
  /** Distinguishes the members of a type; overloads, and the two accessors of a property, have the same key. */
  readonly key: string;
  readonly signature: string;
  readonly docstring: string | undefined;
}

interface Base {
  readonly text: string;
  /** The type whose members these are: of `Omit<A, 'b'>` it is `A`. Undefined for a type of a foreign library. */
  readonly declaration: Declaration | undefined;
  /** `part` for a base that has only some of the members of the declaration, such as `Omit<A, 'b'>`. */
  readonly via: 'extends' | 'implements' | 'part';
}

const MAX_TYPE = 80;
const MAX_PARAMETERS = 60;

/**
 * Returns the public members of an interface, a class, an object type or a long union. Members of a base that no page shows are returned as
 * the type's own. Left out are private members, those marked `@internal`, and those that only implement what a shown base describes.
 * Undefined if nothing is left.
 */
export function membersOf(
  declaration: Declaration,
  packages: readonly Workspace[],
  linkOf: LinkOf,
): ReferenceMembers | undefined {
  const own = new Map<string, ReferenceMember>();
  const inherited = new Set<string>();
  const isClass = declaration.node.type === 'ClassDeclaration';
  const visit = (type: Declaration): void => {
    const all = basesOf(type, packages);
    const bases = all.filter(({ via }) => via !== 'implements');
    const shown = bases.filter((base) => base.declaration && linkOf(base.declaration) !== undefined);
    for (const { key, signature, docstring } of declaredMembers(type)) {
      const text = docstring ?? docstringIn(all, key, packages);
      if (own.has(key) || isInternal(text)) continue;
      if (isClass && docstring === undefined && docstringIn(shown, key, packages) !== undefined) continue;
      const summary = sentencesOf(text).join(' ');
      // The line of the class has the parameters.
      if (key !== 'constructor' || summary !== '') own.set(key, { signature, summary });
    }
    for (const { text, declaration: base, via } of bases) {
      const link = base && linkOf(base);
      if (link !== undefined) inherited.add(`[${codeSpan(text)}](${link})`);
      else if (base && via === 'extends') visit(base);
      else if (!isClass) inherited.add(codeSpan(text));
    }
  };
  visit(declaration);
  return own.size === 0 && (isClass || inherited.size === 0)
    ? undefined
    : { own: [...own.values()], inherited: [...inherited] };
}

function isInternal(docstring: string | undefined): boolean {
  return docstring !== undefined && /(?:^|\s)@internal\b/.test(docstring);
}

/** Returns the docstring of a member in the nearest base that has one, as editors show it. */
function docstringIn(bases: readonly Base[], key: string, packages: readonly Workspace[]): string | undefined {
  for (const { declaration } of bases) {
    if (!declaration) continue;
    const member = declaredMembers(declaration).find((candidate) => candidate.key === key);
    const docstring = member?.docstring ?? docstringIn(basesOf(declaration, packages), key, packages);
    if (docstring !== undefined) return docstring;
  }
  return undefined;
}

const declared = new WeakMap<Declaration, readonly Member[]>();

/** Returns the members in the body of a declaration, without private ones. */
function declaredMembers(declaration: Declaration): readonly Member[] {
  const known = declared.get(declaration);
  if (known) return known;
  const members = memberNodes(declaration.node).flatMap((node) => toMember(node, declaration.file) ?? []);
  declared.set(declaration, members);
  return members;
}

function memberNodes(node: Node): readonly Node[] {
  switch (node.type) {
    case 'ClassDeclaration':
    case 'TSInterfaceDeclaration':
      return node.body.body;
    case 'TSTypeAliasDeclaration':
      return memberNodes(node.typeAnnotation);
    case 'TSTypeLiteral':
      return node.members;
    case 'TSIntersectionType':
      return node.types.flatMap(memberNodes);
    case 'TSUnionType':
      return node.types.some(({ type }) => type === 'TSTypeLiteral') ? node.types : [];
    default:
      return [];
  }
}

function toMember(node: Node, file: SourceFile): Member | undefined {
  const docstring = docstringAbove(node, file);
  const textOf = ({ start, end }: Node): string => withoutComments(file.text.slice(start, end));
  const short = (part: Node | null | undefined): string => (part ? shortened(textOf(part), MAX_TYPE) : '');
  const callOf = ({ typeParameters, params, returnType }: Callable): string =>
    `${short(typeParameters)}${parameterList(params, textOf)}${short(returnType)}`;
  switch (node.type) {
    case 'MethodDefinition':
    case 'TSAbstractMethodDefinition': {
      const name = publicName(node, textOf);
      const isProperty = node.kind === 'get' || node.kind === 'set';
      return (
        name && {
          ...name,
          signature: name.key + (isProperty ? short(node.value.returnType) : callOf(node.value)),
          docstring,
        }
      );
    }
    case 'TSMethodSignature': {
      const name = publicName(node, textOf);
      return name && { ...name, signature: `${name.key}${node.optional ? '?' : ''}${callOf(node)}`, docstring };
    }
    case 'PropertyDefinition':
    case 'AccessorProperty':
    case 'TSAbstractPropertyDefinition':
    case 'TSAbstractAccessorProperty':
    case 'TSPropertySignature': {
      const name = publicName(node, textOf);
      const value = 'value' in node && node.value?.type === 'Literal' ? ` = ${short(node.value)}` : '';
      const type = `${node.typeAnnotation ? textOf(node.typeAnnotation) : ''}${value}`;
      // An optional property may be undefined too, in all packages.
      const shown = 'optional' in node && node.optional ? `?${type.replace(/ \| undefined$/, '')}` : type;
      return name && { ...name, signature: `${name.key}${shortened(shown, MAX_TYPE)}`, docstring };
    }
    case 'StaticBlock':
      return undefined;
    default: {
      // An index or call signature, or a type of a union.
      const text = textOf(node).replace(/;$/, '');
      return { key: text, signature: shortened(text, 2 * MAX_TYPE), docstring };
    }
  }
}

interface Callable {
  readonly typeParameters?: Node | null;
  readonly params: readonly Node[];
  readonly returnType?: Node | null;
}

interface Named {
  readonly key: Node;
  readonly computed: boolean;
  readonly static?: boolean;
  readonly accessibility?: 'private' | 'protected' | 'public' | null;
}

/** Returns the name with `static` or `protected`; undefined for a private one, and for one that marks the copies of a package (`'~…'`). */
function publicName(
  { key, computed, static: isStatic, accessibility }: Named,
  textOf: (node: Node) => string,
): { readonly key: string } | undefined {
  const text = textOf(key);
  if (key.type === 'PrivateIdentifier' || accessibility === 'private' || /^['"]~/.test(text)) return undefined;
  if (computed && !text.startsWith('Symbol.')) return undefined;
  const prefix = `${accessibility === 'protected' ? 'protected ' : ''}${isStatic ? 'static ' : ''}`;
  return { key: `${prefix}${computed ? `[${text}]` : text}` };
}

/** Returns parameters with their types, or only their names if that is long. */
export function parameterList(parameters: readonly Node[], textOf: (node: Node) => string): string {
  const texts = parameters.map(textOf);
  const whole = `(${texts.join(', ')})`;
  if (whole.length <= MAX_PARAMETERS) return whole;
  return `(${texts.map((text) => /^(?:\.\.\.)?[\w$]+\??(?=\s*[:=]|$)/.exec(text)?.[0] ?? '{ … }').join(', ')})`;
}

function basesOf({ name, node, file }: Declaration, packages: readonly Workspace[]): Base[] {
  const toBase = (base: Node, via: Base['via']): Base => {
    const text = withoutComments(file.text.slice(base.start, base.end));
    const [, operator, type = ''] = /^(?:(Omit|Partial|Pick|Readonly|Required)<)?(\w+)/.exec(text) ?? [];
    const declaration = type === name ? undefined : findDeclaration(type, file.path, packages);
    return { text, declaration, via: operator === undefined ? via : 'part' };
  };
  switch (node.type) {
    case 'ClassDeclaration': {
      const bases = node.superClass ? [toBase(node.superClass, 'extends')] : [];
      return [...bases, ...(node.implements ?? []).map((type) => toBase(type, 'implements'))];
    }
    case 'TSInterfaceDeclaration':
      return node.extends.map((type) => toBase(type, 'extends'));
    case 'TSTypeAliasDeclaration': {
      const { typeAnnotation: type } = node;
      const parts = type.type === 'TSIntersectionType' ? type.types : [];
      return parts.filter((part) => part.type === 'TSTypeReference').map((part) => toBase(part, 'extends'));
    }
    default:
      return [];
  }
}
