import {
  beginsResumableRun,
  enclosureOf,
  type Event,
  EventTag,
  type FunctionCall,
  hasTag,
  newestFirst,
} from '@eventloom/core';
import { isRunOver } from './resume/events-of-run.ts';

/** A call in the event that has it. */
export interface IndexedCall {
  readonly event: Event;
  readonly call: FunctionCall;
  /** Counted from the newest event. */
  readonly place: number;
}

/** The calls of a session and what answers them, by their ids: read once, for as many answers as a message has. */
export class CallIndex {
  /** What counts, the newest first. */
  readonly events: readonly Event[];
  readonly #calls = new Map<string, IndexedCall[]>();
  /** Where the newest response is to a call of an id on a branch. */
  readonly #responses = new Map<string, number>();
  /** The events of each run, the newest first, and whether it can be resumed and did not come to its end. */
  readonly #runs: ReadonlyMap<string, readonly Event[]>;
  readonly #open = new Map<string, boolean>();

  /**
   * @param events in order
   * @param invocationId of a run, when the calls of no other can be answered
   */
  constructor(events: readonly Event[], invocationId?: string) {
    this.events = [...newestFirst(events)].filter(
      (each) => invocationId === undefined || each.invocationId === invocationId,
    );
    this.#runs = Map.groupBy(this.events, (each) => each.invocationId);
    for (const [place, event] of this.events.entries()) {
      // No run here made the calls of such an event, and none goes on with them.
      const isImported = hasTag(event, EventTag.imported);
      for (const { functionCall: call, functionResponse } of event.content?.parts ?? []) {
        if (call && !isImported) this.#add({ event, call, place });
        const answered = functionResponse && placeOf(functionResponse.id, event);
        if (answered !== undefined && !this.#responses.has(answered)) this.#responses.set(answered, place);
      }
    }
  }

  #add(indexed: IndexedCall): void {
    const { id = '' } = indexed.call;
    const calls = this.#calls.get(id);
    // One call of an id is enough of an event.
    if (!calls) this.#calls.set(id, [indexed]);
    else if (calls.at(-1)?.event !== indexed.event) calls.push(indexed);
  }

  /**
   * The call of this id that a response answers: the newest one whose result comes later, and of those that one run has on
   * several branches, because models number the calls of each agent alike, one that is not answered. Without such a call, the newest.
   * What an agent does that is called as a tool is between it and its caller, unless it waits in a run that is open: its call goes on
   * with the answer.
   * @param taken the events with the calls that the message answers already
   */
  find(callId: string, taken?: ReadonlySet<Event>): IndexedCall | undefined {
    const calls = (this.#calls.get(callId) ?? []).filter(
      ({ event }) => enclosureOf(event.branch) === '' || (isLater(event, callId) && this.isOpen(event.invocationId)),
    );
    const branches = new Set<string | undefined>();
    // One that came after it on its branch stands in its place.
    const waiting = calls.filter(({ event }) => {
      const isNewest = !branches.has(event.branch);
      branches.add(event.branch);
      return isNewest && isLater(event, callId);
    });
    const [newest] = waiting;
    const isUnanswered = (each: IndexedCall): boolean =>
      each.event.invocationId === newest?.event.invocationId && !taken?.has(each.event) && !this.isAnswered(each);
    return waiting.find(isUnanswered) ?? newest ?? calls[0];
  }

  /** True when a call has a response: one that came after it, on its branch. */
  isAnswered({ event, call, place }: IndexedCall): boolean {
    return (this.#responses.get(placeOf(call.id, event)) ?? Infinity) < place;
  }

  /** True for a run that can be resumed and did not come to its end. */
  isOpen(invocationId: string): boolean {
    let isOpen = this.#open.get(invocationId);
    if (isOpen === undefined) {
      const own = this.#runs.get(invocationId) ?? [];
      const first = own.at(-1);
      isOpen = first !== undefined && beginsResumableRun(first) && !isRunOver(own);
      this.#open.set(invocationId, isOpen);
    }
    return isOpen;
  }
}

function isLater({ longRunningToolIds }: Event, callId: string): boolean {
  return longRunningToolIds?.includes(callId) === true;
}

function placeOf(id = '', { branch = '' }: Event): string {
  return `${branch}\0${id}`;
}
