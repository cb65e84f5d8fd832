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
    // A summary takes the place of all but the newest 20 events when a request had 30,000 tokens.
    eventsCompaction: {
      summarizer: new LlmEventSummarizer({ model }),
      tokenThreshold: 30_000,
      eventRetentionSize: 20,
    },
    // The service keeps what requests begin with, where that has 4,096 tokens at least.
    contextCacheConfig: { minTokens: 4096 },
  });
}
