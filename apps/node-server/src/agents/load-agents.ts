import { existsSync, readdirSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL, fileURLToPath } from 'node:url';
import { type BaseAgent, toError } from '@eventloom/core';
import { AgentLoadError, UsageError } from '../errors.ts';
import { adkHint } from './adk-names.ts';

/** An agent with the name of its folder. */
interface LoadedAgent {
  readonly appName: string;
  readonly agent: BaseAgent;
}

/** The result of loading a folder of agents: the agents that can be served, and the errors of the others. */
interface LoadedAgents {
  readonly agents: readonly LoadedAgent[];
  readonly failures: readonly AgentLoadError[];
}

const YAML_ENTRY = 'root_agent.yaml';
const ENTRIES = ['agent.ts', 'agent.mts', 'agent.js', 'agent.mjs', YAML_ENTRY];
const LOAD_TIMEOUT_MS = 30_000;

/**
 * Loads the agent of every sub-folder that has an `agent.ts` (or `.mts`, `.js`, `.mjs`), which exports the agent as `rootAgent` or as its
 * default export, otherwise a `root_agent.yaml` of the ADK, which can name only built-in tools. An agent that cannot be loaded does not
 * affect the others.
 *
 * @throws UsageError when the folder cannot be read, or has no such sub-folder
 */
export async function loadAgents(folder: string): Promise<LoadedAgents> {
  const found = listFolders(folder).flatMap((appName) => {
    const entry = ENTRIES.find((name) => existsSync(join(folder, appName, name)));
    return entry === undefined ? [] : [{ appName, file: join(folder, appName, entry) }];
  });
  if (found.length === 0) {
    const isAgent = ENTRIES.some((name) => existsSync(join(folder, name)));
    throw new UsageError(
      isAgent
        ? `--agents ${folder}: expected a folder of agents, got the folder of one agent; write the folder that contains it`
        : `--agents ${folder}: has no sub-folder with an ${ENTRIES[0]} or a ${YAML_ENTRY}`,
    );
  }
  const agents: LoadedAgent[] = [];
  const failures: AgentLoadError[] = [];
  for (const { appName, file } of found) {
    try {
      agents.push({ appName, agent: await loadAgent(file) });
    } catch (cause) {
      failures.push(new AgentLoadError(`agent ${appName} (${file}): ${describe(cause, file)}`, { cause }));
    }
  }
  return { agents, failures };
}

function listFolders(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && !/^(\.|node_modules$)/.test(entry.name))
      .map((entry) => entry.name)
      .toSorted();
  } catch (cause) {
    throw new UsageError(`--agents ${folder}: cannot be read: ${toError(cause).message}`, { cause });
  }
}

async function loadAgent(file: string): Promise<BaseAgent> {
  if (file.endsWith(YAML_ENTRY)) return loadYaml(file);
  const exported: unknown = await withoutExit(() => withinTime(import(pathToFileURL(file).href)));
  const { rootAgent, default: byDefault } = exported as Record<string, unknown>;
  const agent = rootAgent ?? byDefault;
  if (isAgent(agent)) return agent;
  throw new AgentLoadError(
    agent === undefined
      ? `exports no agent; write export const rootAgent = new LlmAgent({ … })${otherNames(exported as object)}`
      : `${rootAgent === undefined ? 'default export' : 'rootAgent'}: expected an agent, got ${agent === null ? 'null' : `a value of type ${typeof agent}`}; write new LlmAgent({ … })`,
  );
}

/** Loads an agent in YAML. Only such agents need the exports of the ADK package. */
async function loadYaml(file: string): Promise<BaseAgent> {
  const { loadAgentFromConfig, AgentConfigError } = await import('@eventloom/adk');
  try {
    return loadAgentFromConfig(file);
  } catch (cause) {
    if (!AgentConfigError.isInstance(cause)) throw cause;
    const hint = cause.message.includes('loadAgentFromConfig(')
      ? ' in an agent.ts beside it, which exports the agent'
      : '';
    throw new AgentLoadError(`${cause.message}${hint}`, { cause });
  }
}

function otherNames(exported: object): string {
  const names = Object.keys(exported);
  return names.length > 0 ? `; it exports ${names.join(', ')}` : '';
}

function isAgent(value: unknown): value is BaseAgent {
  return typeof value === 'object' && value !== null && 'runAsync' in value && typeof value.runAsync === 'function';
}

/** Limits the time of loading, because a file whose top level waits forever would block the others. */
async function withinTime<T>(loading: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new AgentLoadError(`was not loaded within ${LOAD_TIMEOUT_MS / 1000} s`)),
    LOAD_TIMEOUT_MS,
  );
  try {
    return await Promise.race([loading, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Describes an error in one line, with its position in the agent's file. */
function describe(cause: unknown, file: string): string {
  if (!(cause instanceof Error)) return String(cause);
  const [message = ''] = cause.message.split('\n');
  const said = message === '' ? cause.name : message;
  const named = cause.name === 'Error' || cause instanceof AgentLoadError ? said : `${cause.name}: ${said}`;
  const text = `${named}${typescriptHint(cause)}${adkHint(said)}`;
  const place = cause.stack
    ?.split('\n')
    .find((line) => line.includes(file) && !line.includes(said) && !line.startsWith('- '));
  return place === undefined ? text : `${text} (${place.trim().replace(/^at /, '')})`;
}

/** Returns a hint for an error of TypeScript syntax that Node cannot run, or an empty text for any other error. */
function typescriptHint(error: Error): string {
  const { code, url } = error as { code?: unknown; url?: unknown };
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') {
    return '; agents run without a compiler: write only erasable syntax, no enums, namespaces or parameter properties';
  }
  if (code !== 'ERR_MODULE_NOT_FOUND' || typeof url !== 'string' || !url.startsWith('file:')) return '';
  const file = fileURLToPath(url);
  const source = [`${file}.ts`, file.replace(/\.([cm]?)js$/, '.$1ts')].find(
    (path) => path !== file && existsSync(path),
  );
  return source === undefined ? '' : `; agents run without a compiler: import the file under its own name, ${source}`;
}

/**
 * Runs work during which `process.exit` throws instead of ending the process. Rejects after such a call, even if the work catches the
 * error. Must not run concurrently.
 *
 * @throws AgentLoadError when `process.exit` was called
 */
async function withoutExit<T>(act: () => Promise<T>): Promise<T> {
  const called = Promise.withResolvers<never>();
  // Otherwise the rejection would be unhandled if the work never ends.
  called.promise.catch(() => undefined);
  const before = Object.getOwnPropertyDescriptor(process, 'exit') ?? {};
  const exit = (code?: number | string | null): never => {
    const error = new AgentLoadError(`called process.exit(${code ?? ''}) while it was loaded`);
    called.reject(error);
    throw error;
  };
  replaceExit({ ...before, value: exit });
  try {
    // If both promises are settled, the first one in the list wins.
    return await Promise.race([called.promise, act()]);
  } finally {
    replaceExit(before);
  }
}

function replaceExit(property: PropertyDescriptor): void {
  Object.defineProperty(process, 'exit', property);
  // For modules that import `exit` by name.
  syncBuiltinESMExports();
}
