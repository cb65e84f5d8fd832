import { isRecord, settingsOf } from './normalize-request.ts';

/** Fields of an event in which two libraries that run the same program should agree. */
const FIELDS = [
  'author',
  'content',
  'partial',
  'turnComplete',
  'interrupted',
  'errorCode',
  'errorMessage',
  'longRunningToolIds',
  'output',
  'branch',
  'nodeInfo',
];
const ACTIONS = [
  'stateDelta',
  'artifactDelta',
  'transferToAgent',
  'escalate',
  'skipSummarization',
  'requestedToolConfirmations',
];

/**
 * Makes the events of two libraries comparable: omits times, ids and empty values, names calls in the order of their appearance, and names
 * fields that an event lacks.
 */
export class EventNormalizer {
  readonly #ids = new Map<string, string>();
  #settings: unknown;

  /** Returns an event with only the compared fields, and any other value as JSON. */
  normalize(said: unknown): unknown {
    // As clients and models get it: instances of classes become what JSON makes of them.
    const json: unknown = JSON.parse(JSON.stringify(said ?? null));
    if (!isRecord(json) || !isRecord(json['actions'])) return this.#plain(json);
    const { actions } = json;
    const event = this.#plain({ ...pick(json, FIELDS), branch: branchOf(json), actions: pick(actions, ACTIONS) });
    return { ...(isRecord(event) && event), ...readFields(said) };
  }

  /**
   * Returns the conversation and the names of the tools of a request, and before it the instruction, the declarations
   * and the options, if they differ from those of the last request that had any.
   */
  normalizeRequest(body: unknown): unknown[] {
    const request = isRecord(body) ? body : {};
    const { contents, tools } = request;
    const names = Array.isArray(tools) ? tools.flatMap(namesOf).toSorted() : [];
    const settings = this.#plain(settingsOf(request));
    const isKnown = JSON.stringify(settings) === JSON.stringify(this.#settings);
    this.#settings = settings;
    const conversation = this.#plain({ contents, tools: names });
    return isKnown ? [conversation] : [settings, conversation];
  }

  #plain(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.#plain(each));
    if (typeof value === 'string') return this.#nameOf(value);
    if (!isRecord(value)) return value;
    const entries = Object.entries(value).map(([key, each]) => [String(this.#nameOf(key)), this.#plain(each)] as const);
    return Object.fromEntries(
      entries.filter(([, each]) => !isEmpty(each)).toSorted(([one], [other]) => (one < other ? -1 : 1)),
    );
  }

  /** Numbers generated ids of function calls. */
  #nameOf(text: string): string {
    const timeless = text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time');
    return timeless.replaceAll(
      /\b(?:adk-|call_)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g,
      (id) => {
        const name = this.#ids.get(id) ?? `id${this.#ids.size + 1}`;
        this.#ids.set(id, name);
        return name;
      },
    );
  }
}

/**
 * Returns what a program reads in the fields whose empty values are omitted otherwise: `partial` where it is false, and
 * the names of the fields that an event of the ADK always has and this one has not.
 */
function readFields(said: unknown): Record<string, unknown> {
  const { actions = {}, longRunningToolIds, partial } = said as Readonly<Record<string, unknown>>;
  const { requestedAuthConfigs, requestedToolConfirmations } = actions as Readonly<Record<string, unknown>>;
  const lists = { longRunningToolIds, requestedAuthConfigs, requestedToolConfirmations };
  const absent = Object.entries(lists).flatMap(([field, value]) => (value === undefined ? field : []));
  return { ...(partial === false && { partial }), ...(absent.length > 0 && { absent }) };
}

/** Returns the branch of an event without the part for the run of an agent in its own node, which the guide explains. */
function branchOf({ author, branch, nodeInfo }: Readonly<Record<string, unknown>>): unknown {
  const path = isRecord(nodeInfo) ? nodeInfo['path'] : undefined;
  if (typeof branch !== 'string' || typeof path !== 'string') return branch;
  const run = `${String(author)}@${encodeURIComponent(`${path}#`).replaceAll('.', '%2E')}`;
  const at = branch.indexOf(run);
  return at < 0 ? branch : branch.slice(0, Math.max(0, at - 1)) || undefined;
}

function namesOf(tool: unknown): string[] {
  if (!isRecord(tool)) return [];
  const { functionDeclarations, ...others } = tool;
  const declared = Array.isArray(functionDeclarations) ? functionDeclarations : [];
  return [...declared.map((each) => (isRecord(each) ? String(each['name']) : '')), ...Object.keys(others)];
}

function pick(source: Readonly<Record<string, unknown>>, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(keys.map((key) => [key, source[key]]));
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === false) return true;
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
