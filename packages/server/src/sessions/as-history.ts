import {
  beginsResumableRun,
  type Event,
  EventTag,
  getFunctionCalls,
  newestEntries,
  ObjectType,
  withTag,
} from '@eventloom/core';
import { quotedName } from '../http/quoted-name.ts';
import { ForbiddenError } from '../errors.ts';

/**
 * Events that nobody vouches for, so that models read them and no run goes on with them: those that could let one are tagged as
 * imported, because a rewind opens again what is closed.
 * @throws ForbiddenError for what is still open: a call without its response, a run that can be resumed and did not end
 */
export function asHistory(events: readonly Event[]): Event[] {
  const open = new Map<string, readonly [number, string]>();
  for (const [at, event] of [...newestEntries(events)].reverse()) {
    const { invocationId, branch = '', content, object } = event;
    for (const { functionCall, functionResponse } of content?.parts ?? []) {
      const { id, name = '' } = functionCall ?? functionResponse ?? {};
      const place = `call ${branch}\0${id ?? name}`;
      if (functionCall) open.set(place, [at, `the call ${quotedName(id ?? name)} without its response`]);
      if (functionResponse) open.delete(place);
    }
    if (beginsResumableRun(event)) open.set(`run ${invocationId}`, [at, 'a run that can be resumed and did not end']);
    if (object === ObjectType.runnerEnd) open.delete(`run ${invocationId}`);
  }
  for (const [at, what] of open.values()) {
    throw new ForbiddenError(
      `events[${at}]: has ${what}, and no run may go on with what no model said; leave it out, or give the server trustImportedEvents`,
    );
  }
  return events.map((event) =>
    beginsResumableRun(event) || getFunctionCalls(event).length > 0 ? withTag(event, EventTag.imported) : event,
  );
}
