import { ConfigurationError, type Event, type RunConfig } from '@eventloom/core';
import { checkRunConfig, RunMark } from '@eventloom/core/internal';

/** Options that a resumable run stores in its user event, in addition to those that every event has. */
const REMEMBERED = [
  'streamingMode',
  'completionEvent',
  'maxLlmCalls',
  'maxParallelToolCalls',
  'clientTools',
  'pauseOnToolCalls',
] as const;

/** Makes the `agentState` of a resumable run's user event: it marks the run as resumable and has the run's options. */
export function toStoredConfig(config: RunConfig): Record<string, unknown> {
  const runConfig = rememberedOf(config);
  const mark = { [RunMark.resumable]: true };
  return Object.keys(runConfig).length > 0 ? { ...mark, [RunMark.runConfig]: runConfig } : mark;
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
