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
const NAMES: ReadonlySet<string> = new Set(REMEMBERED);

/** Makes the `agentState` of a resumable run's user event: it marks the run as resumable and has the run's options. */
export function toStoredConfig(config: RunConfig): Record<string, unknown> {
  const runConfig = Object.fromEntries(
    REMEMBERED.flatMap((name) => (config[name] === undefined ? [] : [[name, config[name]]])),
  );
  const mark = { [RunMark.resumable]: true };
  return Object.keys(runConfig).length > 0 ? { ...mark, [RunMark.runConfig]: runConfig } : mark;
}

/**
 * Returns the stored options of the run that began with this event. Unknown options are omitted; if one is invalid, as
 * another version may have stored it, all of them are.
 */
export function readStoredConfig({ requestId, customMetadata, actions }: Event): RunConfig {
  const remembered = actions.agentState?.[RunMark.runConfig];
  return { ...validOptions(Object(remembered)), resumable: true, requestId, customMetadata };
}

function validOptions(remembered: object): RunConfig {
  const config = Object.fromEntries(Object.entries(remembered).filter(([name]) => NAMES.has(name)));
  try {
    checkRunConfig(config);
    return config;
  } catch (error) {
    if (ConfigurationError.isInstance(error)) return {};
    throw error;
  }
}
