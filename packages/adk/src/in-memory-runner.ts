import { InMemoryArtifactService } from '@eventloom/artifacts';
import { ConfigurationError } from '@eventloom/core';
import { describeKind, isRecord } from '@eventloom/core/internal';
import { AdkInMemoryMemoryService } from './in-memory-memory.ts';
import { type AdkRunnerConfig, AdkRunner } from './runner.ts';
import { AdkInMemorySessionService } from './session-reads.ts';

/**
 * Options of the `InMemoryRunner` for programs that were written for `@google/adk`: those of the ADK's `Runner`,
 * without the services that it has itself. There is no `gemini`, unlike with the `InMemoryRunner` of `eventloom`: keys
 * come from the environment.
 */
export type AdkInMemoryRunnerConfig = Omit<AdkRunnerConfig, 'sessionService' | 'artifactService'>;

/**
 * The `InMemoryRunner` for programs that were written for `@google/adk`: its sessions, artifacts and memories are lost
 * when the process ends. Unlike that of `eventloom`, it has `runEphemeral`, and takes keys from the environment on Node
 * instead of from an option `gemini`. `appName` is `InMemoryRunner` by default.
 *
 * @example
 * const runner = new InMemoryRunner({ agent });
 * for await (const event of runner.runEphemeral({ userId, newMessage: { parts: [{ text: 'Hello' }] } })) console.log(event);
 */
export class AdkInMemoryRunner extends AdkRunner {
  /** The name of the class in error messages. */
  static override readonly name: string = 'InMemoryRunner';
  /** @throws ConfigurationError for a missing or invalid option, and for one that does not exist */
  constructor(config: AdkInMemoryRunnerConfig) {
    if (!isRecord(config))
      throw new ConfigurationError(
        `InMemoryRunner: expected an object of options, got ${describeKind(config)}; write new InMemoryRunner({ agent })`,
      );
    super({
      ...config,
      appName: config.appName ?? 'InMemoryRunner',
      sessionService: new AdkInMemorySessionService({ platform: config.platform }),
      artifactService: new InMemoryArtifactService({ platform: config.platform }),
      memoryService: config.memoryService ?? new AdkInMemoryMemoryService(),
    });
  }
}
