import {
  type BaseArtifactService,
  ConfigurationError,
  type Content,
  createEventActions,
  type Event,
  type EventActions,
  type Invocation,
  type Part,
  sessionKeyOf,
  setOwn,
} from '@eventloom/core';

/** What the user said, as an event of its invocation. Answers to calls go to the branch of the calls. */
export function createUserEvent(
  { invocationId, platform }: Invocation,
  content: Content,
  actions: Partial<EventActions>,
  branch: string | undefined,
): Event {
  return {
    id: platform.newEventId(),
    invocationId,
    author: 'user',
    timestamp: platform.now() / 1000,
    content,
    executionId: invocationId,
    ...(branch === undefined ? {} : { branch }),
    actions: createEventActions(actions),
  };
}

/**
 * The parts of a message by the branches that they are for, in order: a function response is for the branch of its call.
 * @param calls the event with the call of each part; empty for a message that is no answer
 * @param branch where a message goes that is none
 */
export function partsByBranch(
  parts: readonly Part[],
  calls: readonly Event[],
  branch: string | undefined,
): ReadonlyMap<string | undefined, Part[]> {
  if (calls.length === 0) return new Map([[branch, [...parts]]]);
  const byBranch = new Map<string | undefined, Part[]>();
  for (const [index, part] of parts.entries()) {
    const place = calls[index]?.branch;
    byBranch.set(place, [...(byBranch.get(place) ?? []), part]);
  }
  return byBranch;
}

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
