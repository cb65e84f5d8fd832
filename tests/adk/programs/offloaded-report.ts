import {
  BaseTool,
  type Context,
  FunctionTool,
  LlmAgent,
  LoadArtifactsTool,
  type LlmRequest,
  type ToolProcessLlmRequest,
} from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

function addInstruction(request: LlmRequest, text: string): void {
  request.config ??= {};
  const { systemInstruction } = request.config;
  request.config.systemInstruction = typeof systemInstruction === 'string' ? `${systemInstruction}\n\n${text}` : text;
}

const answered = ({ contents }: LlmRequest) => contents.at(-1)?.parts?.[0]?.functionResponse;

/** Lists the artifacts with their summaries for the model, and loads those that it requests. */
class SummarizingArtifactsTool extends LoadArtifactsTool {
  override async processLlmRequest(request: ToolProcessLlmRequest): Promise<void> {
    await BaseTool.prototype.processLlmRequest.call(this, request);
    const { toolContext, llmRequest } = request;
    const service = toolContext.invocationContext.artifactService;
    const names = await toolContext.listArtifacts();
    if (!service || names.length === 0) return;
    const lines = [];
    for (const filename of names) {
      const version = await service.getArtifactVersion({ filename });
      lines.push(`${filename}: ${String(version?.customMetadata?.['summary'])}`);
    }
    addInstruction(llmRequest, `Artifacts: ${lines.join(', ')}`);
    const response = answered(llmRequest);
    if (response?.name !== 'load_artifacts') return;
    for (const name of (response.response?.['artifact_names'] as string[] | undefined) ?? []) {
      const artifact = await toolContext.loadArtifact(name);
      if (artifact) llmRequest.contents.push({ role: 'user', parts: [{ text: `Artifact ${name} is:` }, artifact] });
    }
  }
}

const parameters = z.object({ region: z.string() });

/** Saves a long report as an artifact, and shows it to the model only in the next request. */
class ReportTool extends FunctionTool<typeof parameters> {
  constructor() {
    super({ name: 'report', description: 'Writes a report.', parameters, execute: write });
  }

  override async processLlmRequest(request: ToolProcessLlmRequest): Promise<void> {
    await super.processLlmRequest(request);
    const response = answered(request.llmRequest);
    const name = response?.name === 'report' ? response.response?.['artifact'] : undefined;
    const artifact = typeof name === 'string' ? await request.toolContext.loadArtifact(name) : undefined;
    if (artifact) request.llmRequest.contents.push({ role: 'user', parts: [{ text: 'The report is:' }, artifact] });
  }
}

async function write({ region }: { region: string }, toolContext?: Context): Promise<{ artifact: string }> {
  const filename = `${region}.txt`;
  const service = toolContext?.invocationContext.artifactService;
  if (!service) throw new Error('no artifacts');
  const version = await service.saveArtifact({
    filename,
    artifact: { text: `Sales of ${region}` },
    customMetadata: { summary: `sales of ${region}` },
  });
  toolContext.eventActions.artifactDelta[filename] = version;
  return { artifact: filename };
}

const agent = new LlmAgent({
  name: 'analyst',
  model: 'gemini-flash-latest',
  instruction: 'Answer questions about sales.',
  tools: [new ReportTool(), new SummarizingArtifactsTool()],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'report', args: { region: 'north' } }] })),
    jsonReply(wireResponse('The north sells well.')),
    jsonReply(wireResponse({ calls: [{ name: 'load_artifacts', args: { artifact_names: ['north.txt'] } }] })),
    jsonReply(wireResponse('As I said.')),
  ],
  main: (tell) => converse(tell, agent, ['The north?', 'Again, please.']),
};
export default program;
