import type { Event, InvocationContext } from '@eventloom/core';
import type { LlmAgent } from '@eventloom/llm-agent';
import { EmittedEvents, resolveModel } from '@eventloom/llm-agent/internal';
import { LiveFlow } from './live-flow.ts';

/**
 * The live counterpart of the think-act loop: both sides speak when they like. What receives, sends and runs tools goes on beside
 * this generator and waits, event by event, until the reader has committed what it was given.
 * @param onConnecting told of each connection that is about to be made
 */
export async function* runLive(
  agent: LlmAgent,
  context: InvocationContext,
  onConnecting: () => void,
): AsyncGenerator<Event, void, void> {
  const emitted = new EmittedEvents();
  const flow = new LiveFlow({ agent, model: resolveModel(agent, context), context }, emitted, onConnecting);
  const running = flow.run();
  emitted.endWith(running);
  try {
    for (let event = await emitted.next(); event; event = await emitted.next()) yield event;
  } finally {
    emitted.close();
    flow.stop();
    await running.catch(() => undefined);
    context.liveRequestQueue?.sessionYielded();
  }
  // Whoever takes the session over ends the run.
  if ((await running) === 'takenOver') await context.untilAborted(Promise.withResolvers<never>().promise);
}
