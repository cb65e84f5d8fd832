import { InMemoryArtifactService } from '@eventloom/artifacts';
import { InMemoryCredentialService } from '@eventloom/credentials';
import { InMemoryMemoryService } from '@eventloom/memory';
import { InMemorySessionService } from '@eventloom/sessions';
import { type AdkRunnerConfig, AdkRunner } from './runner.ts';

/** Options of an in-memory runner: all of a `Runner` but the services that it has itself. */
export type AdkInMemoryRunnerConfig = Omit<AdkRunnerConfig, 'sessionService' | 'artifactService'>;

/**
 * A runner whose sessions, artifacts and memories are lost when the process ends. `appName` is `InMemoryRunner` by default.
 *
 * @example
 * const runner = new InMemoryRunner({ agent });
 * for await (const event of runner.runEphemeral({ userId, newMessage: { parts: [{ text: 'Hello' }] } })) console.log(event);
 */
export class AdkInMemoryRunner extends AdkRunner {
  /** @throws ConfigurationError for a missing or invalid option, and for one that does not exist */
  constructor(config: AdkInMemoryRunnerConfig) {
    super({
      ...config,
      appName: config.appName ?? 'InMemoryRunner',
      sessionService: new InMemorySessionService({ platform: config.platform }),
      artifactService: new InMemoryArtifactService({ platform: config.platform }),
      memoryService: config.memoryService ?? new InMemoryMemoryService(),
      credentialService: config.credentialService ?? new InMemoryCredentialService(),
    });
  }
}
