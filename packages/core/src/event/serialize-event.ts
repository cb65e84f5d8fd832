import { InvalidRequestError } from '../errors.ts';
import type { Event } from './event.ts';

/** Options that select the fields to write. Paths are dotted and reach through lists: `content.parts.inlineData`. */
export interface SerializeEventOptions {
  /** Only these paths (and what leads to them). */
  readonly include?: readonly string[];
  /** All but these paths. Applied after `include`. */
  readonly exclude?: readonly string[];
  /** Indentation, as in `JSON.stringify`. */
  readonly indent?: number;
}

/** Returns an event as JSON text. Omits optional fields that are null or empty; always writes `stateDelta` and `artifactDelta`. */
export function serializeEvent(event: Event, options: SerializeEventOptions = {}): string {
  const { include, exclude, indent } = options;
  let value: unknown = isTidy(event) ? event : tidy(event);
  if (include?.length) value = pick(value, pathTree(include, 'include'));
  if (exclude?.length) value = omit(value, pathTree(exclude, 'exclude'));
  return JSON.stringify(value, null, indent);
}

/** True if `JSON.stringify` of the event is its wire form, which holds for nearly every event of the runtime. */
function isTidy(event: Event): boolean {
  const { actions } = event;
  if (!actions?.stateDelta || !actions.artifactDelta) return false;
  for (const key in event) {
    const value = event[key as keyof Event];
    if (typeof value === 'object' && key !== 'actions' && isBlank(value)) return false;
  }
  for (const key in actions) {
    if (key === 'stateDelta' || key === 'artifactDelta') continue;
    if (isBlank(actions[key as keyof Event['actions']])) return false;
  }
  return true;
}

function tidy(event: Event): Record<string, unknown> {
  const { stateDelta, artifactDelta, ...signals } = event.actions ?? {};
  return {
    ...withoutBlanks(event),
    actions: { ...withoutBlanks(signals), stateDelta: stateDelta ?? {}, artifactDelta: artifactDelta ?? {} },
  };
}

function withoutBlanks(value: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined && !isBlank(item)));
}

/** True for null, an empty list and an empty object, which as optional fields mean the same as an absent field. */
function isBlank(value: unknown): boolean {
  if (typeof value !== 'object') return false;
  if (Array.isArray(value)) return value.length === 0;
  for (const _key in value) return false;
  return true;
}

/** Paths as a tree. A leaf selects everything below it. */
type PathTree = Map<string, PathTree>;

function pathTree(paths: readonly string[], option: string): PathTree {
  const root: PathTree = new Map();
  for (const path of paths) {
    const segments = path.split('.');
    if (segments.includes(''))
      throw new InvalidRequestError(`${option}: "${path}" is not a dotted path like content.parts.text`);
    addPath(root, segments);
  }
  return root;
}

function addPath(root: PathTree, segments: readonly string[]): void {
  let node = root;
  for (const [at, segment] of segments.entries()) {
    let next = node.get(segment);
    if (next?.size === 0) return;
    if (!next || at === segments.length - 1) {
      next = new Map();
      node.set(segment, next);
    }
    node = next;
  }
}

function pick(value: unknown, tree: PathTree): unknown {
  if (tree.size === 0 || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => pick(item, tree));
  const entries = Object.entries(value).flatMap(([key, item]) => {
    const below = tree.get(key);
    return below ? [[key, pick(item, below)] as const] : [];
  });
  return Object.fromEntries(entries);
}

function omit(value: unknown, tree: PathTree): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => omit(item, tree));
  const entries = Object.entries(value).flatMap(([key, item]) => {
    const below = tree.get(key);
    if (!below) return [[key, item] as const];
    return below.size === 0 ? [] : [[key, omit(item, below)] as const];
  });
  return Object.fromEntries(entries);
}
