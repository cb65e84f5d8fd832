import {
  appendTools,
  ConfigurationError,
  type EventActions,
  type FunctionDeclaration,
  type LlmRequest,
  type ResponseScheduling,
} from '@eventloom/core';
import { getOwn, Modality } from '@eventloom/core/internal';
import { prepareRequest, type AgentTurn } from '@eventloom/llm-agent/internal';
import type { LiveToolCalls } from './live-tool-calls.ts';
import { STOP_STREAMING, StopStreamingTool } from './stop-streaming-tool.ts';

/** The options of a run config that are passed to the service as they are. */
const PASSED_ON = [
  'speechConfig',
  'inputAudioTranscription',
  'outputAudioTranscription',
  'realtimeInputConfig',
  'contextWindowCompression',
  'proactivity',
  'enableAffectiveDialog',
] as const;

/**
 * Prepares the request that opens a live connection, as every request of the agent is prepared. Its contents are the history; with a handle
 * they are empty, because the service has the history.
 */
export async function prepareLiveRequest(
  turn: AgentTurn,
  handle: string | undefined,
  calls: LiveToolCalls,
  actions: EventActions,
): Promise<LlmRequest> {
  const request = await prepareRequest(turn, actions);
  const listens = Object.values(request.toolsDict).some((tool) => tool.hasInputStream);
  if (listens && !getOwn(request.toolsDict, STOP_STREAMING)) appendTools(request, [new StopStreamingTool(calls)]);
  declareNonBlocking(request);
  const { config } = request;
  const { runConfig, invocation } = turn.context;
  config.responseModalities = [...(runConfig.responseModalities ?? [Modality.AUDIO])];
  if (invocation.rootAgent.subAgents.length > 0) {
    config['inputAudioTranscription'] = {};
    config['outputAudioTranscription'] = {};
  }
  for (const option of PASSED_ON) if (runConfig[option] !== undefined) config[option] = runConfig[option];
  const { sessionResumption } = runConfig;
  if (sessionResumption) config['sessionResumption'] = withHandle(sessionResumption, handle);
  if (handle !== undefined) request.contents = [];
  return request;
}

const SCHEDULINGS: ReadonlySet<string> = new Set<ResponseScheduling>(['SILENT', 'WHEN_IDLE', 'INTERRUPT']);

/** An entry of a request's tools: one of the runtime's, or one of the vendor's. */
interface Tool {
  readonly functionDeclarations?: readonly FunctionDeclaration[];
}

/**
 * Declares tools as non-blocking, which only live models know.
 * @throws ConfigurationError for an unknown scheduling
 */
function declareNonBlocking({ config, toolsDict }: LlmRequest): void {
  for (const { name, responseScheduling } of Object.values(toolsDict)) {
    if (responseScheduling !== undefined && !SCHEDULINGS.has(responseScheduling))
      throw new ConfigurationError(
        `tool "${name}": responseScheduling: expected one of ${[...SCHEDULINGS].join(', ')}, got ${String(responseScheduling).slice(0, 40)}; write responseScheduling: 'SILENT'`,
      );
  }
  if (!config.tools || !Object.values(toolsDict).some((tool) => tool.isNonBlocking)) return;
  const declared = (declaration: FunctionDeclaration): FunctionDeclaration =>
    getOwn(toolsDict, declaration.name ?? '')?.isNonBlocking
      ? { ...declaration, behavior: 'NON_BLOCKING' }
      : declaration;
  config.tools = (config.tools as Tool[]).map((tool) =>
    tool.functionDeclarations ? { ...tool, functionDeclarations: tool.functionDeclarations.map(declared) } : tool,
  );
}

/** Returns the option with this handle or without one: the handle in the run config is for the first connection. */
function withHandle(sessionResumption: { readonly handle?: unknown }, handle: string | undefined): object {
  const { handle: _, ...asked } = sessionResumption;
  return handle === undefined ? asked : { ...asked, handle };
}

/** The handle in the run config: the run resumes that session of the service. */
export function givenHandle(sessionResumption: object | undefined): string | undefined {
  if (!sessionResumption || !('handle' in sessionResumption)) return undefined;
  return typeof sessionResumption.handle === 'string' ? sessionResumption.handle : undefined;
}
