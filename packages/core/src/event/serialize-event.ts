import { InvalidRequestError } from '../errors/invalid-request-error.ts';
import type { Event } from './event.ts';

/** What to write of an event. Paths are dotted and reach through lists: `content.parts.inlineData`. */
export interface SerializeEventOptions {
  /** Only these paths (and what leads to them). */
  readonly include?: readonly string[];
  /** All but these paths. Applied after `include`. */
  readonly exclude?: readonly string[];
  /** As in `JSON.stringify`. */
  readonly indent?: number;
}

/** Top-level lists and objects that are omitted from the wire when empty. */
const OMITTED_WHEN_EMPTY = ['longRunningToolIds', 'tags', 'alternatives', 'customMetadata'] as const;

/** An event as JSON text: null and empty optionals are omitted, both deltas of `actions` always written. */
export function serializeEvent(event: Event, options: SerializeEventOptions = {}): string {
  const { include, exclude, indent } = options;
  let value: unknown = isTidy(event) ? event : tidy(event);
  if (include?.length) value = pick(value, pathTree(include, 'include'));
  if (exclude?.length) value = omit(value, pathTree(exclude, 'exclude'));
  return JSON.stringify(value, null, indent);
}

/** True when `JSON.stringify` of the event is its wire form already, which is so for every event the runtime makes. */
function isTidy(event: Event): boolean {
  for (const key in event) if (event[key as keyof Event] === null) return false;
  for (const key in event.actions) if (event.actions[key as keyof Event['actions']] === null) return false;
  for (const key of OMITTED_WHEN_EMPTY) if (isEmpty(event[key])) return false;
  return event.actions?.stateDelta !== undefined && event.actions.artifactDelta !== undefined;
}

function tidy(event: Event): Record<string, unknown> {
  const tidied: Record<string, unknown> = withoutNulls(event);
  for (const key of OMITTED_WHEN_EMPTY) if (isEmpty(tidied[key])) delete tidied[key];
  tidied['actions'] = {
    ...withoutNulls(event.actions ?? {}),
    stateDelta: event.actions?.stateDelta ?? {},
    artifactDelta: event.actions?.artifactDelta ?? {},
  };
  return tidied;
}

function withoutNulls(value: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null && item !== undefined));
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** Paths as a tree; a leaf is where a path ends. */
type PathTree = Map<string, PathTree>;

function pathTree(paths: readonly string[], option: string): PathTree {
  const root: PathTree = new Map();
  for (const path of paths) {
    const segments = path.split('.');
    if (segments.includes(''))
      throw new InvalidRequestError(`${option}: "${path}" is not a dotted path like content.parts.text`);
    let node = root;
    for (const segment of segments) {
      const next: PathTree = node.get(segment) ?? new Map();
      node.set(segment, next);
      node = next;
    }
  }
  return root;
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
