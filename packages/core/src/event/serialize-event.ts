import { checkOptions, type OptionRules } from '../agent/options.ts';
import { isRecord } from '../content/json.ts';
import { InvalidRequestError } from '../errors.ts';
import { type Event, notAnEvent } from './event.ts';

/** Options that select the fields to write. Paths are dotted and reach through lists: `content.parts.inlineData`. */
export interface SerializeEventOptions {
  /** Only these paths, with the objects around them. */
  readonly include?: readonly string[];
  /** All but these paths. Applied after `include`. */
  readonly exclude?: readonly string[];
  /** Indentation, as in `JSON.stringify`. */
  readonly indent?: number;
}

const OPTIONS: OptionRules<SerializeEventOptions> = { include: 'list', exclude: 'list', indent: 'number' };

/** Returns an event as JSON text. Omits optional fields that are null or empty; always writes `stateDelta` and `artifactDelta`. */
export function serializeEvent(event: Event, options: SerializeEventOptions = {}): string {
  if (!isRecord(event)) throw notAnEvent('serializeEvent', event);
  checkOptions('serializeEvent', OPTIONS, options);
  const { include, exclude, indent } = options;
  let value: unknown = isTidy(event) ? event : tidy(event);
  if (include?.length) value = pick(value, pathTree(include, 'include'));
  if (exclude?.length) value = omit(value, pathTree(exclude, 'exclude'));
  return JSON.stringify(value, null, indent);
}

/**
 * Writes the streamed chunks of a run as JSON, as `serializeEvent` does. The chunks of a text differ in id, time and
 * text alone: the rest is written once, which takes half of the time.
 */
export class ChunkWriter {
  /** A copy of the fields that the last text chunk should share with the next: a chunk is not frozen. */
  #last: Partial<Event> = {};
  /** The JSON of these fields; undefined until a second chunk has them. */
  #shared: string | undefined;

  write(chunk: Event): string {
    const text = textOf(chunk);
    if (text === undefined) return serializeEvent(chunk);
    if (!sharesFields(chunk, this.#last)) {
      this.#last = { ...chunk };
      this.#shared = undefined;
      return serializeEvent(chunk);
    }
    this.#shared ??= serializeEvent(chunk, { exclude: ['id', 'timestamp', 'content'] }).slice(1);
    const { id, timestamp } = chunk;
    return `{"id":"${id}","timestamp":${timestamp},"content":{"role":"model","parts":[{"text":${JSON.stringify(text)}}]},${this.#shared}`;
  }
}

/** The ids of the runtime, whose JSON is the id in quotation marks. */
const PLAIN_ID = /^[\w-]+$/;

/** Returns the text of a chunk that has one text part of the model and no actions; undefined for any other. */
function textOf({ id, timestamp, content, actions }: Event): string | undefined {
  const part = content?.parts?.[0];
  if (content?.role !== 'model' || content.parts?.length !== 1 || typeof part?.text !== 'string') return undefined;
  if (!PLAIN_ID.test(id) || !Number.isFinite(timestamp)) return undefined;
  for (const key in content) if (key !== 'role' && key !== 'parts') return undefined;
  for (const key in part) if (key !== 'text') return undefined;
  for (const key in actions) if (!isBlank(actions[key as keyof Event['actions']])) return undefined;
  return part.text;
}

/**
 * True if two text chunks have the same fields, and the same values except for id, time, text and the empty actions.
 * Two objects never count as equal.
 */
function sharesFields(chunk: Event, last: Partial<Event>): boolean {
  let more = 0;
  for (const key in chunk) {
    more++;
    if (key === 'id' || key === 'timestamp' || key === 'content' || key === 'actions') continue;
    const value = chunk[key as keyof Event];
    if (value === undefined || typeof value === 'object' || value !== last[key as keyof Event]) return false;
  }
  for (const _key in last) more--;
  return more === 0;
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
