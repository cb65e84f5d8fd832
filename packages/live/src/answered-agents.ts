import { type BaseAgent, type Event, getFunctionCalls, getFunctionResponses, newestFirst } from '@eventloom/core';
import { isLlmAgent } from '@eventloom/llm-agent';
import { answersTo, resolveModel, type ResumedCalls, type Step } from '@eventloom/llm-agent/internal';

/** Calls of one agent that go on, or are over, because of what a person answered. */
export interface AnsweredAgent {
  readonly step: Step;
  readonly resumed: ResumedCalls;
}

/**
 * Whose calls go on because of the answers in an event: those of the agent that has control, and of those that had it when they
 * asked. An agent that the tree does not have any more is left out.
 */
export function answeredAgents(step: Step, event: Event): AnsweredAgent[] {
  const ids = getFunctionResponses(event).map(({ id = '' }) => id);
  if (ids.length === 0) return [];
  const { events } = step.context.session;
  const steps = [step, ...othersThatAsked(step, events, ids)];
  return steps.flatMap((each) => {
    const { resumed } = answersTo(events, ids, each.context);
    return resumed.size > 0 ? [{ step: each, resumed }] : [];
  });
}

function othersThatAsked({ agent, context }: Step, events: readonly Event[], ids: readonly string[]) {
  const wanted = new Set(ids);
  const asked = new Map<BaseAgent, Step>();
  for (const event of newestFirst(events)) {
    if (wanted.size === 0) break;
    const answered = getFunctionCalls(event).filter(({ id = '' }) => wanted.delete(id));
    const other = answered.length > 0 ? context.invocation.rootAgent.findAgent(event.author) : undefined;
    if (!other || other.name === agent.name || asked.has(other) || !isLlmAgent(other)) continue;
    const theirs = context.forAgent(other, { branch: event.branch });
    asked.set(other, { agent: other, model: resolveModel(other, theirs), context: theirs });
  }
  return asked.values();
}
