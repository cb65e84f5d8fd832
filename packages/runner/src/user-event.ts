import {
  type BaseArtifactService,
  ConfigurationError,
  type Content,
  createEventActions,
  type Event,
  type EventActions,
  type Part,
  type Session,
  sessionKeyOf,
  setOwn,
} from '@eventloom/core';

/** What the user said, as the event that starts an invocation. */
export function createUserEvent(params: {
  readonly id: string;
  readonly invocationId: string;
  readonly timestampMs: number;
  readonly content: Content;
  readonly stateDelta: Record<string, unknown>;
  readonly artifactDelta: Record<string, number>;
}): Event {
  const { id, invocationId, timestampMs, content, stateDelta, artifactDelta } = params;
  const actions: EventActions = createEventActions({ stateDelta, artifactDelta });
  return {
    id,
    invocationId,
    author: 'user',
    timestamp: timestampMs / 1000,
    content,
    executionId: invocationId,
    actions,
  };
}

/** The message with each piece of inline data saved as an artifact and a line of text in its place. */
export async function saveInputBlobs(
  message: Content,
  session: Session,
  invocationId: string,
  artifactService: BaseArtifactService | undefined,
): Promise<{ readonly content: Content; readonly artifactDelta: Record<string, number> }> {
  if (!artifactService)
    throw new ConfigurationError('runConfig.saveInputBlobsAsArtifacts: the runner has no artifactService');
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
