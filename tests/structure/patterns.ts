import { Visitor } from 'oxc-parser';
import { analyse } from 'scslre';
import { parseModule } from './module-syntax.ts';
import { superLinearWord } from './pattern-steps.ts';
import { isTestFile, type SourceFile } from './repository.ts';

/** A regular expression in a source file. */
export interface Pattern {
  readonly path: string;
  /** The source text: a literal, or the call that creates the expression. */
  readonly text: string;
  /** Undefined if the file does not have the whole pattern as constants. */
  readonly expression: RegExp | undefined;
}

/** A pattern that the check rejects, and the reason why it is harmless: for example, its input is short. */
export interface AllowedPattern {
  readonly path: string;
  /** The source text of one pattern of the file. Default: all of them. */
  readonly text?: string;
  readonly reason: string;
}

/** Returns the files whose patterns may get input from outside: published sources, without those that only tests use. */
export function shippedSources(files: readonly SourceFile[]): SourceFile[] {
  return files.filter(
    ({ path }) =>
      /^(?:packages|apps)\/[^/]+\/src\//.test(path) &&
      !isTestFile(path) &&
      !/\/(?:conformance|process-tests)\/|^packages\/testing\//.test(path),
  );
}

const known = new WeakMap<SourceFile, Pattern[]>();

/** Returns the regular expression literals of a file, and those that it creates with `new RegExp()` and `RegExp()`. */
export function patternsOf(file: SourceFile): readonly Pattern[] {
  const patterns = known.get(file) ?? readPatterns(file);
  known.set(file, patterns);
  return patterns;
}

function readPatterns(file: SourceFile): Pattern[] {
  const { path } = file;
  const patterns: Pattern[] = [];
  const constants = new Map<string, string>();

  const textOf = (node: unknown): string | undefined => {
    if (typeof node !== 'object' || node === null || !('type' in node)) return undefined;
    if (node.type === 'Literal' && 'value' in node) return typeof node.value === 'string' ? node.value : undefined;
    if (node.type === 'Identifier' && 'name' in node) return constants.get(String(node.name));
    if (node.type !== 'TemplateLiteral' || !('quasis' in node) || !('expressions' in node)) return undefined;
    const values = (node.expressions as unknown[]).map(textOf);
    if (values.includes(undefined)) return undefined;
    const quasis = node.quasis as { value: { cooked: string } }[];
    return quasis.map(({ value }, index) => value.cooked + (values[index] ?? '')).join('');
  };
  const add = ({
    callee,
    arguments: args,
    start,
    end,
  }: {
    callee: object;
    arguments: unknown[];
    start: number;
    end: number;
  }): void => {
    if (!('name' in callee) || callee.name !== 'RegExp') return;
    const source = textOf(args[0]);
    const flags = args.length > 1 ? textOf(args[1]) : '';
    const expression = source === undefined || flags === undefined ? undefined : new RegExp(source, flags);
    patterns.push({ path, text: file.text.slice(start, end), expression });
  };

  new Visitor({
    VariableDeclaration({ kind, declarations }) {
      if (kind !== 'const') return;
      for (const { id, init } of declarations) {
        const text = textOf(init);
        if (id.type === 'Identifier' && text !== undefined) constants.set(id.name, text);
      }
    },
    Literal(node) {
      if (!('regex' in node)) return;
      const { pattern, flags } = node.regex;
      patterns.push({ path, text: `/${pattern}/${flags}`, expression: new RegExp(pattern, flags) });
    },
    NewExpression: add,
    CallExpression: add,
  }).visit(parseModule(file).program);
  return patterns;
}

/**
 * Describes why the time of matching can grow faster than the input; undefined when it is linear. A search tries each
 * position of the input in turn, and that counts: it makes the unanchored `/\w+$/` quadratic. The analysis is static
 * for runs of one kind of character. For repetitions of the pattern's own words (`/<a[^b]*b/` on `<a<a<a`), the
 * comparisons of a matcher are counted; words that only fit a class of the pattern are not tried.
 */
export function superLinearPart({ expression }: Pattern): string | undefined {
  if (!expression) return 'not known: make it from constants of its file, or scan without a pattern';
  // A sticky expression is tried only at one position.
  const [report] = analyse(expression, { reportTypes: { Move: !expression.sticky } }).reports;
  if (report)
    return `${report.exponential ? 'exponential' : 'polynomial'} for a long run of ${report.character.literal.source}`;
  const word = superLinearWord(expression);
  return word === undefined ? undefined : `polynomial for repetitions of ${JSON.stringify(word)}`;
}

/** Lists the patterns of the files that are not linear, without those that are allowed. */
export function superLinearPatterns(files: readonly SourceFile[], allowed: readonly AllowedPattern[] = []): string[] {
  return files.flatMap(patternsOf).flatMap((pattern) => {
    if (allowed.some((entry) => isMeant(entry, pattern))) return [];
    const part = superLinearPart(pattern);
    return part === undefined ? [] : [`${pattern.path}: ${pattern.text} is ${part}`];
  });
}

/** Lists the unused entries of the allow-list. */
export function unusedAllowances(files: readonly SourceFile[], allowed: readonly AllowedPattern[]): AllowedPattern[] {
  const patterns = files.flatMap(patternsOf);
  const isUsed = (entry: AllowedPattern): boolean =>
    patterns.some((pattern) => isMeant(entry, pattern) && superLinearPart(pattern) !== undefined);
  return allowed.filter((entry) => !isUsed(entry));
}

function isMeant({ path, text }: AllowedPattern, pattern: Pattern): boolean {
  return path === pattern.path && (text === undefined || text === pattern.text);
}
