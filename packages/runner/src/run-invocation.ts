import { type Content, type Event, type Invocation, InvocationContext } from '@eventloom/core';
import { type CheckedMessage, type RunHost, RunOperations, type SubInvocation } from '@eventloom/core/internal';
import { AgentDriver } from './agent-driver.ts';
import { matchMessage } from './answers.ts';
import { checkNewMessage } from './run-request.ts';
import { EventCommitter } from './event-committer.ts';
import { RunAppender } from './run-appender.ts';
import type { LockedRun } from './lock-run.ts';
import type { RunControl } from './run-control.ts';
import type { Runner } from './runner.ts';
import { runSubInvocation } from './sub-invocation.ts';

/** The invocation of one run: the data and services that its agents share, and the methods that their contexts call. */
export class RunInvocation implements RunHost {
  readonly locked: LockedRun;
  /** The data and services that all contexts of the run share. The user message may be replaced until it is stored. */
  readonly shared: Invocation & { userContent: Content | undefined };
  /** The context that the first agent is started from. */
  readonly context: InvocationContext;
  readonly appender: RunAppender;
  readonly committer: EventCommitter;
  /**
   * True if the run stores nothing after the last event of its agent: the store then records the end of the run
   * together with this event.
   */
  readonly endsWithEvent: boolean;
  readonly #runner: Runner;

  /** @param message the user's message; undefined in a live run */
  constructor(runner: Runner, locked: LockedRun, control: RunControl, message: Content | undefined) {
    const { platform, instrumentation } = runner;
    const { resumed, loaded, lock } = locked;
    this.#runner = runner;
    this.locked = locked;
    this.shared = {
      invocationId: locked.run.invocationId,
      rootAgent: runner.agent,
      session: loaded.session,
      derived: loaded.derived,
      resumedLog: resumed?.log,
      runConfig: locked.config,
      userContent: resumed?.userContent ?? message,
      live: control.live,
      abort: control.abort.guard,
      platform,
      plugins: runner.pluginManager,
      operations: instrumentation && new RunOperations(instrumentation, platform),
      sessionService: runner.sessionService,
      artifactService: runner.artifactService,
      memoryService: runner.memoryService,
      credentialService: runner.credentialService,
      models: runner.models,
      contextCacheConfig: runner.contextCacheConfig,
      ledger: lock,
      host: this,
    };
    this.context = InvocationContext.create(this.shared);
    this.appender = new RunAppender(this.context, lock);
    this.committer = new EventCommitter(this.context, this.appender);
    const { isResumable, plugins } = this.context;
    const hasCallbacks =
      plugins.has('onEventCallback') || plugins.has('afterAgentCallback') || plugins.has('afterRunCallback');
    this.endsWithEvent = !runner.compactor && !resumed && !isResumable && !control.live && !hasCallbacks;
  }

  runAgent(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return new AgentDriver(context);
  }

  runSubInvocation(parent: InvocationContext, request: SubInvocation): AsyncGenerator<Event, void, void> {
    return runSubInvocation(parent, request, this.appender);
  }

  async readMessage(invocationContext: InvocationContext, content: Content): Promise<CheckedMessage> {
    const matched = await matchMessage(this.#runner, this.locked, checkNewMessage(content));
    const userMessage = matched.message;
    const replaced = await invocationContext.plugins.first('onUserMessageCallback', { invocationContext, userMessage });
    return replaced ? matchMessage(this.#runner, this.locked, checkNewMessage(replaced), matched.answers) : matched;
  }
}
