import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BaseAgent, toError } from '@eventloom/core';
import { AgentLoadError, UsageError } from '../errors.ts';
import { typescriptHint } from './typescript-hint.ts';
import { withoutExit } from './without-exit.ts';

/** An agent that was found in a folder, under the folder's name. */
interface LoadedAgent {
  readonly appName: string;
  readonly agent: BaseAgent;
}

/** What came of a folder of agents: those that can be served, and why the others cannot. */
export interface LoadedAgents {
  readonly agents: readonly LoadedAgent[];
  readonly failures: readonly AgentLoadError[];
}

const ENTRIES = ['agent.ts', 'agent.mts', 'agent.js', 'agent.mjs'];
const LOAD_TIMEOUT_MS = 30_000;

/**
 * Loads the agent of every sub-folder that has an `agent.ts` (or `.mts`, `.js`, `.mjs`), which exports it as `rootAgent` or as its default.
 * One that cannot be loaded does not keep the others.
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
        ? `--agents ${folder}: is the folder of one agent; name the folder that it is in`
        : `--agents ${folder}: has no sub-folder with an ${ENTRIES[0]}`,
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
  const exported: unknown = await withoutExit(() => withinTime(import(pathToFileURL(file).href)));
  const { rootAgent, default: byDefault } = exported as Record<string, unknown>;
  const agent = rootAgent ?? byDefault;
  if (isAgent(agent)) return agent;
  throw new AgentLoadError(
    agent === undefined
      ? 'exports neither rootAgent nor a default'
      : 'what it exports as rootAgent or default is no agent',
  );
}

function isAgent(value: unknown): value is BaseAgent {
  return typeof value === 'object' && value !== null && 'runAsync' in value && typeof value.runAsync === 'function';
}

/** A file whose top level waits for ever would keep the others from being served. */
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

/** What went wrong, in a line, and where in the agent's file. */
function describe(cause: unknown, file: string): string {
  if (!(cause instanceof Error)) return String(cause);
  const [message = ''] = cause.message.split('\n');
  const said = message === '' ? cause.name : message;
  const named = cause.name === 'Error' || cause instanceof AgentLoadError ? said : `${cause.name}: ${said}`;
  const told = `${named}${typescriptHint(cause)}`;
  const place = cause.stack
    ?.split('\n')
    .find((line) => line.includes(file) && !line.includes(said) && !line.startsWith('- '));
  return place === undefined ? told : `${told} (${place.trim().replace(/^at /, '')})`;
}
