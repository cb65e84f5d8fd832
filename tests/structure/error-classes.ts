import { Visitor, type Class } from 'oxc-parser';
import { parseModule } from './module-syntax.ts';
import { isTestFile, type SourceFile } from './repository.ts';

/** The properties of an error class that the rules need. */
export interface ErrorClass {
  readonly path: string;
  readonly name: string;
  readonly parent: string | undefined;
  /** The literal of `static readonly code`, if the class has one. */
  readonly code: string | undefined;
  readonly hasIsInstance: boolean;
}

const base = 'EventloomError';

/** Returns the classes in `errors.ts` files, and all others that extend an error. */
export function errorClasses(files: readonly SourceFile[]): ErrorClass[] {
  return files
    .filter(
      ({ path, text }) => !isTestFile(path) && /\bclass\b/.test(text) && (isErrorFile(path) || /Error\b/.test(text)),
    )
    .flatMap((file) => {
      const found: ErrorClass[] = [];
      new Visitor({ ClassDeclaration: (node) => void found.push(readClass(file.path, node)) }).visit(
        parseModule(file).program,
      );
      return found.filter(({ path, parent }) => isErrorFile(path) || parent?.endsWith('Error'));
    });
}

const isErrorFile = (path: string): boolean => path.endsWith('/errors.ts');

/**
 * Returns the violations of the rule that an error class is in an `errors.ts`, extends the base, and has its own code
 * and `isInstance`.
 */
export function errorContractBreaches(classes: readonly ErrorClass[]): string[] {
  const byName = new Map(classes.map((one) => [one.name, one]));
  const ancestry = (one: ErrorClass): ErrorClass[] => {
    const parent = one.parent === undefined ? undefined : byName.get(one.parent);
    return parent ? [one, ...ancestry(parent)] : [one];
  };
  const breachesOf = (one: ErrorClass): string[] => {
    const line = ancestry(one);
    const breaches: string[] = [];
    if (!isErrorFile(one.path)) breaches.push('is not in errors.ts');
    if (line.at(-1)?.name !== base) breaches.push(`does not descend from ${base}`);
    if (!line.some(({ hasIsInstance }) => hasIsInstance)) breaches.push('has no static isInstance');
    if (one.code === undefined) breaches.push('has no static code of its own');
    else if (!/^[A-Z][A-Z0-9_]*$/.test(one.code)) breaches.push(`has code ${one.code}, not in upper snake case`);
    return breaches;
  };
  return classes.flatMap((one) => breachesOf(one).map((breach) => `${one.name} ${breach}`));
}

/** A row of a page's table of errors: the name and the code of an error, and the package of the heading above it. */
export interface ListedError {
  readonly name: string;
  readonly code: string;
  readonly specifier: string;
}

/**
 * Returns the errors that a page lists: rows such as "| `GoneError` | `GONE` |" below headings such as "| **Runs**
 * (`@eventloom/runner`) |".
 */
export function listedErrors(page: string): ListedError[] {
  let specifier = '';
  return page.split('\n').flatMap((line) => {
    specifier = /^\| \*\*.*?\*\* \(`([^`]+)`\)/.exec(line)?.[1] ?? specifier;
    const [, name, code] = /^\| `(\w+)` \| `([A-Z0-9_]+)` \|/.exec(line) ?? [];
    return name === undefined || code === undefined ? [] : [{ name, code, specifier }];
  });
}

export function sharedErrorCodes(classes: readonly ErrorClass[]): string[] {
  const groups = Map.groupBy(classes, ({ code }) => code);
  return [...groups]
    .filter(([code, users]) => code !== undefined && users.length > 1)
    .map(([code, users]) => `${code}: ${users.map(({ name }) => name).join(', ')}`);
}

/** Returns the places that throw a plain Error, which callers cannot distinguish from others. */
export function bareErrors(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path, text }) => !isTestFile(path) && /\bthrow[\s(]+(?:new\s+)?Error\b/.test(text))
    .flatMap((file) => {
      const found: string[] = [];
      new Visitor({
        ThrowStatement({ argument, start }) {
          const thrown =
            argument.type === 'NewExpression' || argument.type === 'CallExpression' ? argument.callee : undefined;
          if (thrown?.type !== 'Identifier' || thrown.name !== 'Error') return;
          found.push(`${file.path}:${file.text.slice(0, start).split('\n').length}`);
        },
      }).visit(parseModule(file).program);
      return found;
    });
}

function readClass(path: string, { id, superClass, body }: Class): ErrorClass {
  const statics = body.body.flatMap((member) => {
    if (member.type !== 'PropertyDefinition' && member.type !== 'MethodDefinition') return [];
    return member.static && member.key.type === 'Identifier' ? [{ name: member.key.name, value: member.value }] : [];
  });
  const code = statics.find(({ name }) => name === 'code')?.value;
  return {
    path,
    name: id?.name ?? '(no name)',
    parent: superClass?.type === 'Identifier' ? superClass.name : undefined,
    code: code?.type === 'Literal' && typeof code.value === 'string' ? code.value : undefined,
    hasIsInstance: statics.some(({ name }) => name === 'isInstance'),
  };
}
