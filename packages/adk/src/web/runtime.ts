// What stands in for ../node/runtime.ts outside Node: there are no files, processes, threads and environment variables.

import type { DriverArtifactService } from '@eventloom/artifacts';
import { GcsArtifactService } from '@eventloom/artifacts/gcs';
import { type BaseSessionService, ConfigurationError } from '@eventloom/core';
import type { MCPConnectionParams } from '@eventloom/mcp';
import type { Skill } from '@eventloom/skills';

export function loadA2aServer(): never {
  throw new ConfigurationError(
    'toA2a needs Node; on Workers write createCloudflareServer({ protocols: [a2a({ agents })] }), with a2a of @eventloom/a2a',
  );
}

export function readAgentCard(path: string): never {
  throw new ConfigurationError(
    `agentCard: ${path} is a path, and files can be read on Node alone; write the card, or its address`,
  );
}

export function openAgentFiles(_path: string): never {
  throw new ConfigurationError(
    'loadAgentFromConfig: files need Node; on Workers write the agent in TypeScript, new LlmAgent({ name, model, instruction })',
  );
}

export function readVariable(_name: string): string | undefined {
  return undefined;
}

export function readUnsetVariable(_name: string): string | undefined {
  return undefined;
}

export function describeDotEnv(): string {
  return '';
}

export async function readTextFiles(_folder: string, _limits: object): Promise<{ readonly text: string }[]> {
  throw new ConfigurationError(
    'FilesRetrieval.create: needs Node; on Workers write new FilesRetrieval({ name, description, inputDir, retriever }) with a retriever of your own',
  );
}

export function openDatabaseSessions(_url: string, _caller: string): BaseSessionService {
  throw new ConfigurationError(
    'DatabaseSessionService: needs Node; on Workers write new DurableObjectSessionService({ storage }) of @eventloom/sessions/durable-object',
  );
}

export function openFileArtifacts(_rootDirOrUri: string): DriverArtifactService {
  throw new ConfigurationError(
    'FileArtifactService: needs Node; on Workers write new R2ArtifactService({ bucket }) of @eventloom/artifacts/r2',
  );
}

/**
 * Opens the artifacts of a bucket.
 * @throws ConfigurationError without `accessToken`: outside Node there are no credentials in the environment
 */
export function openGcsArtifacts(
  bucket: string,
  {
    apiEndpoint,
    accessToken,
  }: {
    readonly apiEndpoint?: string | undefined;
    readonly accessToken?: (() => string | Promise<string>) | undefined;
  } = {},
): DriverArtifactService {
  if (accessToken) return new GcsArtifactService({ bucket, accessToken, endpoint: apiEndpoint });
  throw new ConfigurationError(
    'GcsArtifactService: accessToken is missing; outside Node write new GcsArtifactService(bucket, { accessToken: () => token })',
  );
}

export function openLocalExecutor(_options?: object): never {
  throw new ConfigurationError(
    'UnsafeLocalCodeExecutor: needs Node; on Workers write new QuickJsCodeExecutor() of @eventloom/quickjs',
  );
}

export async function loadSkillFromDir(_dir: string): Promise<Skill> {
  throw new ConfigurationError('loadSkillFromDir needs Node; on Workers write loadSkillFromFiles of @eventloom/skills');
}

export async function findSkillDirs(_base: string): Promise<string[]> {
  throw new ConfigurationError(
    'loadAllSkillsInDir needs Node; on Workers write loadAllSkillsFromFiles or loadAllSkillsInBucket of @eventloom/skills',
  );
}

export function toStdioParams(_params: object): MCPConnectionParams {
  throw new ConfigurationError(
    "MCPToolset: StdioConnectionParams needs Node; on Workers write { type: 'StreamableHTTPConnectionParams', url }",
  );
}

export function findScriptFault(_script: string): string | undefined {
  return undefined;
}

export function startWorker(_script: string, _data: object, _listener: object): never {
  throw new ConfigurationError(
    'BackgroundTool: needs Node; on Workers write a LongRunningFunctionTool whose result the client sends later',
  );
}

export function readWorkerData(): unknown {
  return undefined;
}
