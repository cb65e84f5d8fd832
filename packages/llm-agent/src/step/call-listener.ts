import { type FunctionCall, type InvocationContext, ObjectType, type ToolListener } from '@eventloom/core';
import type { CallOrigin } from './call-origin.ts';
import type { EmittedEvents } from './emitted-events.ts';

/** Takes what the tool of one call passes on while it runs. */
export function callListener(
  context: InvocationContext,
  call: FunctionCall,
  emitted: EmittedEvents,
  { onBegan }: CallOrigin,
): ToolListener {
  return {
    began: onBegan,
    event: (event) => emitted.emit(event),
    progress(output, scheduling) {
      const answer = { id: call.id ?? '', name: call.name ?? '', response: { output } };
      const functionResponse = { ...answer, ...(scheduling && { scheduling }) };
      return emitted.emit(
        context.createEvent({
          object: ObjectType.toolResponse,
          partial: true,
          content: { role: 'user', parts: [{ functionResponse }] },
        }),
      );
    },
  };
}
