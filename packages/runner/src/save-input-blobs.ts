import {
  type BaseArtifactService,
  ConfigurationError,
  type Content,
  type Invocation,
  type Part,
  sessionKeyOf,
  setOwn,
} from '@eventloom/core';

/** The message with each piece of inline data saved as an artifact and a line of text in its place. */
export async function saveInputBlobs(
  { session, invocationId }: Invocation,
  message: Content,
  artifactService: BaseArtifactService | undefined,
): Promise<{ readonly content: Content; readonly artifactDelta: Record<string, number> }> {
  if (!artifactService) {
    throw new ConfigurationError('runConfig.saveInputBlobsAsArtifacts: the runner has no artifactService');
  }
  const artifactDelta: Record<string, number> = {};
  const parts: Part[] = [];
  for (const [index, part] of (message.parts ?? []).entries()) {
    if (!part.inlineData) {
      parts.push(part);
      continue;
    }
    const filename = `artifact_${invocationId}_${index}`;
    const version = await artifactService.saveArtifact({ ...sessionKeyOf(session), filename, artifact: part });
    setOwn(artifactDelta, filename, version);
    parts.push({ text: `Uploaded file: ${filename}. It is saved as an artifact.` });
  }
  return { content: { ...message, parts }, artifactDelta };
}
