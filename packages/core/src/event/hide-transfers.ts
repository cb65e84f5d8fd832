import type { Part } from '../content/content.ts';
import { type Event, ObjectType } from './event.ts';

/** The tool by which a model hands the conversation to another agent. */
export const TRANSFER_TO_AGENT = 'transfer_to_agent';
/** The tag of everything that belongs to a hand-off: its call, its response, its announcement. */
export const TRANSFER_TAG = 'transfer';

/**
 * A view for display without the machinery of hand-offs: the transfer call, its response and the announcement are gone, calls
 * of other tools in the same event stay. The stored history keeps every call paired with its result.
 */
export function hideTransfers(events: Iterable<Event>): Event[] {
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

function isTransferPart(part: Part): boolean {
  return isTransfer(part.functionCall ?? part.functionResponse);
}

/** True for a call by which a model hands the conversation over, and for the response to it. */
export function isTransfer(call: { readonly name?: string | undefined } | undefined): boolean {
  return call?.name === TRANSFER_TO_AGENT;
}
