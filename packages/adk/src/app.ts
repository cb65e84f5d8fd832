import { asRunnableRoot } from './workflow/workflow.ts';
import type { RunnableNode } from './workflow/node-context.ts';
import { type BaseAgent, type BasePlugin, ConfigurationError } from '@eventloom/core';
import { checkOptions, describeKind, type OptionRules } from '@eventloom/core/internal';

/** Setting of an app: can its runs be resumed? */
export interface ResumabilityConfig {
  /** True stores the progress of runs, so that they can be resumed. */
  isResumable: boolean;
}

const RESUMABILITY: OptionRules<ResumabilityConfig> = { isResumable: 'flag' };

/** Creates a resumability config. Default: not resumable. @throws ConfigurationError for an option that is unknown or invalid */
export function createResumabilityConfig(given: Partial<ResumabilityConfig> = {}): ResumabilityConfig {
  checkOptions('createResumabilityConfig', RESUMABILITY, given);
  return { isResumable: given.isResumable ?? false };
}

/** Options of an `App`. */
export interface AppOptions {
  /** Letters, digits, `_` and `-`, starting with a letter. `user` is reserved. */
  name: string;
  /** The agent or the workflow to run; a tool or a function is put into a workflow. */
  rootAgent: RunnableNode;
  /** Plugins of every run of the app. Default: none. */
  plugins?: BasePlugin[] | undefined;
  /** `{ isResumable: true }` lets a run continue after its process was lost. Default: runs cannot be resumed. */
  resumabilityConfig?: ResumabilityConfig | undefined;
}

const OPTIONS: OptionRules<AppOptions> = {
  name: 'text',
  rootAgent: 'object',
  plugins: 'list',
  resumabilityConfig: 'object',
};

/**
 * A root agent with the plugins and the settings that its runs share. A `Runner` takes it as `app`.
 *
 * @example
 * const app = new App({ name: 'weather', rootAgent, plugins: [plugin] });
 * const runner = new InMemoryRunner({ app });
 */
export class App {
  readonly name: string;
  readonly rootAgent: BaseAgent;
  readonly plugins: BasePlugin[];
  readonly resumabilityConfig: ResumabilityConfig | undefined;

  /** @throws ConfigurationError for an invalid name, without an agent, and for an option that does not exist */
  constructor(options: AppOptions) {
    checkOptions('App', OPTIONS, options);
    validateAppName(options.name);
    this.name = options.name;
    this.rootAgent = asRunnableRoot(options.rootAgent, 'App: rootAgent');
    this.plugins = options.plugins ?? [];
    this.resumabilityConfig = options.resumabilityConfig;
  }

  get '~eventloom.adk-app'(): true {
    return true;
  }
}

/** Checks the name of an app. @throws ConfigurationError for an invalid name */
export function validateAppName(name: string): void {
  if (typeof name !== 'string' || !/^[a-zA-Z][a-zA-Z0-9_-]*$/.test(name) || name === 'user')
    throw new ConfigurationError(
      `App: name: expected letters, digits, _ and -, beginning with a letter, other than "user", got ${typeof name === 'string' ? JSON.stringify(name.slice(0, 100)) : describeKind(name)}; write name: 'weather'`,
    );
}

/** Returns true for an `App`, including one of another loaded copy of this package. */
export function isApp(value: unknown): value is App {
  return typeof value === 'object' && value !== null && '~eventloom.adk-app' in value;
}
