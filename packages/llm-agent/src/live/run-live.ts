import type { Event, InvocationContext, LlmRequest } from '@eventloom/core';
import type { LlmAgent } from '../llm-agent.ts';
import { EmittedEvents } from '../step/emitted-events.ts';
import type { Step } from '../processors/request-processor.ts';
import type { ModelCall } from '../step/model-call.ts';
import { LiveFlow } from './live-flow.ts';

/** What live runs have in common with others, and are given: what both import, bundlers put into one more file that agents begin with. */
export interface StepParts {
  /** One step of an agent, with the model that is its own there. */
  readonly toStep: (agent: LlmAgent, context: InvocationContext) => Step;
  readonly toModelCall: (step: Step, request: LlmRequest) => ModelCall;
}

/**
 * The live counterpart of the think-act loop: both sides speak when they like. What receives, sends and runs tools goes on beside
 * this generator and waits, event by event, until the reader has committed what it was given.
 */
export async function* runLive(
  agent: LlmAgent,
  context: InvocationContext,
  parts: StepParts,
): AsyncGenerator<Event, void, void> {
  const emitted = new EmittedEvents();
  const flow = new LiveFlow(parts.toStep(agent, context), parts, emitted);
  const running = flow.run();
  emitted.endWith(running);
  try {
    for (let event = await emitted.next(); event; event = await emitted.next()) yield event;
  } finally {
    emitted.close();
    flow.stop();
    await running.catch(() => undefined);
  }
  await running;
}
