import { type BaseAgent, ConfigurationError } from '@eventloom/core';
import { checkBaseOptions, checkOptions, isRecord, type OptionRules, SCHEMA_RULE } from '@eventloom/core/internal';
import { isLlmAgent, type LlmAgent } from '@eventloom/llm-agent';
import type { SchemaLike } from '@eventloom/tools';
import { recordOf } from './check-arguments.ts';
import { refuseOfAdk, refuseUncalled } from './class-checks.ts';
import { type BaseNodeConfig, checkTimeout } from './workflow/base-node.ts';
import { prepareRetryConfig } from './workflow/retry.ts';

/** Options that an agent of programs for `@google/adk` has as a node of a workflow. Elsewhere they have no effect. */
export type AgentNodeOptions = Pick<
  BaseNodeConfig,
  'rerunOnResume' | 'waitForOutput' | 'retryConfig' | 'timeout' | 'stateSchema' | 'isolationScope'
>;

const RULES: OptionRules<AgentNodeOptions> = {
  rerunOnResume: 'flag',
  waitForOutput: 'flag',
  retryConfig: { is: 'object', write: '{ maxAttempts: 3 }' },
  timeout: 'number',
  stateSchema: SCHEMA_RULE,
  isolationScope: 'text or flag',
};
const NAMES: readonly string[] = Object.keys(RULES);

/** The options with which the agents of this package were constructed. */
const CONFIGS = new WeakMap<BaseAgent, object>();

/**
 * Checks the options that an agent has as a node, and returns the others, for a class that checks the names of its own.
 * Leaves out an undefined `parentAgent`, which classes of programs pass on, and, if `rules` are given, options that
 * only a class of the program has.
 * @param rules the options of the class of this package that a class of the program extends
 * @throws ConfigurationError for an invalid option, for a `parentAgent`, and with `rules` for an option that is probably misspelt
 */
export function withoutNodeOptions<C extends object>(
  config: C & AgentNodeOptions,
  rules?: Parameters<typeof checkBaseOptions>[1],
): C {
  // Agents refuse a config that is not an object.
  if (!isRecord(config)) return config;
  const { parentAgent, ...given }: { readonly parentAgent?: unknown } & C & AgentNodeOptions = config;
  const owner = `agent "${String(Reflect.get(config, 'name'))}"`;
  if (parentAgent !== undefined)
    throw new ConfigurationError(
      `${owner}: has no option "parentAgent"; write the agent into the subAgents of its parent`,
    );
  const { subAgents, codeExecutor } = recordOf(given);
  for (const [index, agent] of Array.isArray(subAgents) ? subAgents.entries() : [])
    refuseOfAdk(owner, `subAgents[${index}]`, 'an agent', agent);
  refuseOfAdk(owner, 'codeExecutor', 'a code executor', codeExecutor);
  const entries = Object.entries(given);
  const options: AgentNodeOptions = Object.fromEntries(entries.filter(([name]) => NAMES.includes(name)));
  checkOptions(owner, RULES, options);
  checkTimeout(owner, options.timeout);
  if (options.retryConfig) prepareRetryConfig(options.retryConfig);
  const others = Object.fromEntries(entries.filter(([name]) => !NAMES.includes(name)));
  if (rules) {
    checkBaseOptions(owner, rules, others);
    for (const name in others) if (!Object.hasOwn(rules, name)) delete others[name];
  }
  // The remaining record has all options of the class.
  return others as C;
}

/** Methods that the ADK calls, and what a class of the program writes in place of each. */
const UNCALLED = {
  runLive: 'runLiveImpl',
  runImpl: 'runAsyncImpl',
  createInvocationContext: 'runAsyncImpl, and change what it calls',
  handleBeforeAgentCallback: 'beforeAgentCallback in the options of the agent',
  handleAfterAgentCallback: 'afterAgentCallback in the options of the agent',
  callLlmAsync: 'beforeModelCallback and afterModelCallback in the options of the agent',
  runAndHandleError: 'onModelErrorCallback in the options of the agent',
};

/**
 * Keeps the options of an agent, for its node and its copies.
 * @throws ConfigurationError for a class of the program with a method of the ADK that no run calls
 */
export function keepConfig(agent: BaseAgent, config: object): void {
  refuseUncalled(`agent "${agent.name}"`, agent, UNCALLED);
  CONFIGS.set(agent, config);
}

/**
 * Returns the options that an agent has as a node; undefined values are left out. Empty for agents of other packages. Those of an LLM agent
 * do not include its schemas: the agent checks its answers itself.
 */
export function nodeOptionsOf(agent: BaseAgent): Partial<BaseNodeConfig> {
  const names = isLlmAgent(agent) ? NAMES : [...NAMES, 'inputSchema', 'outputSchema'];
  const entries = Object.entries(CONFIGS.get(agent) ?? {});
  return Object.fromEntries(entries.filter(([name, value]) => names.includes(name) && value !== undefined));
}

/**
 * Creates an agent of the same class with some of its options changed. Its sub-agents are copied too, unless
 * `subAgents` is among the changes.
 * @throws ConfigurationError for `parentAgent`, and for a sub-agent that cannot be copied
 */
export function copyAgent<A extends BaseAgent>(agent: A, changes: object): A {
  if ('parentAgent' in changes && changes.parentAgent !== undefined)
    throw new ConfigurationError(
      `agent "${agent.name}": clone: parentAgent cannot be given; write the copy into the subAgents of its parent`,
    );
  const config = CONFIGS.get(agent) ?? {};
  const isDeep = 'subAgents' in config && !('subAgents' in changes);
  const subAgents = isDeep ? agent.subAgents.map((below) => copySubAgent(agent, below)) : [];
  const Class = agent.constructor as new (config: object) => A;
  return new Class({ ...config, ...(isDeep && { subAgents }), ...changes });
}

/** Creates a copy of an LLM agent that answers with another schema. @throws ConfigurationError for a class that has no `clone` */
export function copyWithOutputSchema(agent: LlmAgent, outputSchema: SchemaLike): LlmAgent {
  if ('clone' in agent && typeof agent.clone === 'function') return agent.clone({ outputSchema }) as LlmAgent;
  throw new ConfigurationError(
    `node "${agent.name}": outputSchema: the agent has no method clone; write outputSchema in the options of the agent`,
  );
}

/** Creates a copy of the sub-agent of an agent that is copied. @throws ConfigurationError for a class that has no `clone` */
export function copySubAgent(parent: BaseAgent, agent: BaseAgent): BaseAgent {
  if ('clone' in agent && typeof agent.clone === 'function') return agent.clone() as BaseAgent;
  throw new ConfigurationError(
    `agent "${parent.name}": clone: its sub-agent "${agent.name}" cannot be copied; write clone({ subAgents: [ … ] }) with new agents`,
  );
}
