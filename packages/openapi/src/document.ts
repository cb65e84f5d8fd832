import { toError } from '@eventloom/core';
import { describeKind, isRecord, requireAdvice } from '@eventloom/core/internal';
import { OpenApiDocumentError } from './errors.ts';

/** A value of the document, and its place as a JSON pointer: `#/paths/~1pets/get`. */
export interface Located {
  readonly value: unknown;
  readonly pointer: string;
}

/** An object of the document, and its place. */
export interface LocatedRecord {
  readonly value: Readonly<Record<string, unknown>>;
  readonly pointer: string;
}

/** Maximum nesting depth of a document. A deeper one could overflow the stack of recursive readers. */
const MAX_LEVELS = 200;

/** An OpenAPI document of version 3.0 or 3.1, whose references can be followed. */
export class OpenApiDocument {
  readonly root: LocatedRecord;
  /** True for version 3.0, whose schemas differ from JSON Schema. */
  readonly isVersion30: boolean;

  /** @throws OpenApiDocumentError for another version, more than 200 levels, an object that contains itself, and the name `__proto__` */
  constructor(value: unknown) {
    if (!isRecord(value))
      throw new OpenApiDocumentError('#', `expected an object, got ${describeKind(value)}; give the whole document`);
    const { openapi, swagger } = value;
    if (typeof openapi !== 'string' || !/^3\.[01](\.|$)/.test(openapi)) {
      throw new OpenApiDocumentError(
        swagger === undefined ? '#/openapi' : '#/swagger',
        `expected version 3.0 or 3.1, got ${shown(openapi ?? swagger)}; convert the document to OpenAPI 3.1`,
      );
    }
    checkStructure(value);
    this.root = { value, pointer: '#' };
    this.isVersion30 = openapi.startsWith('3.0');
  }

  /**
   * Returns the value that references lead to; the value itself if it is not a reference.
   * @throws OpenApiDocumentError for a reference to another file, to nothing, or back to itself
   */
  follow(start: Located): Located {
    const followed = new Set<string>();
    let at = start;
    for (let ref = referenceOf(at.value); ref !== undefined; ref = referenceOf(at.value)) {
      if (followed.has(ref))
        throw new OpenApiDocumentError(
          `${at.pointer}/$ref`,
          `${quote(ref)} leads back to itself; refer to a definition that is not a reference`,
        );
      followed.add(ref);
      at = this.#find(ref, `${at.pointer}/$ref`);
    }
    return at;
  }

  /** Follows references to an object. @throws OpenApiDocumentError for another value, and like `follow` */
  followToRecord(start: Located): LocatedRecord {
    const { value, pointer } = this.follow(start);
    if (!isRecord(value)) throw new OpenApiDocumentError(pointer, `expected an object, got ${describeKind(value)}`);
    return { value, pointer };
  }

  #find(ref: string, from: string): Located {
    if (ref !== '#' && !ref.startsWith('#/'))
      throw new OpenApiDocumentError(
        from,
        `${quote(ref)} is outside of the document; put all files into one document, and write "#/components/…"`,
      );
    let at: Located = this.root;
    for (const segment of ref.split('/').slice(1)) {
      const key = unescapeSegment(segment);
      const { value } = at;
      const isThere =
        typeof value === 'object' &&
        value !== null &&
        Object.hasOwn(value, key) &&
        (!Array.isArray(value) || /^\d+$/.test(key));
      if (!isThere)
        throw new OpenApiDocumentError(
          from,
          `${quote(ref)} is not in the document; correct the reference, or add the definition`,
        );
      at = below(at, key);
    }
    return at;
  }
}

/** Returns the value of a key, which may be undefined, and its place. */
export function below({ value, pointer }: Located, key: string | number): Located {
  const held =
    typeof value === 'object' && value !== null && Object.hasOwn(value, key)
      ? (value as Record<string | number, unknown>)[key]
      : undefined;
  return { value: held, pointer: `${pointer}/${escapeSegment(String(key))}` };
}

/** Returns the entries of an object, or none if the value is absent. @throws OpenApiDocumentError for another value */
export function entriesBelow(at: Located): readonly (readonly [string, Located])[] {
  if (at.value === undefined) return [];
  if (!isRecord(at.value))
    throw new OpenApiDocumentError(at.pointer, `expected an object, got ${describeKind(at.value)}`);
  return Object.keys(at.value).map((key) => [key, below(at, key)]);
}

/** Returns the items of a list, or none if the value is absent. @throws OpenApiDocumentError for another value */
export function itemsBelow(at: Located): readonly Located[] {
  if (at.value === undefined) return [];
  if (!Array.isArray(at.value))
    throw new OpenApiDocumentError(at.pointer, `expected a list, got ${describeKind(at.value)}`);
  return at.value.map((_, index) => below(at, index));
}

/** Returns the text of a key; undefined if it is absent. @throws OpenApiDocumentError for another value */
export function textBelow(at: Located, key: string): string | undefined {
  const { value, pointer } = below(at, key);
  if (value === undefined || typeof value === 'string') return value;
  throw new OpenApiDocumentError(pointer, `expected a string, got ${describeKind(value)}`);
}

/** Returns the target of a reference; undefined for other values. */
export function referenceOf(value: unknown): string | undefined {
  if (!isRecord(value) || !Object.hasOwn(value, '$ref')) return undefined;
  const { $ref } = value;
  return typeof $ref === 'string' ? $ref : undefined;
}

function escapeSegment(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

function unescapeSegment(segment: string): string {
  let decoded = segment;
  try {
    decoded = decodeURIComponent(segment);
  } catch {
    // A percent sign that does not begin an encoded character is kept.
  }
  return decoded.replaceAll('~1', '/').replaceAll('~0', '~');
}

function quote(text: string): string {
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text);
}

/** Returns the beginning of a value as JSON, for error messages. */
export function shown(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 40);
}

/** Refuses values that readers of the document cannot handle. Visits every object once. */
function checkStructure(root: object): void {
  /** Levels below each visited object; -1 while it is being visited. */
  const levels = new Map<object, number>();
  const path: string[] = [];
  const fault = (message: string): never => {
    throw new OpenApiDocumentError(['#', ...path.slice(0, 12).map(escapeSegment)].join('/'), message);
  };
  const visit = (value: object): number => {
    const known = levels.get(value);
    if (known === -1) fault('contains itself; refer to a definition with $ref');
    if (known !== undefined) {
      if (path.length + known > MAX_LEVELS) fault(`has more than ${MAX_LEVELS} levels`);
      return known;
    }
    if (path.length >= MAX_LEVELS) fault(`has more than ${MAX_LEVELS} levels`);
    levels.set(value, -1);
    let deepest = 0;
    for (const key of Object.keys(value)) {
      const held = (value as Record<string, unknown>)[key];
      path.push(key);
      if (key === '__proto__') fault('the name "__proto__" cannot be used; rename it');
      if (typeof held === 'object' && held !== null) deepest = Math.max(deepest, visit(held) + 1);
      path.pop();
    }
    levels.set(value, deepest);
    return deepest;
  };
  visit(root);
}

/** Loads the YAML reader, which is an optional peer. */
async function loadYaml(): Promise<typeof import('yaml')> {
  return import('yaml').catch((cause: unknown) => {
    const advice = requireAdvice(cause);
    const fault = advice
      ? `cannot be loaded: ${toError(cause).message}${advice}`
      : 'is not installed; run "npm install yaml"';
    throw new OpenApiDocumentError(
      '#',
      `the text is YAML, and the package "yaml" ${fault}, or write the document as JSON`,
      { cause },
    );
  });
}

/** Parses the JSON text of an OpenAPI document. @throws OpenApiDocumentError if the text is not JSON, or not an OpenAPI document */
export function parseJsonDocument(text: string): OpenApiDocument {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new OpenApiDocumentError('#', `is not JSON: ${toError(cause).message.slice(0, 200)}`, { cause });
  }
  return new OpenApiDocument(value);
}

/** Parses YAML. Rejects with OpenApiDocumentError, also if the package `yaml` is not installed. */
export async function parseYamlDocument(text: string): Promise<OpenApiDocument> {
  const { isScalar, parseDocument, visit } = await loadYaml();
  const refused = (message: string, cause?: unknown): never => {
    throw new OpenApiDocumentError('#', `is not YAML: ${message.slice(0, 200)}`, { cause });
  };
  // The parser's own search for repeated keys takes quadratic time.
  const parsed = parseDocument(text, { logLevel: 'silent', uniqueKeys: false });
  const [error] = parsed.errors;
  if (error) refused(error.message, error);
  visit(parsed, {
    Map(_, { items }) {
      const keys = new Set<unknown>();
      for (const { key } of items) {
        const name: unknown = isScalar(key) ? key.value : key;
        if (keys.has(name)) refused(`the key ${JSON.stringify(name)} appears twice in one object`);
        keys.add(name);
      }
    },
  });
  try {
    return new OpenApiDocument(parsed.toJS());
  } catch (cause) {
    if (OpenApiDocumentError.isInstance(cause)) throw cause;
    return refused(toError(cause).message, cause);
  }
}

/** True for text that can only be JSON: it starts with a brace. */
export function looksLikeJson(text: string): boolean {
  return /^\s*\{/.test(text.slice(0, 1000));
}
