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
 * Makes the events of two libraries comparable: omits times, ids and empty values, and names calls in the order of
 * their appearance.
 */
export class EventNormalizer {
  readonly #ids = new Map<string, string>();

  /** Returns an event with only the compared fields, and any other value as JSON. */
  normalize(said: unknown): unknown {
    if (!isRecord(said) || !isRecord(said['actions'])) return this.#plain(said ?? null);
    const { actions } = said;
    return this.#plain({ ...pick(said, FIELDS), actions: pick(actions, ACTIONS) });
  }

  /** Returns the conversation and the names of the tools of a request. */
  normalizeRequest(body: unknown): unknown {
    const { contents, tools } = isRecord(body) ? body : {};
    const names = Array.isArray(tools) ? tools.flatMap(namesOf).toSorted() : [];
    return this.#plain({ contents, tools: names });
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

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
