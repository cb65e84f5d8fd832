import type { InvocationContext } from '../context/invocation-context.ts';
import type { Event } from '../event/event.ts';
import { getFunctionResponses } from '../event/event-predicates.ts';

/** An agent's long-running calls without a result, including those from before a resume. */
export class OpenCalls {
  readonly #executionId: string;
  readonly #open = new Set<string>();

  constructor({ executionId, branch, past, session }: InvocationContext) {
    this.#executionId = executionId;
    for (const event of past?.events ?? []) this.add(event);
    if (this.isEmpty) return;
    for (const event of session.events) if (event.author === 'user' && event.branch === branch) this.#close(event);
  }

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  /** Notes an event that comes by. */
  add(event: Event): void {
    if (event?.partial === true || (event?.executionId ?? this.#executionId) !== this.#executionId) return;
    for (const id of event.longRunningToolIds ?? []) this.#open.add(id);
    if (!this.isEmpty) this.#close(event);
  }

  #close(event: Event): void {
    for (const { id = '' } of getFunctionResponses(event)) this.#open.delete(id);
  }
}
