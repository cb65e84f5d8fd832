import { ConfigurationError, type Event, type RunConfig } from '@eventloom/core';
import { checkRunConfig } from '@eventloom/core/internal';

/** What a resumable run remembers of how it goes, besides what is on every event of it. */
const REMEMBERED = ['streamingMode', 'completionEvent', 'maxLlmCalls', 'maxParallelToolCalls', 'clientTools'] as const;
const NAMES: ReadonlySet<string> = new Set(REMEMBERED);

/** What the user's event of a resumable run says in its `agentState`: that it can be resumed, and how it goes. */
export function toBeginning(config: RunConfig): Record<string, unknown> {
  const runConfig = Object.fromEntries(
    REMEMBERED.flatMap((name) => (config[name] === undefined ? [] : [[name, config[name]]])),
  );
  return Object.keys(runConfig).length > 0 ? { resumable: true, runConfig } : { resumable: true };
}

/** What is remembered of the config of the run that began with this event. What does not make sense, from another version, is not. */
export function configOfBeginning({ requestId, customMetadata, actions }: Event): RunConfig {
  const remembered = actions.agentState?.['runConfig'];
  return {
    ...sensible(Object(remembered)),
    resumable: true,
    ...(requestId === undefined ? {} : { requestId }),
    ...(customMetadata === undefined ? {} : { customMetadata }),
  };
}

function sensible(remembered: object): RunConfig {
  const config = Object.fromEntries(Object.entries(remembered).filter(([name]) => NAMES.has(name)));
  try {
    checkRunConfig(config);
    return config;
  } catch (error) {
    if (ConfigurationError.isInstance(error)) return {};
    throw error;
  }
}
