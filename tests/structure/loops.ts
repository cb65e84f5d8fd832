import { parseModule } from './module-syntax.ts';
import type { SourceFile } from './repository.ts';

/** A step of a loop whose time grows with what the loop has read or made so far, so that the whole loop takes quadratic time. */
export interface SlowStep {
  readonly path: string;
  /** The source text of the statement or call, with single spaces. */
  readonly text: string;
  readonly reason: string;
}

/** A step that the check rejects, and the reason why it is harmless: for example, the list is short. */
export interface AllowedStep {
  readonly path: string;
  /** Beginning of the step in the source. Default: all steps of the file. */
  readonly text?: string;
  readonly reason: string;
}

/** The used properties of a node of the syntax tree. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** Methods of lists that call their argument for each element. */
const LOOPING = new Set([
  'every',
  'filter',
  'find',
  'findIndex',
  'findLast',
  'findLastIndex',
  'flatMap',
  'forEach',
  'map',
  'reduce',
  'some',
]);
/** Methods that search a list from its beginning. */
const SEARCHING = new Set([
  'find',
  'findIndex',
  'findLast',
  'findLastIndex',
  'includes',
  'indexOf',
  'lastIndexOf',
  'some',
]);

const stepsOf = new WeakMap<SourceFile, SlowStep[]>();

/**
 * Returns the slow steps in the loops of a file: text that is cut from the front, an element that is taken from or put
 * at the front of a list, a list or an object that is copied to add to it, and a search of the list that the loop
 * fills. Loops are statements and the callbacks of list methods. The check knows a list by its name, so it does not see
 * a list under another name, or a loop in a function that is called in a loop.
 */
export function slowSteps(file: SourceFile): SlowStep[] {
  const steps = stepsOf.get(file) ?? findSteps(file);
  stepsOf.set(file, steps);
  return steps;
}

function findSteps(file: SourceFile): SlowStep[] {
  const steps: SlowStep[] = [];
  const textOf = (node: Node): string => file.text.slice(node.start, node.end).replaceAll(/\s+/g, ' ');
  const report = (node: Node, reason: string): void => void steps.push({ path: file.path, text: textOf(node), reason });

  const visit = (value: unknown, loop: Node | undefined): void => {
    if (Array.isArray(value)) for (const each of value) visit(each, loop);
    if (!isNode(value)) return;
    const method = methodOf(value);
    if (loop) {
      if (value.type === 'AssignmentExpression') checkAssignment(value);
      if (method) checkCall(value, method, loop);
    }
    if (method && LOOPING.has(method.name)) {
      visit(value['callee'], loop);
      for (const argument of value['arguments'] as Node[]) visit(argument, isFunction(argument) ? value : loop);
      return;
    }
    const inner = /^(?:For|While|DoWhile)/.test(value.type) ? value : loop;
    for (const key of Object.keys(value)) visit(value[key], inner);
  };

  const checkAssignment = (node: Node): void => {
    const { left, right, operator } = node as Node & { left: Node; right: Node; operator: string };
    if (operator !== '=') return;
    const name = textOf(left);
    const made = textOf(right);
    if (['slice', 'substring', 'substr'].some((cut) => made.startsWith(`${name}.${cut}(`)))
      report(node, 'cuts what is left');
    const isCopy = [`[...${name},`, `{ ...${name},`, `${name}.concat(`].some((copy) => made.startsWith(copy));
    if (isCopy || made.endsWith(`, ...${name}]`)) report(node, 'copies what was gathered');
  };

  const checkCall = (node: Node, { name, owner }: Method, loop: Node): void => {
    if (name === 'shift' || name === 'unshift' || (name === 'splice' && (node['arguments'] as Node[]).length > 1))
      report(node, 'moves the rest of the list');
    const list = textOf(owner);
    if (SEARCHING.has(name) && textOf(loop).includes(`${list}.push(`))
      report(node, 'searches the list that the loop fills');
  };

  visit(parseModule(file).program, undefined);
  return steps;
}

/** Describes the slow steps of the files, without those that are allowed. */
export function slowLoops(files: readonly SourceFile[], allowed: readonly AllowedStep[] = []): string[] {
  return files
    .flatMap(slowSteps)
    .filter((step) => !allowed.some((entry) => isMeant(entry, step)))
    .map(({ path, text, reason }) => `${path}: in a loop, ${text} ${reason}`);
}

/** Lists the unused entries of the allow-list. */
export function unusedSteps(files: readonly SourceFile[], allowed: readonly AllowedStep[]): AllowedStep[] {
  const steps = files.flatMap(slowSteps);
  return allowed.filter((entry) => !steps.some((step) => isMeant(entry, step)));
}

function isMeant({ path, text = '' }: AllowedStep, step: SlowStep): boolean {
  return path === step.path && step.text.startsWith(text);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

function isFunction({ type }: Node): boolean {
  return type === 'ArrowFunctionExpression' || type === 'FunctionExpression';
}

interface Method {
  readonly name: string;
  readonly owner: Node;
}

/** Returns the method that a node calls, and its object; undefined for any other node. */
function methodOf(node: Node): Method | undefined {
  if (node.type !== 'CallExpression') return undefined;
  const callee = node['callee'] as Node;
  if (callee.type !== 'MemberExpression') return undefined;
  const { name } = callee['property'] as { readonly name?: unknown };
  return typeof name === 'string' ? { name, owner: callee['object'] as Node } : undefined;
}
