import { type OptionNames, checkKnown } from '@eventloom/core/internal';

import { InMemoryArtifactService } from '@eventloom/artifacts';
import { InMemoryCredentialService } from '@eventloom/credentials';
import { geminiModels, type GeminiOptions } from '@eventloom/gemini';
import { InMemoryMemoryService } from '@eventloom/memory';
import type { RunnerConfig } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { Runner } from './runner.ts';

/** Config of an in-memory runner: the agent, and options that differ from the defaults. */
export interface InMemoryRunnerConfig extends Omit<RunnerConfig, 'appName' | 'sessionService' | 'artifactService'> {
  /** Default `InMemoryRunner`. */
  readonly appName?: string | undefined;
  /** The key, and all else that agents need whose model is the name of a Gemini model. Not used when `models` is given. */
  readonly gemini?: Omit<GeminiOptions, 'model'> | undefined;
}

const OPTIONS: OptionNames<InMemoryRunnerConfig> = {
  appName: true,
  agent: true,
  gemini: true,
  models: true,
  memoryService: true,
  credentialService: true,
  plugins: true,
  instrumentation: true,
  live: true,
  platform: true,
  autoCreateSession: true,
  sessionCache: true,
  leaseTtlMs: true,
  requestTtlMs: true,
  eventsCompaction: true,
  contextCacheConfig: true,
  runConfig: true,
  resumable: true,
  getSessionConfig: true,
};
const USE_RUNNER = 'it keeps them in memory; for another service write new Runner({ appName, agent, sessionService })';
const HINTS = { apiKey: 'write gemini: { apiKey }', sessionService: USE_RUNNER, artifactService: USE_RUNNER };

/**
 * A runner whose sessions, artifacts and, unless services for them are given, memories and credentials live in memory and end with the process: for
 * tests, tools and first steps. A model's name is looked up at Gemini.
 *
 * @example
 * const runner = new InMemoryRunner({ agent, gemini: { apiKey }, autoCreateSession: true });
 * for await (const event of runner.runAsync({ userId, sessionId, newMessage })) console.log(event);
 */
export class InMemoryRunner extends Runner {
  /** @throws ConfigurationError as `Runner` does; a missing Gemini key shows when a run first asks for a Gemini model */
  constructor(options: InMemoryRunnerConfig) {
    checkKnown('InMemoryRunner', OPTIONS, options, HINTS);
    const { gemini, appName = 'InMemoryRunner', models, ...config } = options;
    super({
      ...config,
      appName,
      models: models ?? geminiModels(gemini ?? {}),
      sessionService: new InMemorySessionService({ platform: config.platform }),
      artifactService: new InMemoryArtifactService({ platform: config.platform }),
      memoryService: config.memoryService ?? new InMemoryMemoryService(),
      credentialService: config.credentialService ?? new InMemoryCredentialService(),
    });
  }
}
