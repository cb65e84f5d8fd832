import type {
  BaseArtifactService,
  BaseCredentialService,
  BaseMemoryService,
  BaseSessionService,
} from '@eventloom/core';
import { Runner } from '@eventloom/runner';
import { loadAgents } from './agents/load-agents.ts';
import { lendEventloom } from './agents/eventloom-imports.ts';
import { modelsOf } from './agents/models.ts';
import { createDemoAgent } from './demo/demo-agent.ts';
import { OfflineDemoModel } from './demo/offline/offline-demo-model.ts';
import { AgentLoadError } from './errors.ts';
import type { Settings } from './settings.ts';

/** Where the runs of all apps are kept. */
export interface Services {
  readonly sessionService: BaseSessionService;
  readonly artifactService: BaseArtifactService;
  readonly memoryService: BaseMemoryService;
  readonly credentialService: BaseCredentialService;
}

/**
 * A runner for each app: the agents of the folder that the settings name, or the demo agent.
 * @param onFailure told of each agent that cannot be served
 * @throws AgentLoadError when none can, UsageError when the folder is none
 */
export async function createRunners(
  { agentsFolder, gemini, demoModel, resumable, requestTtlMs }: Settings,
  services: Services,
  onFailure: (failure: AgentLoadError) => void,
): Promise<Runner[]> {
  const models = modelsOf(gemini);
  const shared = { models, resumable, requestTtlMs, ...services };
  if (agentsFolder === undefined) {
    const agent = createDemoAgent(gemini ? demoModel : new OfflineDemoModel());
    return [new Runner({ appName: 'demo', agent, ...shared })];
  }
  lendEventloom();
  const { agents, failures } = await loadAgents(agentsFolder);
  for (const failure of failures) onFailure(failure);
  if (agents.length === 0) throw new AgentLoadError(`no agent of ${agentsFolder} can be served`);
  return agents.map(({ appName, agent }) => new Runner({ appName, agent, ...shared }));
}
