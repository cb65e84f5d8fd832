import { type BaseAgentConfig, ConfigurationError } from '@eventloom/core';
import { BASE_AGENT_OPTIONS, isRecord, type OptionNames } from '@eventloom/core/internal';
import type { SchemaLike } from '@eventloom/tools';
import { type Channels, isChannel } from './channel.ts';
import { checkOptions } from './check-options.ts';

/** Config of a graph, without its nodes and edges. */
export interface StateGraphConfig<C extends Channels = Channels> extends BaseAgentConfig {
  /** The values that the nodes share. Default: none. */
  readonly channels?: C;
  /** Schema of the graph's input, which is then JSON in the message. Default: the input is the text of the message. */
  readonly inputSchema?: SchemaLike;
  /** Schema of the graph's output. */
  readonly outputSchema?: SchemaLike;
}

/** Options of the runs of a graph. */
export interface CompileOptions {
  /** Super-steps in one run: the bound of loops. Default 100; StepLimitError when there is more to do. */
  readonly maxSteps?: number;
  /**
   * Nodes of a step, and nodes that one node runs, that work at the same time. One that was begun keeps its place until it is done, also
   * while it waits for its turn or its next attempt. Default: all.
   */
  readonly maxConcurrency?: number;
  /** Streams an event when a node starts, completes and fails an attempt. Default false. */
  readonly nodeLifecycleEvents?: boolean;
}

const CONFIG_OPTIONS: OptionNames<StateGraphConfig> = {
  ...BASE_AGENT_OPTIONS,
  channels: true,
  inputSchema: true,
  outputSchema: true,
};
const COMPILE_OPTIONS: OptionNames<CompileOptions> = {
  maxSteps: true,
  maxConcurrency: true,
  nodeLifecycleEvents: true,
};

/**
 * Checks the config of a graph. @throws ConfigurationError for an unknown option, an invalid channel, and a channel
 * name that is not allowed
 */
export function checkGraphOptions(config: StateGraphConfig): void {
  checkOptions('StateGraph', config, CONFIG_OPTIONS);
  const { name: graph, channels = {} } = config;
  if (!isRecord(channels))
    throw new ConfigurationError(`graph "${graph}": channels must be an object of channels by their names`);
  for (const [name, channel] of Object.entries(channels)) {
    if (!isChannel(channel))
      throw new ConfigurationError(`graph "${graph}": "${name}" is no channel; make it with \`channel(schema)\``);
    // What is assigned under this name is no property.
    if (name === '__proto__')
      throw new ConfigurationError(`graph "${graph}": a channel cannot have the name "${name}"`);
  }
}

/** @throws ConfigurationError for an option that `compile` does not have, and for one without sense */
export function checkCompileOptions(name: string, options: CompileOptions): void {
  checkOptions(`graph "${name}": compile`, options, COMPILE_OPTIONS);
  const { maxSteps, maxConcurrency, nodeLifecycleEvents = false } = options;
  for (const [option, count] of Object.entries({ maxSteps, maxConcurrency })) {
    if (count !== undefined && !(Number.isSafeInteger(count) && count >= 1))
      throw new ConfigurationError(`graph "${name}": ${option} must be an integer of at least 1`);
  }
  if (typeof nodeLifecycleEvents !== 'boolean')
    throw new ConfigurationError(`graph "${name}": nodeLifecycleEvents must be true or false`);
}
