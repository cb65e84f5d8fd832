import { type Event, ObjectType } from './event.ts';

/**
 * Fills in what kind of event this is, by one rule for all paths: `object: error` and `error` beside every `errorCode`, and
 * `object: tool.response` on responses of tools. What the event says itself stays; other kinds follow from its content, see `objectTypeOf`.
 */
export function fillKind(event: { -readonly [K in keyof Event]: Event[K] }): void {
  const { errorCode, content } = event;
  if (errorCode !== undefined) {
    event.object ??= ObjectType.error;
    event.error ??= { type: errorCode, message: event.errorMessage ?? '' };
    return;
  }
  // A response in a reply of the model is of a tool that the model's service ran.
  if (event.object !== undefined || !content?.parts || content.role === 'model') return;
  for (const part of content.parts) {
    if (!part.functionResponse) continue;
    event.object = ObjectType.toolResponse;
    return;
  }
}
