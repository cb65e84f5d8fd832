import type { Event, LlmRequest } from '@eventloom/core';
import { prepareTools, type Step } from '@eventloom/llm-agent/internal';
import { answeredAgents } from './answered-agents.ts';
import type { LiveCalls } from './live-calls.ts';

/** Goes on with calls that waited for what the client wrote, also of agents that handed over since. */
export async function resumeAnswered(
  step: Step,
  event: Event,
  ownTools: LlmRequest['toolsDict'],
  running: LiveCalls,
  emit: (event: Event) => Promise<void>,
): Promise<void> {
  for (const { step: theirs, resumed } of answeredAgents(step, event)) {
    const prepared = theirs === step ? undefined : await prepareTools(theirs);
    if (prepared?.changes) await emit(prepared.changes);
    const tools = prepared?.tools ?? ownTools;
    const calls = Array.from(resumed.values(), ({ call }) => call);
    running.start({ step: theirs, tools, eventId: '', calls, resumed });
  }
}
