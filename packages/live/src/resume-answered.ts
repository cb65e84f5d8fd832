import type { BaseAgent, Event, LlmRequest } from '@eventloom/core';
import { type SessionCall, Calls } from '@eventloom/core/internal';
import { isLlmAgent } from '@eventloom/llm-agent';
import { type AgentTurn, answersTo, createTurn, prepareTools } from '@eventloom/llm-agent/internal';
import type { LiveFlow } from './live-flow.ts';
import type { LiveToolCalls } from './live-tool-calls.ts';

/** Resumes the calls that an event of the client answers: those of the agent that has control, and those of agents before it. */
export async function resumeAnswered(
  turn: AgentTurn,
  event: Event,
  ownTools: LlmRequest['toolsDict'],
  running: LiveToolCalls,
  flow: LiveFlow,
): Promise<void> {
  const { session, invocation } = turn.context;
  const stored = session.events.findLast(({ id }) => id === event.id);
  const answered = stored ? Calls.of(session, invocation.derived).answeredIn(stored) : [];
  for (const theirs of [turn, ...otherAgents(turn, answered)]) {
    const { toRun } = answersTo(answered, theirs.context);
    if (toRun.size === 0) continue;
    const prepared = theirs === turn ? undefined : await prepareTools(theirs);
    if (prepared?.changes) await flow.emit(prepared.changes);
    const tools = prepared?.tools ?? ownTools;
    const calls = Array.from(toRun.values(), ({ call }) => call);
    running.start({ turn: theirs, tools, eventId: '', calls, answered: toRun });
  }
}

/** Returns the other agents that made these calls, without agents that the tree no longer has. */
function otherAgents({ agent, context }: AgentTurn, answered: readonly SessionCall[]): Iterable<AgentTurn> {
  const steps = new Map<BaseAgent, AgentTurn>();
  for (const { event, branch } of answered) {
    const other = context.invocation.rootAgent.findAgent(event.author);
    if (!other || other.name === agent.name || steps.has(other) || !isLlmAgent(other)) continue;
    steps.set(other, createTurn(other, context.forAgent(other, { branch })));
  }
  return steps.values();
}
