import { isUtf8 } from 'node:buffer';
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { isAlias, isMap, isScalar, isSeq, LineCounter, type ParsedNode, parseDocument } from 'yaml';

const MAX_BYTES = 256 * 1024;
const MAX_VALUES = 20_000;
const MAX_ALIASES = 100;
const MAX_LEVELS = 32;
/** The name whose mapping gives fields that are not written out, as in YAML 1.1, which adk-python reads. */
const MERGE_KEY = '<<';

/** A value of a YAML file and its line, counted from 1. */
export type ConfigValue =
  | { readonly kind: 'map'; readonly line: number; readonly fields: ReadonlyMap<string, ConfigValue> }
  | { readonly kind: 'list'; readonly line: number; readonly items: readonly ConfigValue[] }
  | { readonly kind: 'scalar'; readonly line: number; readonly value: string | number | boolean | null };

/** A file that was read. Every path to the file gives the same `id`; `path` is for messages. */
export interface AgentFile {
  readonly id: string;
  readonly path: string;
  readonly root: ConfigValue;
}

/** The reason why a file cannot be used. Without a line, the reference to the file is at fault. */
interface AgentFileFault {
  readonly path: string;
  readonly line?: number | undefined;
  readonly fault: string;
}

/** Reads the YAML file at a path that is relative to the folder of another file; without it, to the folder of the first file. */
export type ReadAgentFile = (path: string, from?: AgentFile) => AgentFile | AgentFileFault;

/**
 * Opens the folder of the first file. Its reader reads this file and files below its folder; it follows links, and
 * refuses those that lead out.
 */
export function openAgentFiles(firstPath: string): { readonly first: string; readonly read: ReadAgentFile } {
  const folder = dirname(firstPath);
  const read: ReadAgentFile = (path, from) => {
    if (isAbsolute(path) || path.includes('\0')) return { path, fault: 'is not a relative path; write ./agent.yaml' };
    let shown = join(folder, path);
    try {
      const root = realpathSync(folder);
      const file = resolve(from === undefined ? root : dirname(from.id), path);
      shown = join(folder, relative(root, file));
      if (!isBelow(root, file))
        return {
          path: shown,
          fault: `is outside of the folder ${JSON.stringify(folder)}; move the file into the folder`,
        };
      // The id is the real path, so that a link neither leaves the folder nor hides a cycle.
      const id = realpathSync(file);
      if (!isBelow(root, id))
        return {
          path: shown,
          fault: `leads out of the folder ${JSON.stringify(folder)}; put a copy of the file there`,
        };
      const stat = statSync(id);
      if (!stat.isFile()) return { path: shown, fault: 'is not a file' };
      if (stat.size > MAX_BYTES) return { path: shown, fault: `has more than ${MAX_BYTES} bytes` };
      const parsed = parseConfig(readFileSync(id));
      return 'fault' in parsed ? { path: shown, ...parsed } : { id, path: shown, root: parsed };
    } catch (error) {
      if (!(error instanceof Error) || !('code' in error)) throw error;
      return { path: shown, fault: `cannot be read (${String(error.code)})` };
    }
  };
  return { first: basename(firstPath), read };
}

function isBelow(folder: string, file: string): boolean {
  const path = relative(folder, file);
  return path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}

/** The first fault in a file. */
type ConfigFault = Required<Pick<AgentFileFault, 'line' | 'fault'>>;

/** Reads a YAML document of bounded size, depth and number of values. */
function parseConfig(bytes: Buffer): ConfigValue | ConfigFault {
  if (!isUtf8(bytes)) return { line: 1, fault: 'is not text in UTF-8' };
  const lines = new LineCounter();
  // Names are compared below: the reader would compare each with all others.
  const document = parseDocument(bytes.toString(), {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: false,
    logLevel: 'error',
  });
  const problem = document.errors[0] ?? document.warnings[0];
  // The reader is recursive, and reports so when it has no stack left.
  if (problem?.code === 'RESOURCE_EXHAUSTION')
    return { line: lines.linePos(problem.pos[0]).line, fault: `has more than ${MAX_LEVELS} levels` };
  if (problem?.code === 'MULTIPLE_DOCS')
    return {
      line: lines.linePos(problem.pos[0]).line,
      fault: 'has several documents; write each agent into a file of its own, and name that file with config_path',
    };
  if (problem !== undefined)
    return { line: lines.linePos(problem.pos[0]).line, fault: `is not YAML: ${problem.message.slice(0, 200)}` };
  let values = 0;
  let aliases = 0;
  let found: ConfigFault | undefined;
  const refuse = (line: number, fault: string): ConfigValue => {
    found ??= { line, fault };
    return { kind: 'scalar', line, value: null };
  };

  const read = (node: ParsedNode | null, level: number, parentLine: number): ConfigValue => {
    if (node === null || found) return { kind: 'scalar', line: parentLine, value: null };
    const line = lines.linePos(node.range[0]).line || parentLine;
    values += 1;
    if (values > MAX_VALUES) return refuse(line, `has more than ${MAX_VALUES} values`);
    if (level > MAX_LEVELS) return refuse(line, `has more than ${MAX_LEVELS} levels`);
    if (isAlias(node)) {
      aliases += 1;
      if (aliases > MAX_ALIASES) return refuse(line, `has more than ${MAX_ALIASES} aliases`);
      const anchored = anchors.get(node.source);
      if (anchored === undefined) return refuse(line, 'has an alias inside its own anchor, or without one');
      return remember(node, read(anchored, level + 1, line));
    }
    if (isMap(node)) {
      const fields = new Map<string, ConfigValue>();
      const merged: ConfigValue[] = [];
      for (const { key, value } of node.items) {
        const keyLine = key === null ? line : lines.linePos(key.range[0]).line;
        if (isScalar(key) && key.value === MERGE_KEY && key.type === 'PLAIN') {
          merged.push(read(value, level + 1, keyLine));
          continue;
        }
        if (!isScalar(key) || typeof key.value !== 'string' || key.value === '__proto__')
          return refuse(keyLine, 'expected a name that is text other than __proto__');
        if (fields.has(key.value))
          return refuse(keyLine, `has the name ${JSON.stringify(key.value.slice(0, 80))} twice`);
        fields.set(key.value, read(value, level + 1, keyLine));
      }
      for (const source of merged) merge(source, fields);
      return remember(node, { kind: 'map', line, fields });
    }
    if (isSeq(node))
      return remember(node, {
        kind: 'list',
        line,
        items: node.items.map((item) => read(item as ParsedNode, level + 1, line)),
      });
    const { value } = node;
    if (value !== null && typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
      return refuse(line, 'expected text, a number, true, false or null');
    return remember(node, { kind: 'scalar', line, value });
  };
  /** Completed nodes by their anchors: an alias inside its own anchor finds none. */
  const anchors = new Map<string, ParsedNode>();
  function remember(node: ParsedNode, value: ConfigValue): ConfigValue {
    if (!isAlias(node) && node.anchor !== undefined) anchors.set(node.anchor, node);
    return value;
  }
  /** Adds the fields of a map, or of each map of a list, that a map does not have yet. */
  function merge(source: ConfigValue, fields: Map<string, ConfigValue>): void {
    const maps = source.kind === 'list' ? source.items : [source];
    for (const map of maps) {
      if (map.kind === 'map') {
        for (const [name, value] of map.fields) if (!fields.has(name)) fields.set(name, value);
      } else refuse(map.line, `expected a mapping, or a list of mappings, after ${MERGE_KEY}`);
    }
  }
  const root = read(document.contents, 0, 1);
  return found ?? root;
}
