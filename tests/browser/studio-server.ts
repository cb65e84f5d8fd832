/**
 * Serves Studio until it is killed: `studio-server.ts <file of the sessions> <port> <never | at once> <resume |
 * leave>`. The last argument is the treatment of runs of a killed process. Prints its port.
 */
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { createServer } from '@eventloom/server';
import { serve } from '@eventloom/server/node';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { studio } from '@eventloom/studio';
import { studioFiles } from '@eventloom/studio/node';
import { Gate, ScriptedModel } from '@eventloom/testing';
import { look } from './studio-tools.ts';

const [file = '', port = '0', answers, onUnfinishedRuns] = process.argv.slice(2);
const gate = new Gate();
if (answers === 'at once') gate.open();
const call = { calls: [{ name: 'look' }] };
const reply = { chunks: ['The sky ', gate, 'is blue.'] };
const sessionService = new SqliteSessionService({ path: file });
const runner = new Runner({
  appName: 'app',
  agent: new LlmAgent({
    name: 'helper',
    // A resumed run has the result of the tool, and continues with the reply.
    model: new ScriptedModel(answers === 'never' ? [call, reply, call, reply] : [reply]),
    tools: [look],
  }),
  sessionService,
  resumable: true,
  // The lease of a killed process expires soon.
  leaseTtlMs: 2000,
});
const server = createServer({
  runners: [runner],
  protocols: [studio({ files: studioFiles() })],
  onUnfinishedRuns: onUnfinishedRuns === 'leave' ? 'leave' : 'resume',
});
console.log((await serve(server, { port: Number(port) })).port);
