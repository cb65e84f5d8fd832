// What the package takes from Node. Other runtimes get ../web/runtime.ts, which says what to write there.

import type { MCPConnectionParams } from '@eventloom/mcp';
import { type StdioConnectionOptions, StdioConnectionParams } from '@eventloom/mcp/node';

export { loadSkillFromDir } from '@eventloom/skills/node';
export { loadA2aServer, readAgentCard } from './a2a-server.ts';
export { type AgentFile, type ConfigValue, openAgentFiles, type ReadAgentFile } from './agent-files.ts';
export { describeDotEnv, readUnsetVariable, readVariable } from './environment.ts';
export { readTextFiles } from './files.ts';
export { openDatabaseSessions, openFileArtifacts, openGcsArtifacts, openLocalExecutor } from './services.ts';
export { findSkillDirs } from './skills.ts';
export { findScriptFault, readWorkerData, startWorker } from './worker.ts';

/** Creates the connection to a server that is started as a process. @throws ConfigurationError for invalid params */
export function toStdioParams({ serverParams }: Pick<StdioConnectionOptions, 'serverParams'>): MCPConnectionParams {
  return new StdioConnectionParams({ serverParams });
}
