import { type Event, type EventActions, type Part, sessionKeyOf } from '@eventloom/core';
import type { MutableInvocation } from './create-invocation.ts';
import type { EventCommitter } from './event-committer.ts';
import type { MatchedMessage } from './match-answers.ts';
import { toBeginning } from './resume/run-beginning.ts';
import { saveInputBlobs } from './save-input-blobs.ts';

/** Marks a user event as a continuation, so that reading back to the begin of the run does not stop at it. */
const GOES_ON: Partial<EventActions> = { agentState: { goesOn: true } };

/** How a message is stored. */
export interface StoreMessage {
  /** True for answers with which a run goes on. */
  readonly goesOn: boolean;
  /** State that is written together with the message. */
  readonly stateDelta: Record<string, unknown>;
  /** Where a message goes that is no answer. */
  readonly branch: string | undefined;
}

/** Stores the message of a run, or the answers to its calls: those to calls on one branch are one event, which is seen there. */
export async function storeMessage(
  invocation: MutableInvocation,
  committer: EventCommitter,
  { message, calls, answers }: MatchedMessage,
  { goesOn, stateDelta, branch: picked }: StoreMessage,
): Promise<void> {
  const { runConfig, session, artifactService } = invocation;
  let actions: Partial<EventActions> = { stateDelta, ...(goesOn && GOES_ON) };
  if (runConfig.saveInputBlobsAsArtifacts && !goesOn) {
    const { content, artifactDelta } = await saveInputBlobs(
      invocation,
      invocation.userContent ?? message,
      artifactService,
    );
    invocation.userContent = content;
    actions = { ...actions, artifactDelta };
  }
  if (runConfig.resumable && !goesOn) actions = { ...actions, agentState: toBeginning(runConfig) };
  const content = goesOn ? message : (invocation.userContent ?? message);
  if (answers) await answers.keepCredentials(sessionKeyOf(session));
  for (const [branch, parts] of partsByBranch(content.parts ?? [], calls, picked)) {
    const event = { author: 'user', content: { ...content, parts }, actions };
    await committer.appendNew(branch === undefined ? event : { ...event, branch });
    actions = GOES_ON;
  }
}

/**
 * The parts of a message by the branches that they are for, in order: a function response is for the branch of its call.
 * @param calls the event with the call of each part; empty for a message that is no answer
 * @param branch where a message goes that is none
 */
function partsByBranch(
  parts: Part[],
  calls: readonly Event[],
  branch: string | undefined,
): Iterable<readonly [string | undefined, Part[]]> {
  if (calls.length === 0) return [[branch, parts]];
  const byBranch = new Map<string | undefined, Part[]>();
  for (const [index, part] of parts.entries()) {
    const place = calls[index]?.branch;
    byBranch.set(place, [...(byBranch.get(place) ?? []), part]);
  }
  return byBranch;
}
