import {
  type BaseAgent,
  type BaseSessionService,
  type Event,
  InvalidMessageError,
  type MaybePromise,
} from '@eventloom/core';
import {
  Calls,
  DerivedKey,
  type DerivedValues,
  type SessionCall,
  enclosureOf,
  isOfWorkflowNode,
  isBaseAgent,
  newestEntries,
  readNewest,
  sessionKeyOf,
} from '@eventloom/core/internal';
import type { MatchedMessage } from './answers.ts';
import type { LockedRun } from './lock-run.ts';
import { agentsAndTools } from './open-toolsets.ts';
import type { Runner } from './runner.ts';
import type { LoadedSession } from './session-loader.ts';

/** The agent that continues a conversation, and its branch. */
export interface PickedAgent {
  readonly agent: BaseAgent;
  /** The branch of the calls that the message answers; undefined for a message that answers none. */
  readonly branch?: string | undefined;
}

/**
 * Picks the agent that the run starts with.
 * @param matched the message, matched to the calls that it answers; undefined for one that answers none
 * @throws InvalidMessageError as `agentOfCalls`
 */
export function pickAgent(
  runner: Runner,
  { resumed, loaded, window }: LockedRun,
  matched?: MatchedMessage,
): MaybePromise<PickedAgent> {
  const { agent, sessionService } = runner;
  if (resumed) return resumed.picked;
  if (matched && matched.calls.length > 0) {
    const ofSession = Calls.of(loaded);
    const calls = matched.calls.map((call) => outsideScopes(call, ofSession));
    return agentOfCalls(agent, calls, (asking) => runner.agentForAnswers(asking));
  }
  if (agent.subAgents.length === 0 || getsEveryMessage(agent)) return { agent };
  const { session, derived } = loaded;
  const isCut = window === undefined && session.events.length < session.lastSeq;
  if (isCut) return pickLastAgent(agent, loaded, sessionService);
  return { agent: lastSpeaker(agent, session.events, derived) };
}

/** The last agent that spoke in the first `count` events. These events are not read again. */
interface Remembered {
  readonly count: number;
  readonly agent: BaseAgent;
}

const LAST_SPEAKER = new DerivedKey<Remembered>('last speaker');

/**
 * Follows a call made within isolation scopes to the call that opened the outermost scope, and returns that call.
 * Returns the call itself if one of the scopes was not opened by a call.
 */
function outsideScopes(call: SessionCall, ofSession: Calls): SessionCall {
  let at = call;
  while (at.event.isolationScope !== undefined) {
    const opener = ofSession.opener(at);
    if (!opener) return call;
    at = opener;
  }
  return at;
}

/** The properties of a call by which its agent is found. */
type CallOfAgent = Pick<SessionCall, 'event' | 'branch' | 'about'>;

/**
 * Returns the agent that made the calls which a message answers. Instead of an agent that is not called as a tool,
 * `takerOf` may give one around it, which several agents can have in common.
 *
 * @throws InvalidMessageError as `agentOfCall`, and for calls of several agents: their run has ended, and a new run begins with one agent
 */
export function agentOfCalls(
  root: BaseAgent,
  calls: readonly CallOfAgent[],
  takerOf: (asking: BaseAgent) => BaseAgent,
): PickedAgent {
  const picked = new Map<string, PickedAgent>();
  for (const call of calls) {
    const asking = agentOfCall(root, call);
    const taker = enclosureOf(call.branch) === '' ? takerOf(asking) : asking;
    // An agent around the one that asks has another branch.
    const branch = taker === asking ? call.branch : undefined;
    picked.set(`${taker.name} ${branch ?? ''}`, { agent: taker, branch });
  }
  if (picked.size > 1)
    throw new InvalidMessageError(
      'newMessage: answers calls of several agents whose run has ended; send one message per agent',
    );
  const [only = { agent: root }] = picked.values();
  return only;
}

/**
 * Returns the agent that made a call, at any place in the tree; the root if the tree no longer has it.
 *
 * @throws InvalidMessageError for an answer to a request about a tool call of an agent that the tree no longer has,
 *   because no other agent can run that call, and for an answer that can be used only in the run that made the call: a
 *   node of a graph asked
 */
function agentOfCall(root: BaseAgent, { event: { author }, about }: CallOfAgent): BaseAgent {
  const agent = root.findAgent(author);
  if (!agent && about) throw answersGoneAgent(author);
  if (!takesLateAnswers(root, author))
    throw new InvalidMessageError(
      `newMessage: answers a call of "${author}", which takes an answer only in the run that made the call, and that run has ended; send a message without the answer`,
    );
  return agent ?? root;
}

/** True if answers to the calls of this author can begin a run. */
export function takesLateAnswers(root: BaseAgent, author: string): boolean {
  const agent = root.findAgent(author);
  // A node has no place in the tree of agents.
  const takers = agent ? [agent] : [...agentsAndTools(root)].filter((each) => isBaseAgent(each));
  return takers.every((taker) => taker.takesLateAnswers);
}

/** Creates the error for an answer that only an agent could use that the tree no longer has. */
export function answersGoneAgent(name: string): InvalidMessageError {
  return new InvalidMessageError(
    `newMessage: answers calls of the agent "${name}", and no agent has that name; send a message without the answers`,
  );
}

/**
 * Returns the agent that a message of the user goes to: the last one that spoke, if it and all its ancestors, the root included, may
 * transfer to their parents; otherwise the root. Reads the events since the last call for this session, newest first, as far as needed.
 *
 * @param derived is kept as long as the events are
 */
export function lastSpeaker(root: BaseAgent, events: readonly Event[], derived: DerivedValues): BaseAgent {
  if (getsEveryMessage(root)) return root;
  const remembered = derived.get(LAST_SPEAKER);
  const agent = findSpeaker(root, events, remembered) ?? root;
  rememberSpeaker(derived, events.length, agent);
  return agent;
}

/** True if no other agent of the tree can be the one that the next message goes to. */
function getsEveryMessage(root: BaseAgent): boolean {
  return root.subAgents.length === 0 || !root.transferRules?.toParent;
}

function rememberSpeaker(derived: DerivedValues, count: number, agent: BaseAgent): void {
  derived.set(LAST_SPEAKER, { count, agent });
}

/**
 * Picks the last speaker of a session that was read from its last compaction on. If no agent spoke since, earlier events are read: the
 * summary contains the conversation, but not the active agent.
 */
async function pickLastAgent(
  root: BaseAgent,
  { session, derived }: LoadedSession,
  service: BaseSessionService,
): Promise<PickedAgent> {
  const { events } = session;
  if (!findSpeaker(root, events)) {
    const newest = await readNewest(service, sessionKeyOf(session), (read) => findSpeaker(root, read) !== undefined);
    const speaker = findSpeaker(root, newest);
    if (speaker) rememberSpeaker(derived, events.length, speaker);
  }
  return { agent: lastSpeaker(root, events, derived) };
}

/** Returns the last agent that spoke and that the next message may go to. */
function findSpeaker(root: BaseAgent, events: readonly Event[], remembered?: Remembered): BaseAgent | undefined {
  for (const [index, event] of newestEntries(events)) {
    // A rewind to before this event may undo the remembered result.
    if (remembered && index === remembered.count - 1) return remembered.agent;
    const speaker = speakerOf(root, event);
    if (speaker) return speaker;
  }
  return undefined;
}

/** Returns the agent that the next message goes to because of this event; undefined if the event does not decide it. */
function speakerOf(root: BaseAgent, event: Event): BaseAgent | undefined {
  const { author, branch, content, actions, output } = event;
  // Nodes of ADK workflows, and agents in their own scope, get their input from the workflow or agent that runs them.
  if (event.isolationScope !== undefined || isOfWorkflowNode(event)) return undefined;
  if (author === 'user' || enclosureOf(branch) !== '') return undefined;
  if (!content && (actions.agentState || actions.endOfAgent)) return undefined;
  const said = root.findAgent(author);
  // An agent with `mode` is done once it has returned its output.
  const agent = output !== undefined && said !== root ? said?.parentAgent : said;
  return agent && mayTransferUp(root, agent) ? agent : undefined;
}

/** True if the agent and all its ancestors, the root included, may transfer to their parents. */
function mayTransferUp(root: BaseAgent, agent: BaseAgent): boolean {
  for (let at: BaseAgent | undefined = agent; at?.transferRules?.toParent; at = at.parentAgent)
    if (at === root) return true;
  return false;
}
