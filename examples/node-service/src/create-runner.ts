import { FileArtifactService } from '@eventloom/artifacts/fs';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { type BaseLlm, LlmEventSummarizer, Runner } from 'eventloom';
import { createAgent } from './agent.ts';
import { CostPlugin } from './cost-plugin.ts';

/** Creates a runner with sessions and artifacts in a folder, for long conversations. */
export function createRunner(model: BaseLlm, folder: string, log: (line: string) => void): Runner {
  return new Runner({
    appName: 'restaurant',
    agent: createAgent(model),
    sessionService: new SqliteSessionService({ path: `${folder}/sessions.sqlite` }),
    artifactService: new FileArtifactService({ rootDir: `${folder}/artifacts` }),
    autoCreateSession: true,
    resumable: true,
    plugins: [new CostPlugin(log)],
    // After a request of 30,000 tokens, a summary replaces all except the newest 20 events.
    eventsCompaction: {
      summarizer: new LlmEventSummarizer({ model }),
      tokenThreshold: 30_000,
      eventRetentionSize: 20,
    },
    // The service caches the beginning of requests if it has at least 4,096 tokens.
    contextCacheConfig: { minTokens: 4096 },
  });
}
