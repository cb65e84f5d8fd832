import {
  appendInstructions,
  appendTools,
  BaseTool,
  decodeBase64,
  type FunctionDeclaration,
  InvalidArtifactNameError,
  type LlmRequest,
  type Part,
  type RunAsyncToolRequest,
  type ToolContext,
  type ToolProcessLlmRequest,
} from '@eventloom/core';

const NAME = 'load_artifacts';
const DECLARATION: FunctionDeclaration = {
  name: NAME,
  description: 'Loads artifacts (files, such as uploads of the user) of this session for the next answer.',
  parametersJsonSchema: {
    type: 'object',
    properties: {
      artifact_names: { type: 'array', items: { type: 'string' }, description: 'The names of the artifacts to load.' },
    },
    required: ['artifact_names'],
  },
};
const STATUS =
  'artifact contents temporarily inserted and removed. to access these artifacts, call load_artifacts tool again.';

/** Maximum number of artifacts that one call loads. */
const MAX_ARTIFACTS = 20;

/**
 * The tool `load_artifacts`. It lists the names of the session's artifacts for the model in a user content at the beginning of the
 * conversation, not in an instruction, because users choose the names. After a call, only the next request has the contents of the
 * artifacts, at its end. Media that Gemini reads are sent unchanged, text as text; other files are described.
 *
 * Without an artifact service the model gets no list of artifacts.
 */
export class LoadArtifactsTool extends BaseTool {
  constructor() {
    super({ name: NAME, description: DECLARATION.description ?? '', idempotent: true });
  }

  override _getDeclaration(): FunctionDeclaration {
    return DECLARATION;
  }

  override runAsync({ args }: RunAsyncToolRequest): unknown {
    const names = args['artifact_names'] ?? [];
    if (!Array.isArray(names) || !names.every((name) => typeof name === 'string'))
      return { error: `the arguments of ${NAME} are not valid: artifact_names: expected a list of names` };
    if (names.length > MAX_ARTIFACTS)
      return { error: `the arguments of ${NAME} are not valid: artifact_names: at most ${MAX_ARTIFACTS} at once` };
    return { artifact_names: names, status: STATUS };
  }

  override async processLlmRequest({ toolContext, llmRequest }: ToolProcessLlmRequest): Promise<void> {
    appendTools(llmRequest, [this]);
    if (!toolContext.invocationContext.artifactService) return;
    const names = await toolContext.listArtifacts();
    if (names.length === 0) return;
    appendInstructions(llmRequest, [
      `The conversation begins with a list of artifacts.
Before you answer questions about artifacts, load them with the function ${NAME}, also if you loaded them before. Do not rely on earlier answers about them.`,
    ]);
    const { contents } = llmRequest;
    // A live model would answer the list at once if the conversation were empty.
    if (contents.length === 0) return;
    const parts = await Promise.all(requestedNames(llmRequest).map((name) => artifactParts(toolContext, name)));
    llmRequest.contents = [{ role: 'user', parts: [{ text: `Artifacts: ${JSON.stringify(names)}` }] }, ...contents];
    if (parts.length > 0) llmRequest.contents.push({ role: 'user', parts: parts.flat() });
  }
}

/** A `LoadArtifactsTool`. Any number of agents can share it. */
export const LOAD_ARTIFACTS: LoadArtifactsTool = /* @__PURE__ */ new LoadArtifactsTool();

/** Returns the names in the responses of this tool that the request ends with, each once. */
function requestedNames({ contents }: LlmRequest): string[] {
  const responses = contents.at(-1)?.parts?.flatMap(({ functionResponse }) => functionResponse ?? []) ?? [];
  const names = responses.flatMap(({ name, response }) => {
    const loaded = name === NAME ? response?.['artifact_names'] : undefined;
    return Array.isArray(loaded) ? loaded.filter((item) => typeof item === 'string') : [];
  });
  return [...new Set(names)];
}

async function artifactParts(toolContext: ToolContext, name: string): Promise<Part[]> {
  const artifact = await findArtifact(toolContext, name);
  if (artifact === undefined) return [{ text: `There is no artifact ${name}.` }];
  return [{ text: `Artifact ${name} is:` }, readablePart(artifact, name)];
}

/** Loads an artifact of the session, otherwise the user's artifact with that name. */
async function findArtifact(toolContext: ToolContext, name: string): Promise<Part | undefined> {
  try {
    const own = await toolContext.loadArtifact(name);
    return own ?? (name.startsWith('user:') ? undefined : await toolContext.loadArtifact(`user:${name}`));
  } catch (error) {
    // The name may be invalid, because the model chose it.
    if (InvalidArtifactNameError.isInstance(error)) return undefined;
    throw error;
  }
}

const MEDIA = /^(image|audio|video)\/|^application\/pdf$/;
const TEXT = /^text\/|^application\/(csv|json|xml|yaml|x-ndjson)$|\+(json|xml)$/;

/** Converts an artifact to a part that models can read: media unchanged, text as text, and other files as a description. */
function readablePart(artifact: Part, name: string): Part {
  const { inlineData } = artifact;
  if (!inlineData) return artifact;
  const [type = ''] = (inlineData.mimeType ?? '').split(';');
  const mimeType = type.trim().toLowerCase() || 'application/octet-stream';
  if (MEDIA.test(mimeType)) return artifact;
  const bytes = decodeBase64(inlineData.data ?? '');
  if (TEXT.test(mimeType)) return { text: new TextDecoder().decode(bytes) };
  const kilobytes = (bytes.length / 1024).toFixed(1);
  return {
    text: `[Binary artifact: ${name}, type: ${mimeType}, size: ${kilobytes} KB. Content cannot be displayed inline.]`,
  };
}
