import {
  type Event,
  type EventParams,
  EventTag,
  type Invocation,
  type InvocationContext,
  ObjectType,
  type Session,
  StreamingMode,
} from '@eventloom/core';
import {
  answerOf,
  Calls,
  enclosureOf,
  reportUnlessStopped,
  type SessionCall,
  streamedRecordOf,
  type SubInvocation,
} from '@eventloom/core/internal';
import { AgentDriver } from './agent-driver.ts';
import { type EventSink, EventCommitter } from './event-committer.ts';
import type { RunAppender } from './run-appender.ts';
import { storeLastResponses } from './last-responses.ts';
import { isSessionLost } from './session-lock.ts';

/**
 * Runs an agent in isolation within a run; see `InvocationContext.runSubInvocation`. Its session object is a view with
 * the state of the run and only its own events, so the cost of a step does not depend on the length of the surrounding
 * conversation.
 */
export async function* runSubInvocation(
  parent: InvocationContext,
  request: SubInvocation,
  appender: RunAppender,
): AsyncGenerator<Event, void, void> {
  const context = parent.forSubInvocation(request, partOf(parent.invocation, request));
  const own = new SubInvocationEvents(context, appender);
  const inTurn = context.invocation.inTurn ?? atOnce;
  context.throwIfAborted();
  if (context.resumedFrom) {
    const recorded = recordedEvents(context, appender.context.invocation.session);
    context.invocation.session.events.push(...recorded);
    const isUnseen = unseenRequests(recorded, context);
    for (const event of recorded) {
      if (!isUnseen(event)) {
        request.onRecorded?.(event);
        continue;
      }
      // The process ended before the run yielded the request, so no person has seen it.
      context.progress.noteCommitted(event);
      yield event;
    }
  } else {
    const { agent } = parent;
    const { userContent: content, nodeInfo, streaming } = request;
    const tags = streaming ? {} : { tags: [EventTag.notStreamed] };
    const said = { author: agent.name, object: ObjectType.agentInput, content, ...(nodeInfo && { nodeInfo }), ...tags };
    await inTurn(() => own.appendInput(said));
  }
  const driver = new AgentDriver(context.forAgent(request.agent));
  let isWaiting = false;
  try {
    // An agent that is aborted ends at once, even if it still works.
    const next = () => context.untilAborted(driver.next());
    for (let step = await next(); !step.done; step = await next()) {
      const event = step.value;
      context.throwIfAborted();
      const waits = event.partial !== true && !event.nodeEvent && !context.progress.isCommitted(event);
      const committed = waits ? await inTurn(async () => own.commit(event)) : await own.commit(event);
      if (committed.partial !== true || request.streaming) yield committed;
    }
    // A program of `@eventloom/adk` may give the context of a callback, which cannot wait and has no `canContinue`.
    isWaiting = context.isPaused && (!request.caller || request.caller.canContinue);
    if (isWaiting) {
      parent.pause();
      request.onPause?.();
    } else for (const event of await own.end()) yield event;
  } catch (error) {
    for (const event of await own.end()) yield event;
    throw error;
  } finally {
    await driver.close();
    if (!isWaiting) await own.end();
  }
}

/** The events of a sub-invocation: they are stored in the session of its run, and the sub-invocation sees only these. */
class SubInvocationEvents implements EventSink {
  readonly #context: InvocationContext;
  readonly #run: RunAppender;
  readonly #committer: EventCommitter;

  constructor(context: InvocationContext, run: RunAppender) {
    run.openSubInvocation();
    this.#context = context;
    this.#run = run;
    this.#committer = new EventCommitter(context, this);
  }

  /** Commits an event of the agent. Its caller yields the event unchanged. */
  async commit(event: Event): Promise<Event> {
    const { progress } = this.#context;
    // An event of a nested sub-invocation.
    if (progress.isCommitted(event)) return event;
    const committed = await this.#committer.commit(event);
    progress.noteCommitted(committed);
    return committed;
  }

  /** Stores what the agent is asked to do. */
  async appendInput(params: EventParams): Promise<Event> {
    return this.#committer.appendNew(params);
  }

  /**
   * Ends the sub-invocation, while its run continues: stores nothing more of it, and responses to the calls that it
   * left, because no message can answer them. Returns those to requests and long-running calls, which readers of the
   * run may know. An aborted run answers all of its calls itself, or leaves them to the process that resumes it. Never
   * rejects.
   */
  async end(): Promise<Event[]> {
    const { platform, invocationId, branch, parent, progress } = this.#context;
    const { lock, context: runContext } = this.#run;
    if (runContext.abortSignal.aborted || !parent) return [];
    await this.#run.closeWithin(this.#context);
    const params = (author: string): EventParams => this.#context.createEvent({ author });
    const ended = {
      lock,
      loaded: runContext.invocation,
      invocationId,
      root: runContext.invocation.rootAgent,
      branch,
      how: 'failed',
      params,
    } as const;
    const stored: Event[] = [];
    try {
      await this.#run.inRespondingTurn(() =>
        storeLastResponses(ended, async (responses) => {
          for (const response of responses) stored.push(await this.#append(this.#committer.complete(response), parent));
        }),
      );
    } catch (error) {
      if (!isSessionLost(error)) reportUnlessStopped(platform, error);
    }
    if (stored.length === 0) return stored;
    const calls = Calls.of(ended.loaded);
    const shown = stored.filter((event) => calls.respondedIn(event).some(({ isLongRunning }) => isLongRunning));
    for (const event of shown) progress.noteCommitted(event);
    return shown;
  }

  append(event: Event): Promise<Event> {
    return this.#append(event, this.#context);
  }

  /** @param context the context that stores the event: that of the sub-invocation, or after its end that of its caller */
  async #append(event: Event, context: InvocationContext): Promise<Event> {
    const stored = await this.#run.appendOfSubInvocation(event, this.#context.branch, context);
    const { session, onStored } = this.#context.invocation;
    session.events.push(asSeenWithin(stored));
    onStored?.(event);
    return stored;
  }
}

function atOnce<T>(commit: () => Promise<T>): Promise<T> {
  return commit();
}

/** Returns the events of the agent before the run was interrupted or paused, and the answers of people since then. */
function recordedEvents(
  { invocation, invocationId, branch = '', executionId }: InvocationContext,
  session: Session,
): Event[] {
  const before = invocation.resumedLog?.within(branch, executionId) ?? [];
  const known = new Set(invocation.resumedLog?.events.map(({ id }) => id));
  const branches = new Set(before.map((event) => event.branch));
  const since = session.events.filter(
    (event) =>
      event.author === 'user' &&
      event.invocationId === invocationId &&
      (enclosureOf(event.branch) === branch || branches.has(event.branch)) &&
      !known.has(event.id),
  );
  return [...before.map(asSeenWithin), ...since];
}

/** Returns a stored event of a sub-invocation from the view of its agent: the caller's request is the user's message. */
function asSeenWithin(event: Event): Event {
  return event.object === ObjectType.agentInput ? { ...event, author: 'user' } : event;
}

/** Finds the events with unanswered requests to people that were not yielded from the run. */
function unseenRequests(
  recorded: readonly Event[],
  { invocation: { resumedLog: stored } }: InvocationContext,
): (event: Event) => boolean {
  const calls = new Calls(recorded);
  if (!calls.all.some(({ isLongRunning }) => isLongRunning)) return () => false;
  const streamed = new Set(stored?.events.map((event) => streamedRecordOf(event)?.id));
  const lacksAnswer = (call: SessionCall): boolean => call.isLongRunning && !answerOf(call);
  return (event) => !streamed.has(event.id) && calls.madeIn(event).some(lacksAnswer);
}

function partOf(invocation: Invocation, { agent, userContent, streaming, inTurn, caller }: SubInvocation): Invocation {
  const { session } = invocation;
  const canWait = caller?.canContinue ?? true;
  const runConfig = canWait ? invocation.runConfig : { ...invocation.runConfig, resumable: false };
  return {
    ...invocation,
    rootAgent: agent,
    userContent,
    // An agent inside AgentTool gets and returns text, even in a live run.
    live: undefined,
    inTurn: inTurn ?? invocation.inTurn,
    session: { ...session, events: [] },
    derived: new Map(),
    readsNodes: false,
    runConfig: streaming ? runConfig : { ...runConfig, streamingMode: StreamingMode.NONE },
  };
}
