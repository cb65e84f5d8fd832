import type { InvocationContext } from '../context/invocation-context.ts';
import type { Event } from '../event/event.ts';
import { hasAgentCallbacks, runWithCallbacks } from './agent-callbacks.ts';
import type { BaseAgent } from './base-agent.ts';
import { getFunctionResponses } from '../event/event-predicates.ts';

type Work = () => AsyncGenerator<Event, void, void>;

/**
 * Runs an agent in a resumable run. An agent that completed before does nothing. Events mark where the agent begins (unless its own
 * events do) and ends. An agent that does not store its progress itself pauses while a long-running call of its own has no result.
 */
export async function* runResumable(
  agent: BaseAgent,
  context: InvocationContext,
  work: Work,
  storesProgress: boolean,
): AsyncGenerator<Event, void, void> {
  if (context.past?.isOver) return;
  const begin = storesProgress ? work : () => watched(context, work);
  if (hasAgentCallbacks(agent, context)) {
    yield* runWithCallbacks(agent, context, begin);
    return;
  }
  yield* begin();
  if (!context.isEnded && !context.isPaused) yield context.createEvent({ actions: { endOfAgent: true } });
}

async function* watched(context: InvocationContext, work: Work): AsyncGenerator<Event, void, void> {
  const open = new OpenCalls(context);
  if (open.isEmpty) {
    if (!context.agentState) yield context.createEvent({ actions: { agentState: { begun: true } } });
    for await (const event of work()) {
      open.add(event);
      yield event;
    }
  }
  if (!open.isEmpty) context.pause();
}

/** The agent's long-running calls without a result, including calls made before a resume. */
class OpenCalls {
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

  /** Records the calls and responses of an event. */
  add(event: Event): void {
    if (event?.partial === true || (event?.executionId ?? this.#executionId) !== this.#executionId) return;
    for (const id of event.longRunningToolIds ?? []) this.#open.add(id);
    if (!this.isEmpty) this.#close(event);
  }

  #close(event: Event): void {
    for (const { id = '' } of getFunctionResponses(event)) this.#open.delete(id);
  }
}
