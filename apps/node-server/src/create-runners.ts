import { createRequire, registerHooks, type ResolveFnOutput } from 'node:module';
import {
  type BaseArtifactService,
  type BaseCredentialService,
  type BaseMemoryService,
  type BaseSessionService,
  ConfigurationError,
  type Instrumentation,
  type ModelResolver,
} from '@eventloom/core';
import { geminiModels } from '@eventloom/gemini';
import { live } from '@eventloom/live';
import { Runner } from '@eventloom/runner';
import { loadAgents } from './agents/load-agents.ts';
import { createDemoAgent } from './demo/demo-agent.ts';
import { OfflineDemoModel } from './demo/offline/offline-demo-model.ts';
import { AgentLoadError } from './errors.ts';
import type { Settings, GeminiClientSettings } from './settings.ts';

/** The services that the runners of all apps share. */
interface Services {
  readonly sessionService: BaseSessionService;
  readonly artifactService: BaseArtifactService;
  readonly memoryService: BaseMemoryService;
  readonly credentialService: BaseCredentialService;
  /** Observes the runs of all apps. */
  readonly instrumentation: Instrumentation | undefined;
}

/**
 * Creates a runner for each app: the agents of the folder in the settings, or the demo agent.
 * @param onFailure called for each agent that cannot be served
 * @throws AgentLoadError if no agent can be served
 * @throws UsageError if the folder is invalid
 */
export async function createRunners(
  { agentsFolder, gemini, demoModel, resumable, requestTtlMs }: Settings,
  services: Services,
  onFailure: (failure: AgentLoadError) => void,
): Promise<Runner[]> {
  const models = modelsOf(gemini);
  const shared = { live: live(), models, resumable, requestTtlMs, ...services };
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

const requireHere = createRequire(import.meta.url);

const OURS = /^(eventloom|@eventloom\/[^/]+)(\/.*)?$/;
/** Modules that this program provides to an agent whose own folder lacks them. */
const LENT = /^zod(\/.*)?$/;

/**
 * Lets any file of this process import `eventloom`, `@eventloom/*` and `zod` without installing them: an agent's file
 * can be in any folder. Eventloom's packages always come from this program, so that agents and the server share one
 * copy.
 */
function lendEventloom(): void {
  registerHooks({
    resolve(specifier, context, nextResolve) {
      if (context.parentURL === import.meta.url) return nextResolve(specifier, context);
      // The context is copied, because Node keeps the parent otherwise.
      const given = { ...context };
      const own = (): ResolveFnOutput => nextResolve(specifier, given);
      const lent = (): ResolveFnOutput => nextResolve(...found(specifier, context));
      // A package that this program does not depend on directly is imported by another package of ours.
      if (OURS.test(specifier)) return firstFound(lent, own);
      return LENT.test(specifier) ? firstFound(own, lent) : own();
    },
  });
}

/** Makes a specifier resolve from this file. `require` ignores `parentURL`, so it gets the resolved path. */
function found<C extends { readonly conditions?: readonly string[] }>(specifier: string, context: C): [string, C] {
  if (context.conditions?.includes('require')) return [requireHere.resolve(specifier), context];
  return [specifier, { ...context, parentURL: import.meta.url }];
}

/** Returns the result of the first function, or of the second if the first finds no module. */
function firstFound(first: () => ResolveFnOutput, second: () => ResolveFnOutput): ResolveFnOutput {
  try {
    return first();
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return second();
  }
}

function isNotFound(error: unknown): boolean {
  return (
    typeof error === 'object' && error !== null && 'code' in error && String(error.code).endsWith('MODULE_NOT_FOUND')
  );
}

/** Resolves names of Gemini models; without a key it throws an error that names the missing variable. */
function modelsOf(gemini: GeminiClientSettings | undefined): ModelResolver {
  if (gemini) return geminiModels(gemini);
  return (model) => {
    throw new ConfigurationError(
      `model ${JSON.stringify(model)}: no key is set; set GEMINI_API_KEY (or GOOGLE_API_KEY) and start again, or give the agent a model object`,
    );
  };
}
