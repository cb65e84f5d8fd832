import type { BaseAgent, BaseLlm } from '@eventloom/core';
import {
  checkOptions,
  describeKind,
  getOwn,
  isBaseAgent,
  isBaseTool,
  isBaseToolset,
  type OptionRules,
} from '@eventloom/core/internal';
import { AgentTool, exitLoop } from '@eventloom/multi-agent';
import { LOAD_MEMORY, PRELOAD_MEMORY, type SchemaLike } from '@eventloom/tools';
import {
  ENTERPRISE_WEB_SEARCH,
  GOOGLE_MAPS_GROUNDING,
  GOOGLE_SEARCH,
  LOAD_ARTIFACTS,
  URL_CONTEXT,
} from '@eventloom/tools/built-in';
import { type AgentFile, type ConfigValue, openAgentFiles, type ReadAgentFile } from '#runtime';
import { getUserChoiceTool } from './ask-tools.ts';
import { AdkLoopAgent, AdkParallelAgent, AdkSequentialAgent } from './agents.ts';
import { requirePath } from './check-arguments.ts';
import { AgentConfigError } from './errors.ts';
import { AdkLlmAgent, type AdkLlmAgentConfig, type AdkToolUnion } from './llm-agent.ts';
import { isBaseNode } from './workflow/base-node.ts';

const MAX_FILES = 100;
const MAX_NESTED_FILES = 16;

/** Values of `args` in a YAML file, with the names that the file has. */
export type ConfigArguments = Readonly<Record<string, unknown>>;

/** A callback of an agent. Its parameters are those of the option that the YAML file names it in. */
export type ConfigCallback = (...parameters: never[]) => unknown;

/** The values that names in YAML files stand for. A name may hold dots, as in Python: `{ 'my_library.tools.roll_die': rollDie }`. */
export interface LoadAgentOptions {
  /** Tools and toolsets, or functions that create one from its `args`. Default: only the built-in tools. */
  readonly tools?: Readonly<Record<string, AdkToolUnion | ((args: ConfigArguments) => AdkToolUnion)>> | undefined;
  /** Callbacks of all kinds. Default: none. */
  readonly callbacks?: Readonly<Record<string, ConfigCallback>> | undefined;
  /** Agents that `code` names. Default: none. */
  readonly agents?: Readonly<Record<string, BaseAgent>> | undefined;
  /** Models that `model_code` names, or functions that create one from its `args`. Default: none. */
  readonly models?: Readonly<Record<string, BaseLlm | ((args: ConfigArguments) => BaseLlm)>> | undefined;
  /** Schemas that `input_schema` and `output_schema` name. Default: none. */
  readonly schemas?: Readonly<Record<string, SchemaLike>> | undefined;
}

const LOAD_OPTIONS: OptionRules<LoadAgentOptions> = {
  tools: 'object',
  callbacks: 'object',
  agents: 'object',
  models: 'object',
  schemas: 'object',
};

/**
 * Creates an agent from a YAML file of the ADK, on Node. The files of its `config_path`s are read too; all are in the
 * folder of the first file or below, at most 100 of at most 256 KiB. Nothing is imported: a name stands for a value of
 * the options or for a built-in tool (`google_search`, `google_maps_grounding`, `enterprise_web_search`, `url_context`,
 * `load_memory`, `preload_memory`, `load_artifacts`, `exit_loop`, `get_user_choice`, `AgentTool`). Files are read
 * synchronously, so call it when the program starts.
 *
 * @example
 * const rollDie = new FunctionTool({ name: 'roll_die', description: 'Rolls a die.', execute: () => 4 });
 * const rootAgent = loadAgentFromConfig('agents/root_agent.yaml', { tools: { 'my_library.tools.roll_die': rollDie } });
 *
 * @throws ConfigurationError for an option that does not exist
 * @throws AgentConfigError with the file and the line, for a file that cannot be read, a field or a name that is
 * unknown, and options that agents refuse
 */
export function loadAgentFromConfig(path: string, options: LoadAgentOptions = {}): BaseAgent {
  requirePath('loadAgentFromConfig', path, 'agents/root_agent.yaml');
  checkOptions('loadAgentFromConfig', LOAD_OPTIONS, options, {}, 'loadAgentFromConfig(path, { tools: { … } })');
  const { first, read } = openAgentFiles(path);
  return new AgentLoader(read, options).load(first);
}

const BUILT_IN_TOOLS: Readonly<Record<string, AdkToolUnion>> = {
  enterprise_web_search: ENTERPRISE_WEB_SEARCH,
  exit_loop: exitLoop,
  get_user_choice: getUserChoiceTool,
  google_maps_grounding: GOOGLE_MAPS_GROUNDING,
  google_search: GOOGLE_SEARCH,
  load_artifacts: LOAD_ARTIFACTS,
  load_memory: LOAD_MEMORY,
  preload_memory: PRELOAD_MEMORY,
  url_context: URL_CONTEXT,
};

const AGENT_FIELDS = [
  'agent_class',
  'name',
  'description',
  'sub_agents',
  'before_agent_callbacks',
  'after_agent_callbacks',
] as const;

const LLM_AGENT_FIELDS = [
  ...AGENT_FIELDS,
  'model',
  'model_code',
  'instruction',
  'static_instruction',
  'disallow_transfer_to_parent',
  'disallow_transfer_to_peers',
  'input_schema',
  'output_schema',
  'output_key',
  'include_contents',
  'tools',
  'before_model_callbacks',
  'after_model_callbacks',
  'before_tool_callbacks',
  'after_tool_callbacks',
  'generate_content_config',
] as const;

/** Fields of `generate_content_config` whose keys are the program's own, and keep their spelling. */
const OWN_KEYS: ReadonlySet<string> = new Set(['labels', 'headers', 'extraBody']);

/** Loads one tree of agents. */
class AgentLoader {
  readonly #read: ReadAgentFile;
  readonly #options: LoadAgentOptions;
  /** The files that are being loaded, outermost first. */
  readonly #open: AgentFile[] = [];
  #loaded = 0;

  constructor(read: ReadAgentFile, options: LoadAgentOptions) {
    this.#read = read;
    this.#options = options;
  }

  /** Loads a file, relative to the one that names it. */
  load(path: string, reference?: ConfigField): BaseAgent {
    const file = this.#read(path, this.#open.at(-1));
    if ('fault' in file) {
      if (reference === undefined || file.line !== undefined)
        throw new AgentConfigError({ file: file.path, line: file.line ?? 1 }, file.fault);
      return reference.fail(`the file ${JSON.stringify(file.path)} ${file.fault}`);
    }
    const root = new ConfigField(file.path, 'the agent', file.root);
    const names = [...this.#open, file].map((open) => open.path);
    if (this.#open.some((open) => open.id === file.id))
      return (reference ?? root).fail(
        `the files name each other in a circle: ${names.join(', ')}; remove one of the references`,
      );
    this.#loaded += 1;
    if (this.#loaded > MAX_FILES)
      return (reference ?? root).fail(`more than ${MAX_FILES} files are named, which is the maximum`);
    if (names.length > MAX_NESTED_FILES)
      return (reference ?? root).fail(`more than ${MAX_NESTED_FILES} files name one another, which is the maximum`);
    this.#open.push(file);
    const agent = this.#createAgent(root);
    this.#open.pop();
    return agent;
  }

  #createAgent(root: ConfigField): BaseAgent {
    const agentClass = root.get('agent_class')?.text() ?? 'LlmAgent';
    switch (agentClass.slice(agentClass.startsWith('google.adk.agents.') ? 18 : 0)) {
      case 'LlmAgent':
        return this.#createLlmAgent(root);
      case 'SequentialAgent':
        root.allow(AGENT_FIELDS);
        return root.createAgent(() => new AdkSequentialAgent(this.#baseOptions(root)));
      case 'ParallelAgent':
        root.allow(AGENT_FIELDS);
        return root.createAgent(() => new AdkParallelAgent(this.#baseOptions(root)));
      case 'LoopAgent': {
        root.allow([...AGENT_FIELDS, 'max_iterations']);
        const maxIterations = root.get('max_iterations')?.number();
        return root.createAgent(
          () =>
            new AdkLoopAgent({ ...this.#baseOptions(root), ...(maxIterations === undefined ? {} : { maxIterations }) }),
        );
      }
      default:
        return (root.get('agent_class') ?? root).fail(
          `expected LlmAgent, SequentialAgent, ParallelAgent or LoopAgent, got ${quote(agentClass)}; create an agent of another class in the program, and name it with code in sub_agents`,
        );
    }
  }

  #baseOptions(root: ConfigField) {
    return {
      name: root.require('name').text(),
      description: root.get('description')?.text() ?? '',
      subAgents: root.items('sub_agents').map((field) => this.#referredAgent(field)),
      beforeAgentCallback: this.#callbacks<never>(root, 'before_agent_callbacks'),
      afterAgentCallback: this.#callbacks<never>(root, 'after_agent_callbacks'),
    };
  }

  #createLlmAgent(root: ConfigField): BaseAgent {
    root.allow(LLM_AGENT_FIELDS);
    const options: AdkLlmAgentConfig = {
      ...this.#baseOptions(root),
      instruction: root.require('instruction').text(),
      tools: root.items('tools').map((field) => this.#tool(field)),
      beforeModelCallback: this.#callbacks<never>(root, 'before_model_callbacks'),
      afterModelCallback: this.#callbacks<never>(root, 'after_model_callbacks'),
      beforeToolCallback: this.#callbacks<never>(root, 'before_tool_callbacks'),
      afterToolCallback: this.#callbacks<never>(root, 'after_tool_callbacks'),
      ...given('model', this.#model(root)),
      ...given('staticInstruction', root.get('static_instruction')?.text()),
      ...given('disallowTransferToParent', root.get('disallow_transfer_to_parent')?.flag()),
      ...given('disallowTransferToPeers', root.get('disallow_transfer_to_peers')?.flag()),
      ...given('inputSchema', this.#schema(root.get('input_schema'))),
      ...given('outputSchema', this.#schema(root.get('output_schema'))),
      ...given('outputKey', root.get('output_key')?.text()),
      ...given('includeContents', root.get('include_contents')?.oneOf(['default', 'none'] as const)),
      ...given('generateContentConfig', root.get('generate_content_config')?.camelRecord()),
    };
    return root.createAgent(() => new AdkLlmAgent(options));
  }

  #model(root: ConfigField): string | BaseLlm | undefined {
    const name = root.get('model');
    const code = root.get('model_code');
    if (name !== undefined && code !== undefined) return code.fail('model is there too; remove one of them');
    // Older files have the mapping of model_code under model.
    const reference = code ?? (name?.isMap === true ? name : undefined);
    if (reference === undefined) return name?.text();
    reference.allow(['name', 'args']);
    const model = reference.require('name').lookUp('models', this.#options.models);
    const made = typeof model === 'function' ? reference.create(() => model(argumentsOf(reference))) : model;
    if (typeof made === 'object' && made !== null && 'generateContentAsync' in made) return made;
    return reference.fail(`expected a model, got ${describeKind(made)}; write a function that returns a model object`);
  }

  #schema(field: ConfigField | undefined): SchemaLike | undefined {
    field?.allow(['name']);
    return field?.require('name').lookUp('schemas', this.#options.schemas);
  }

  /** Finds the callbacks of a field. Their parameters cannot be checked. */
  #callbacks<Callback>(root: ConfigField, option: string): Callback[] {
    return root.items(option).map((field) => {
      field.allow(['name', 'args']);
      const named: unknown = field.require('name').lookUp('callbacks', this.#options.callbacks);
      const hasArguments = field.get('args') !== undefined;
      const callback = hasArguments && isCallable(named) ? field.create(() => named(argumentsOf(field))) : named;
      if (isCallback<Callback>(callback)) return callback;
      return field.fail(
        `expected a function, got ${describeKind(callback)}; write callbacks: { name: (params) => … } in the options of loadAgentFromConfig`,
      );
    });
  }

  #tool(field: ConfigField): AdkToolUnion {
    field.allow(['name', 'args']);
    const name = field.require('name');
    const own = getOwn(this.#options.tools ?? {}, name.text());
    if (own === undefined && name.text() === 'AgentTool') return this.#agentTool(field);
    const tool: unknown = name.lookUp('tools', { ...BUILT_IN_TOOLS, ...this.#options.tools });
    if (isCallable(tool)) {
      const made = field.create(() => tool(argumentsOf(field)));
      return isTool(made) ? made : field.fail(`expected a tool from the function, got ${describeKind(made)}`);
    }
    if (!isTool(tool)) return field.fail(`expected a tool, got ${describeKind(tool)}; write new FunctionTool({ … })`);
    if (field.get('args') === undefined) return tool;
    return field.fail(`the tool ${quote(name.text())} takes no args; give a function that creates the tool`);
  }

  #agentTool(field: ConfigField): AdkToolUnion {
    const args = field.require('args').named();
    args.allow(['agent', 'skip_summarization']);
    const agent = this.#referredAgent(args.require('agent'));
    const skipSummarization = args.get('skip_summarization')?.flag() ?? false;
    return field.create(() => new AgentTool({ agent, skipSummarization }));
  }

  /** Returns the agent of `config_path` or `code`. A string is a path. */
  #referredAgent(field: ConfigField): BaseAgent {
    if (!field.isMap) return this.load(field.text(), field);
    field.allow(['config_path', 'code']);
    const path = field.get('config_path');
    const code = field.get('code');
    if ((path === undefined) === (code === undefined))
      return field.fail('expected either config_path or code; write config_path: other_agent.yaml');
    if (path !== undefined) return this.load(path.text(), path);
    const agent: unknown = code?.lookUp('agents', this.#options.agents);
    return isBaseAgent(agent)
      ? agent
      : field.fail(`expected an agent, got ${describeKind(agent)}; write new LlmAgent({ … })`);
  }
}

/** A value of a file, with its place and its name for errors. */
class ConfigField {
  readonly #file: string;
  readonly #name: string;
  readonly #value: ConfigValue;

  constructor(file: string, name: string, value: ConfigValue) {
    this.#file = file;
    this.#name = name;
    this.#value = value;
  }

  get isMap(): boolean {
    return this.#value.kind === 'map';
  }

  fail(message: string, cause?: unknown): never {
    const options = cause === undefined ? {} : { cause };
    throw new AgentConfigError({ file: this.#file, line: this.#value.line }, `${this.#name}: ${message}`, options);
  }

  /** Runs code of the program, and adds the place to its error. */
  create<T>(make: () => T): T {
    return this.#placeErrors(make, () => this.#value);
  }

  /** Creates the agent of this file. An error has the line of the option that it names. */
  createAgent<T>(make: () => T): T {
    return this.#placeErrors(make, (message) => findOption(this.#value, message));
  }

  #placeErrors<T>(make: () => T, find: (message: string) => ConfigValue): T {
    try {
      return make();
    } catch (error) {
      if (AgentConfigError.isInstance(error)) throw error;
      const message = error instanceof Error ? error.message : String(error);
      return new ConfigField(this.#file, this.#name, find(message)).fail(message, error);
    }
  }

  /** Refuses fields that are not in the list. */
  allow(names: readonly string[]): void {
    for (const [name, value] of this.#fields()) {
      if (!names.includes(name))
        new ConfigField(this.#file, quote(name), value).fail(`is not known here; expected ${names.join(', ')}`);
    }
  }

  /** Returns a field; undefined if it is absent or null. */
  get(name: string): ConfigField | undefined {
    const value = this.#fields().get(name);
    if (value === undefined || (value.kind === 'scalar' && value.value === null)) return undefined;
    return new ConfigField(this.#file, name, value);
  }

  require(name: string): ConfigField {
    return this.get(name) ?? this.fail(`${name} is missing; write ${name}: …`);
  }

  /** Returns the items of a list; an empty list if the field is absent. */
  items(name: string): ConfigField[] {
    const list = this.get(name);
    if (list === undefined) return [];
    if (list.#value.kind !== 'list') return list.#refuse('a list');
    return list.#value.items.map((item, index) => new ConfigField(this.#file, `${name}[${index}]`, item));
  }

  text(): string {
    const value = this.plain();
    return typeof value === 'string' ? value : this.#refuse('text');
  }

  flag(): boolean {
    const value = this.plain();
    return typeof value === 'boolean' ? value : this.#refuse('true or false');
  }

  number(): number {
    const value = this.plain();
    return typeof value === 'number' ? value : this.#refuse('a number');
  }

  oneOf<const T extends string>(values: readonly T[]): T {
    const text = this.text();
    return values.find((value) => value === text) ?? this.fail(`expected ${values.join(' or ')}, got ${quote(text)}`);
  }

  /** Returns the value that the name stands for. */
  lookUp<T>(option: string, values: Readonly<Record<string, T>> = {}): T {
    const name = this.text();
    const found = getOwn(values, name);
    return (
      found ??
      this.fail(`${quote(name)} is not known; write loadAgentFromConfig(path, { ${option}: { ${quote(name)}: … } })`)
    );
  }

  /** Returns arguments as a map. In the file they may also be a list of names and values. */
  named(): ConfigField {
    if (this.#value.kind !== 'list') return this;
    const fields = new Map<string, ConfigValue>();
    for (const [index, item] of this.#value.items.entries()) {
      const argument = new ConfigField(this.#file, `${this.#name}[${index}]`, item);
      argument.allow(['name', 'value']);
      const name = argument.require('name').text();
      if (fields.has(name) || name === '__proto__')
        return argument.fail(`the name ${quote(name)} cannot be used, or is there twice; choose another one`);
      fields.set(name, argument.#fields().get('value') ?? argument.fail('value is missing; write value: …'));
    }
    return new ConfigField(this.#file, this.#name, { kind: 'map', line: this.#value.line, fields });
  }

  /** Returns the value as JSON. */
  plain(): unknown {
    return toPlain(this.#value, (name) => name);
  }

  /** Returns a map with the names as the file spells them. */
  record(): Record<string, unknown> {
    this.#fields();
    return Object.fromEntries(this.#entries((name) => name));
  }

  /** Returns a map whose names are in camel case. */
  camelRecord(): Record<string, unknown> {
    return Object.fromEntries(this.#entries(toCamelCase));
  }

  #entries(rename: (name: string) => string): [string, unknown][] {
    return [...this.#fields()].map(([name, value]) => toEntry(name, value, rename));
  }

  #fields(): ReadonlyMap<string, ConfigValue> {
    return this.#value.kind === 'map' ? this.#value.fields : this.#refuse('a mapping');
  }

  #refuse(expected: string): never {
    return this.fail(`expected ${expected}, got ${describeKind(this.plain())}`);
  }
}

/**
 * Finds the option that the error of an agent names: `agent "helper": generateContentConfig.topK: …`. Returns the agent if
 * the message names no field of the file.
 */
function findOption(agent: ConfigValue, message: string): ConfigValue {
  let found = agent;
  for (const [word] of withoutOwner(message).matchAll(/[\w$]+/g)) {
    if (found.kind !== 'map') break;
    for (const [name, value] of found.fields) if (toOption(name) === (OPTIONS_BY_WORDS[word] ?? word)) found = value;
  }
  return found;
}

/** Returns the message without its first words, which may be the name of an agent and that of an option too. */
function withoutOwner(message: string): string {
  return message.startsWith('agent "') ? message.slice(message.indexOf('": ')) : message;
}

/** Words of errors about options that they do not name: two agents have the same name, a sub-agent has a parent. */
const OPTIONS_BY_WORDS: Readonly<Record<string, string>> = { agents: 'subAgents', sub: 'subAgents' };

/** Returns the option of agents that a field stands for. */
function toOption(field: string): string {
  return field === 'model_code' ? 'model' : toCamelCase(field);
}

function argumentsOf(field: ConfigField): ConfigArguments {
  return field.get('args')?.named().record() ?? {};
}

function toPlain(value: ConfigValue, rename: (name: string) => string): unknown {
  if (value.kind === 'scalar') return value.value;
  if (value.kind === 'list') return value.items.map((item) => toPlain(item, rename));
  return Object.fromEntries([...value.fields].map(([name, held]) => toEntry(name, held, rename)));
}

function toEntry(name: string, value: ConfigValue, rename: (name: string) => string): [string, unknown] {
  const renamed = rename(name);
  return [renamed, toPlain(value, OWN_KEYS.has(renamed) ? (own) => own : rename)];
}

function toCamelCase(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
}

function given<Key extends string, T>(key: Key, value: T | undefined): { readonly [K in Key]?: T } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [K in Key]?: T });
}

function isCallback<Callback>(value: unknown): value is Callback {
  return typeof value === 'function';
}

function isCallable(value: unknown): value is (args: ConfigArguments) => unknown {
  return typeof value === 'function';
}

function isTool(value: unknown): value is AdkToolUnion {
  return isBaseTool(value) || isBaseToolset(value) || isBaseNode(value);
}

function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
