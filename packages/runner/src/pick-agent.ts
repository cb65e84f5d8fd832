import { type BaseAgent, enclosureOf, type Event, InvalidMessageError, newestEntries } from '@eventloom/core';

/** Who goes on with a conversation, and on which branch. */
export interface PickedAgent {
  readonly agent: BaseAgent;
  /** The branch of the calls that the message answers; undefined for the trunk. */
  readonly branch?: string | undefined;
}

/** What the scan for the last speaker found so far: the events before `count` need not be looked at again. */
interface Remembered {
  readonly count: number;
  readonly agent: BaseAgent;
}

/** The key of `Invocation.derived` under which the last speaker is remembered. */
const LAST_SPEAKER = Symbol('last speaker');

/**
 * The agent that made the calls which a message answers, wherever it stands in the tree; the root when the tree has it no more.
 * @throws InvalidMessageError when the calls are of several agents
 */
export function agentOfCalls(root: BaseAgent, calls: readonly Event[]): PickedAgent {
  const [first] = calls;
  if (!first) return { agent: root };
  const { author, branch } = first;
  if (calls.some((other) => other.author !== author || other.branch !== branch)) {
    throw new InvalidMessageError(
      'newMessage: answers calls of several agents in a run that cannot be resumed; send each a message of its own, one after the other',
    );
  }
  return { agent: root.findAgent(author) ?? root, branch };
}

/**
 * The agent that goes on when the user says something: the last one that spoke, as long as it and all above it may hand over to
 * their parents; otherwise the root. Looks at the events that came since it was last asked for these events, newest first, and
 * at no more than it needs.
 * @param derived is kept as long as the events are
 */
export function lastSpeaker(root: BaseAgent, events: readonly Event[], derived: Map<unknown, unknown>): BaseAgent {
  if (root.subAgents.length === 0 || !root.transferRules) return root;
  // The key is this file's own.
  const remembered = derived.get(LAST_SPEAKER) as Remembered | undefined;
  const agent = findSpeaker(root, events, remembered) ?? root;
  rememberSpeaker(derived, events.length, agent);
  return agent;
}

/** Remembers who spoke last in the first events of a session, `count` of them. */
export function rememberSpeaker(derived: Map<unknown, unknown>, count: number, agent: BaseAgent): void {
  derived.set(LAST_SPEAKER, { count, agent } satisfies Remembered);
}

/** The last agent that spoke and that control can come back from, among events of which the first may be remembered. */
export function findSpeaker(
  root: BaseAgent,
  events: readonly Event[],
  remembered: Remembered | undefined,
): BaseAgent | undefined {
  for (const [position, event] of newestEntries(events)) {
    // Where a rewind leads to before this place, it is passed over: what was found may be undone.
    if (remembered && position === remembered.count - 1) return remembered.agent;
    const speaker = speakerOf(root, event);
    if (speaker) return speaker;
  }
  return undefined;
}

/** The agent that an event makes the one to go on, if it does. */
function speakerOf(root: BaseAgent, { author, branch, content, actions }: Event): BaseAgent | undefined {
  if (author === 'user' || enclosureOf(branch) !== '') return undefined;
  if (!content && (actions.agentState || actions.endOfAgent)) return undefined;
  const agent = root.findAgent(author);
  return agent && leadsTo(root, agent) ? agent : undefined;
}

/** True when control can come back from the agent to the root, step by step. */
function leadsTo(root: BaseAgent, agent: BaseAgent): boolean {
  for (let at: BaseAgent | undefined = agent; at; at = at.parentAgent) {
    if (at === root) return true;
    if (!at.transferRules?.toParent || !at.parentAgent?.transferRules) return false;
  }
  return false;
}
