import { type Event, getFunctionCalls, getFunctionResponses, ObjectType } from '@eventloom/core';

/** A call with its responses, found without the runtime's own index of calls. */
export interface HistoryCall {
  readonly id: string;
  readonly name: string;
  readonly branch: string;
  readonly invocationId: string;
  readonly isLongRunning: boolean;
  /** The id of the call that this request to a person is about. */
  readonly about: string | undefined;
  readonly responses: Event[];
}

/** Lists the calls of a history in order. Responses that answer no call are in `faults`. */
export function readCalls(events: readonly Event[]): { calls: HistoryCall[]; faults: string[] } {
  const calls: HistoryCall[] = [];
  const faults: string[] = [];
  for (const event of events) {
    const { branch = '', invocationId } = event;
    for (const { id = '', name = '', args = {} } of getFunctionCalls(event)) {
      const original = args['originalFunctionCall'] as { readonly id?: string } | undefined;
      calls.push({
        id,
        name,
        branch,
        invocationId,
        isLongRunning: event.longRunningToolIds?.includes(id) ?? false,
        about: original?.id ?? (args['functionCallId'] as string | undefined),
        responses: [],
      });
    }
    for (const { id, name } of getFunctionResponses(event)) {
      const call = calls.findLast((each) => each.id === id && each.branch === branch);
      if (call?.name === name) call?.responses.push(event);
      else faults.push(`a response of ${name} with the id ${id} on "${branch}" answers no call`);
    }
  }
  return { calls, faults };
}

/** True for a call of an agent that runs as a tool or in a graph: when its run ends, nobody answers it any more. */
const isInner = ({ branch }: HistoryCall): boolean => branch.includes('@');
const isRequest = ({ name }: HistoryCall): boolean => name.startsWith('adk_request_');

/**
 * Finds the faults of a session in which no run is open: events that are stored twice or after the end of their run,
 * calls without or with too many responses, and runs that wait for nobody. A cancelled run may have been over already:
 * its calls that waited then get their responses.
 */
export function checkHistory(
  events: readonly Event[],
  isResumable: boolean,
  cancelledRuns: ReadonlySet<string>,
): string[] {
  const { calls, faults } = readCalls(events);
  const ids = Map.groupBy(events, ({ id }) => id);
  for (const [id, same] of ids) if (same.length > 1) faults.push(`the event ${id} is stored ${same.length} times`);
  for (const [run, own] of Map.groupBy(events, ({ invocationId }) => invocationId)) {
    const end = own.findIndex(({ object }) => object === ObjectType.runnerEnd);
    if (end >= 0 && end < own.length - 1 && !cancelledRuns.has(run))
      faults.push(`the run ${run} has ${own.length - 1 - end} events after its end`);
    const ownCalls = calls.filter(({ invocationId }) => invocationId === run);
    const isOver = end >= 0 || !isResumable;
    if (!isOver && !ownCalls.some(({ isLongRunning, responses }) => isLongRunning && responses.length === 0))
      faults.push(`the run ${run} has no end, is not open, and waits for nobody`);
    for (const call of ownCalls) {
      const count = call.responses.length;
      const asked = calls.some(({ about, branch }) => about === call.id && branch === call.branch);
      // A request has the person's answer, and a response if it was cancelled meanwhile. A call that waits for its requests says so.
      const most = call.isLongRunning && !isRequest(call) ? Infinity : isRequest(call) || asked ? 2 : 1;
      if (count > most) faults.push(`the call ${call.id} of ${call.name} has ${count} responses`);
      if (isOver && count === 0 && (isInner(call) || !call.isLongRunning))
        faults.push(`the call ${call.id} of ${call.name} on "${call.branch}" has no response although its run is over`);
    }
  }
  return faults;
}
