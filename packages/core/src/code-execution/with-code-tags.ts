import { type Event, ObjectType } from '../event/event.ts';
import { EventTag, mergeTags } from '../event/event-tags.ts';

/**
 * The event with a tag for the code and one for the results it holds. One that ends with either, and with no answer, is also of
 * the kind `postprocessing.code_execution`.
 */
export function withCodeTags(event: Event): Event {
  const parts = event.content?.parts;
  if (!parts) return event;
  const tags: string[] = [];
  if (parts.some((part) => part.executableCode)) tags.push(EventTag.codeExecutionCode);
  if (parts.some((part) => part.codeExecutionResult)) tags.push(EventTag.codeExecutionResult);
  if (tags.length === 0) return event;
  const last = parts.at(-1);
  const isAnswer = !last?.executableCode && !last?.codeExecutionResult;
  return {
    ...event,
    ...(isAnswer ? {} : { object: ObjectType.codeExecution }),
    tags: mergeTags(event.tags, tags),
  };
}
