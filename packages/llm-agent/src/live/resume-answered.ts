import type { Event, LlmRequest } from '@eventloom/core';
import type { Step } from '../processors/request-processor.ts';
import { prepareTools } from '../step/prepare-request.ts';
import { answeredAgents } from './answered-agents.ts';
import type { LiveCalls } from './live-calls.ts';

/** Goes on with calls that waited for what the client wrote, also of agents that handed over since. */
export async function resumeAnswered(
  step: Step,
  event: Event,
  ownTools: LlmRequest['toolsDict'],
  running: LiveCalls,
): Promise<void> {
  for (const { step: theirs, resumed } of answeredAgents(step, event)) {
    const tools = theirs === step ? ownTools : await prepareTools(theirs);
    const calls = Array.from(resumed.values(), ({ call }) => call);
    running.start({ step: theirs, tools, eventId: '', calls, resumed });
  }
}
