/** Serves the scenarios on Node until it is killed: `scenario-node.ts <folder> <port> <address of the model> <resume | leave>`. */
import { join } from 'node:path';
import { FileArtifactService } from '@eventloom/artifacts/fs';
import { dev, SpanStore } from '@eventloom/dev';
import { liveEndpoint } from '@eventloom/live/server';
import { createServer } from '@eventloom/server';
import { serve } from '@eventloom/server/node';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { studio } from '@eventloom/studio';
import { studioFiles } from '@eventloom/studio/node';
import { scenarioRunners } from './scenario-runners.ts';

const [folder = '', port, modelUrl = '', onUnfinishedRuns] = process.argv.slice(2);
const spans = new SpanStore();
const runners = scenarioRunners(modelUrl, {
  sessionService: new SqliteSessionService({ path: join(folder, 'sessions.db') }),
  artifactService: new FileArtifactService({ rootDir: folder }),
  instrumentation: spans,
});
const server = createServer({
  runners,
  protocols: [studio({ files: studioFiles() }), dev({ spans })],
  live: liveEndpoint(),
  onUnfinishedRuns: onUnfinishedRuns === 'leave' ? 'leave' : 'resume',
});
await serve(server, { port: Number(port) });
console.log('ready');
