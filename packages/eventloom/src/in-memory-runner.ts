import { type OptionRules, checkOptions, isBaseAgent } from '@eventloom/core/internal';

import { ConfigurationError } from '@eventloom/core';
import { InMemoryArtifactService } from '@eventloom/artifacts';
import { InMemoryCredentialService } from '@eventloom/credentials';
import { geminiModels, type GeminiOptions } from '@eventloom/gemini';
import { InMemoryMemoryService } from '@eventloom/memory';
import type { RunnerConfig } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { Runner } from './runner.ts';

/** Options of an `InMemoryRunner`. Only `agent` is required. */
export interface InMemoryRunnerConfig extends Omit<RunnerConfig, 'appName' | 'sessionService' | 'artifactService'> {
  /** Name of the app, under which sessions are stored. Default `InMemoryRunner`. */
  readonly appName?: string | undefined;
  /** Options for agents whose `model` is the name of a Gemini model, such as `apiKey`. Ignored with `models`. Default: none. */
  readonly gemini?: Omit<GeminiOptions, 'model'> | undefined;
}

const OPTIONS: OptionRules<InMemoryRunnerConfig> = {
  appName: 'text',
  agent: { is: 'object', wanted: 'an agent', write: 'new LlmAgent({ … })' },
  gemini: { is: 'object', write: '{ apiKey }' },
  models: { is: 'function', write: 'geminiModels({ apiKey })' },
  memoryService: { is: 'object', wanted: 'a memory service', write: 'new InMemoryMemoryService()' },
  credentialService: { is: 'object', wanted: 'a credential service', write: 'new InMemoryCredentialService()' },
  plugins: { is: 'list', wanted: 'a list of plugins', write: '[new LoggingPlugin()]' },
  instrumentation: { is: 'object or list', write: 'openTelemetry()' },
  live: { is: 'object', wanted: 'live support', write: 'live(), of @eventloom/live' },
  platform: 'object',
  autoCreateSession: 'flag',
  sessionCache: 'object',
  leaseTtlMs: 'number',
  requestTtlMs: 'number',
  eventsCompaction: { is: 'object', write: '{ summarizer, tokenThreshold: 30_000, eventRetentionSize: 20 }' },
  contextCacheConfig: { is: 'object', write: '{ minTokens: 4096 }' },
  runConfig: { is: 'object', write: '{ maxLlmCalls: 50 }' },
  resumable: 'flag',
  getSessionConfig: { is: 'object', write: '{ numRecentEvents: 200 }' },
};
const USE_RUNNER =
  'InMemoryRunner keeps them in memory; for another service write new Runner({ appName, agent, sessionService })';
const HINTS = { apiKey: 'write gemini: { apiKey }', sessionService: USE_RUNNER, artifactService: USE_RUNNER };

/**
 * A `Runner` that keeps sessions, files, memories and credentials in memory, for tests, scripts and first steps: all of
 * them are lost when the process ends. Agents may name Gemini models, with the key in `gemini`. No environment variable
 * is read: the `InMemoryRunner` of `eventloom/adk`, for programs that were written for `@google/adk`, does that.
 *
 * @example
 * const runner = new InMemoryRunner({ agent, gemini: { apiKey }, autoCreateSession: true });
 * for await (const event of runner.runAsync({ userId: 'ada', sessionId: 's1', newMessage: 'Hello' })) {
 *   if (isFinalResponse(event) && event.content) console.log(stringifyContent(event));
 * }
 */
export class InMemoryRunner extends Runner {
  /** @throws ConfigurationError for an invalid or unknown option. A missing Gemini key fails the first call of a Gemini model. */
  constructor(options: InMemoryRunnerConfig) {
    if (isBaseAgent(options))
      throw new ConfigurationError('InMemoryRunner: got an agent; write new InMemoryRunner({ agent })');
    checkOptions('InMemoryRunner', OPTIONS, options, HINTS, 'new InMemoryRunner({ agent })');
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
