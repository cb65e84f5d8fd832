import { type BaseAgent, ConfigurationError, type Event, type RunConfig } from '@eventloom/core';
import { checkRunConfig, isBaseAgent, RunMark } from '@eventloom/core/internal';
import { agentsAndTools } from '../open-toolsets.ts';

/** Options that a resumable run stores in its user event, in addition to those that every event has. */
const REMEMBERED = [
  'streamingMode',
  'completionEvent',
  'maxLlmCalls',
  'maxRunMs',
  'maxParallelToolCalls',
  'clientTools',
  'pauseOnToolCalls',
] as const;

/**
 * Creates the `agentState` of the message that begins a resumable run: the marks of the runner that say that the run is
 * resumable, which options it has, and the names of the agents of the tree.
 */
export function toRunMarks(config: RunConfig, root: BaseAgent): Record<string, unknown> {
  const runConfig = rememberedOf(config);
  const agents = [...agentsAndTools(root)].filter(isBaseAgent).map(({ name }) => name);
  return {
    [RunMark.resumable]: true,
    ...(Object.keys(runConfig).length > 0 ? { [RunMark.runConfig]: runConfig } : {}),
    ...(agents.length > 1 ? { [RunMark.agents]: agents } : {}),
  };
}

/**
 * Returns the stored options of the run that began with this event. Unknown options are omitted; if one is invalid, as
 * another version may have stored it, all of them are.
 */
export function readStoredConfig({ requestId, customMetadata, actions }: Event): RunConfig {
  let config = rememberedOf(Object(actions.agentState?.[RunMark.runConfig]));
  try {
    checkRunConfig(config);
  } catch (error) {
    if (!ConfigurationError.isInstance(error)) throw error;
    config = {};
  }
  return { ...config, resumable: true, requestId, customMetadata };
}

function rememberedOf(config: RunConfig): RunConfig {
  return Object.fromEntries(REMEMBERED.flatMap((name) => (config[name] === undefined ? [] : [[name, config[name]]])));
}
