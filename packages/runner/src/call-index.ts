import {
  beginsResumableRun,
  enclosureOf,
  type Event,
  EventTag,
  getFunctionCalls,
  hasTag,
  newestFirst,
} from '@eventloom/core';
import { isRunOver } from './resume/events-of-run.ts';

/** The calls of a session and what answers them, by their ids: read once, for as many answers as a message has. */
export class CallIndex {
  /** What counts, the newest first. */
  readonly events: readonly Event[];
  /** The events with a call or a response of an id, the newest first. */
  readonly #byId = new Map<string | undefined, Event[]>();
  /** The events of each run, the newest first, and whether it is open. */
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
    for (const event of this.events) {
      for (const { functionCall, functionResponse } of event.content?.parts ?? []) {
        const id = (functionCall ?? functionResponse)?.id;
        const known = this.#byId.get(id);
        if (!known) this.#byId.set(id, [event]);
        else if (known.at(-1) !== event) known.push(event);
      }
    }
  }

  /**
   * The event with the call of this id that a response answers: the newest one whose result comes later, and of those that one run has on
   * several branches, because models number the calls of each agent alike, one that is not answered. Without such a call, the newest.
   * What an agent does that is called as a tool is between it and its caller, unless it waits in a run that is open: its call goes on
   * with the answer. No run goes on with a call that was imported.
   * @param taken the events with the calls that the message answers already
   */
  find(callId: string, taken?: ReadonlySet<Event>): Event | undefined {
    const isLater = ({ longRunningToolIds }: Event): boolean => longRunningToolIds?.includes(callId) === true;
    const calls = (this.#byId.get(callId) ?? []).filter(
      (event) =>
        getFunctionCalls(event).some(({ id }) => id === callId) &&
        !hasTag(event, EventTag.imported) &&
        (enclosureOf(event.branch) === '' || (isLater(event) && this.isOpen(event.invocationId))),
    );
    const branches = new Set<string | undefined>();
    // One that came after it on its branch stands in its place.
    const waiting = calls.filter((event) => {
      const isNewest = !branches.has(event.branch);
      branches.add(event.branch);
      return isNewest && isLater(event);
    });
    const [newest] = waiting;
    const isUnanswered = (event: Event): boolean =>
      event.invocationId === newest?.invocationId && !taken?.has(event) && !this.isAnswered(event, callId);
    return waiting.find(isUnanswered) ?? newest ?? calls[0];
  }

  /** True when a call has a response: one that came after it, on its branch. */
  isAnswered(asked: Event, callId: string): boolean {
    const known = this.#byId.get(callId) ?? [];
    return known
      .slice(0, known.indexOf(asked))
      .some(
        ({ branch, content }) =>
          branch === asked.branch && content?.parts?.some(({ functionResponse }) => functionResponse?.id === callId),
      );
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
