import { type Event, STRUCTURED_OUTPUT } from '@eventloom/core';
import type { Step } from '../processors/request-processor.ts';
import { saveOutput } from './final-output.ts';

/** The answer that came by `set_model_response`, as the event that ends the turn. */
export function structuredAnswer(step: Step, value: unknown): Event {
  const event = step.context.createEvent({ content: { role: 'model', parts: [{ text: JSON.stringify(value) }] } });
  saveOutput(step, event.actions, value);
  return { ...event, [STRUCTURED_OUTPUT]: value };
}
