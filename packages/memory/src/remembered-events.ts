import { type Content, type Event, InvalidRequestError, ObjectType } from '@eventloom/core';
import { describeKind, checkName, enclosureOf } from '@eventloom/core/internal';

/** Maximum length of a memory's text, in characters. Only the beginning of a longer text is kept. */
const MAX_CHARACTERS = 10_000;
/** The end of the year 9999, in seconds. A larger timestamp is in milliseconds by mistake. */
const MAX_TIMESTAMP = 253_402_300_799;

const SILENT_OBJECTS: ReadonlySet<string> = new Set([
  ObjectType.error,
  ObjectType.agentTransfer,
  ObjectType.runnerCompletion,
]);

/** @throws InvalidRequestError for an event without an id or a time */
export function checkEvents(events: unknown): void {
  if (!Array.isArray(events))
    throw new InvalidRequestError(`events: expected a list of events, got ${describeKind(events)}`);
  for (const [index, event] of events.entries()) {
    if (!isEventLike(event))
      throw new InvalidRequestError(
        `events.${index}: expected an event, such as those of session.events, got ${describeKind(event)}`,
      );
    const { id, timestamp } = event;
    checkName(`events.${index}.id`, id);
    if (typeof timestamp !== 'number' || !(timestamp >= 0 && timestamp <= MAX_TIMESTAMP)) {
      throw new InvalidRequestError(
        `events.${index}.timestamp: expected seconds since the epoch, up to the year 9999, got ${typeof timestamp === 'number' ? timestamp : describeKind(timestamp)}`,
      );
    }
  }
}

function isEventLike(event: unknown): event is { readonly id?: unknown; readonly timestamp?: unknown } {
  if (typeof event !== 'object' || event === null || !('actions' in event)) return false;
  return typeof event.actions === 'object' && event.actions !== null;
}

/** True for an event of the conversation, false for one of the framework or a graph node. */
export function isSaid(event: Event): boolean {
  const { object, branch } = event;
  if (event.partial === true || event.nodeEvent || event.actions.compaction) return false;
  if (event.errorCode !== undefined || event.error !== undefined) return false;
  // The messages of an agent that runs as a tool are for its caller, not for the user.
  if (enclosureOf(branch) !== '') return false;
  return object === undefined || !(SILENT_OBJECTS.has(object) || /^(?:pre|post)processing\./.test(object));
}

/** Returns the text of an event, or its transcription, in the form in which it is stored; undefined if there is none. */
export function spokenContent({
  author,
  content,
  inputTranscription,
  outputTranscription,
}: Event): Content | undefined {
  const texts = (content?.parts ?? []).flatMap(({ text, thought }) => (text && thought !== true ? [text] : []));
  if (texts.length > 0) {
    return { role: content?.role ?? (author === 'user' ? 'user' : 'model'), parts: toParts(texts) };
  }
  if (inputTranscription?.text) return { role: 'user', parts: toParts([inputTranscription.text]) };
  if (outputTranscription?.text) return { role: 'model', parts: toParts([outputTranscription.text]) };
  return undefined;
}

/** Converts texts to parts with at most MAX_CHARACTERS in total. */
function toParts(texts: readonly string[]): { text: string }[] {
  const parts: { text: string }[] = [];
  let room = MAX_CHARACTERS;
  for (const text of texts) {
    const kept = beginning(text, room);
    if (kept !== '') parts.push({ text: kept });
    room -= text.length;
    if (room <= 0) break;
  }
  return parts;
}

/** Returns at most this many characters from the beginning, without a split surrogate pair. */
function beginning(text: string, length: number): string {
  if (text.length <= length) return text;
  const splits = text.charCodeAt(length - 1) >= 0xd800 && text.charCodeAt(length - 1) < 0xdc00;
  return text.slice(0, splits ? length - 1 : length);
}
