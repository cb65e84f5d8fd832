import type { Part } from '../content/content.ts';
import { describeKind } from '../content/json.ts';
import { InvalidRequestError } from '../errors.ts';
import { isTransfer } from '../tool/reserved-calls.ts';
import { type Event, ObjectType } from './event.ts';

/** Tag of the events of a transfer: its call, its response, its announcement. */
export const TRANSFER_TAG = 'transfer';

/**
 * Removes transfers from events for display: the transfer call, its response and its announcement. Keeps calls of other tools in
 * the same event. Does not modify the given events.
 * @throws InvalidRequestError for a value that is not a list of events or another iterable of them
 */
export function hideTransfers(events: Iterable<Event>): Event[] {
  if (!isIterable(events))
    throw new InvalidRequestError(
      `hideTransfers: expected events, got ${describeKind(events)}; write hideTransfers(session.events)`,
    );
  const shown: Event[] = [];
  for (const event of events) {
    if (event.object === ObjectType.agentTransfer) continue;
    const parts = event.content?.parts;
    const kept = parts?.filter((part) => !isTransferPart(part));
    if (!parts || kept?.length === parts.length) shown.push(event);
    else if (kept?.length) shown.push({ ...event, content: { ...event.content, parts: kept } });
  }
  return shown;
}

function isIterable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Symbol.iterator in value;
}

function isTransferPart(part: Part): boolean {
  return isTransfer(part.functionCall ?? part.functionResponse);
}
