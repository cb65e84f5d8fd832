import {
  askedCallId,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  type InvocationContext,
  newestFirst,
} from '@eventloom/core';

/**
 * What became of the calls of a reply whose run goes on: what its own run did about them, and what others did. An answer may have begun
 * a run, of the agent that asked alone. Models may give calls of several runs the same ids: a run that made such a call itself tells
 * nothing of this one, nor does an agent on another branch.
 */
export class CallHistory {
  /** The reply, and what counts of what came after it, in order. */
  readonly events: readonly Event[];
  readonly #agentName: string;
  readonly #invocationId: string;
  /** The calls of the reply, and questions about them. */
  readonly #ids: ReadonlySet<string>;

  constructor({ session, invocationId, branch, agent }: InvocationContext, reply: Event) {
    this.#agentName = agent.name;
    this.#invocationId = invocationId;
    const newest = [...newestFirst(session.events)].filter((event) => event.branch === branch);
    const calls = new Set(getFunctionCalls(reply).map(({ id = '' }) => id));
    const others = newest.filter((event) => event.invocationId !== invocationId);
    const repeating = new Set(
      others.filter((event) => getFunctionCalls(event).some(({ id = '' }) => calls.has(id))).map(runOf),
    );
    const at = newest.findIndex(({ id }) => id === reply.id);
    const since = newest.slice(0, Math.max(0, at)).filter((event) => !repeating.has(event.invocationId));
    this.events = [...since, reply].toReversed();
    const questions = this.events.flatMap(getFunctionCalls).filter((call) => calls.has(askedCallId(call) ?? ''));
    this.#ids = new Set([...calls, ...questions.map(({ id = '' }) => id)]);
  }

  /** The ids of calls and questions that the user answered. */
  answered(): ReadonlySet<string> {
    return new Set(this.events.filter(({ author }) => author === 'user').flatMap((event) => this.#responsesIn(event)));
  }

  /** The events of other runs that answer calls as tools do, in order. */
  responsesElsewhere(): Event[] {
    return this.#elsewhere().filter((event) => event.author !== 'user' && this.#responsesIn(event).length > 0);
  }

  /** True when the agent went on with an answer in another run, and its model said something there: it has had its turn. */
  isTurnOver(): boolean {
    const answering = new Set<string>();
    for (const event of this.#elsewhere()) {
      const { author, invocationId, usageMetadata } = event;
      if (author === this.#agentName && usageMetadata?.timingInfo && answering.has(invocationId)) return true;
      if (this.#responsesIn(event).length > 0) answering.add(invocationId);
    }
    return false;
  }

  #elsewhere(): readonly Event[] {
    return this.events.filter(({ invocationId }) => invocationId !== this.#invocationId);
  }

  #responsesIn(event: Event): string[] {
    return getFunctionResponses(event).flatMap(({ id = '' }) => (this.#ids.has(id) ? [id] : []));
  }
}

function runOf({ invocationId }: Event): string {
  return invocationId;
}
