import { type Content, type Invocation, InvocationContext } from '@eventloom/core';
import { type MessageAnswers, type MessageWithAnswers, RunOperations } from '@eventloom/core/internal';
import { AgentDriver } from './agent-driver.ts';
import { RequestAnswers } from './answers.ts';
import { EventCommitter } from './event-committer.ts';
import { checkNewMessage, matchContent } from './run-message.ts';
import type { RunControl } from './run-control.ts';
import type { LockedRun } from './lock-run.ts';
import type { Runner } from './runner.ts';
import { runSubInvocation } from './sub-invocation.ts';

/** An invocation whose user message may still be replaced. */
export interface CreatedInvocation {
  readonly invocation: Invocation & { userContent: Content | undefined };
  /** The context that the first agent is started from. */
  readonly context: InvocationContext;
  readonly committer: EventCommitter;
}

/** @param message the user's message; undefined in a live run */
export function createInvocation(
  runner: Runner,
  run: LockedRun,
  control: RunControl,
  message: Content | undefined,
): CreatedInvocation {
  const { agent, platform, pluginManager } = runner;
  const { artifactService, memoryService, credentialService, models, contextCacheConfig, instrumentation } = runner;
  const { session, derived } = run.loaded;
  const { lock } = run;
  const invocation: CreatedInvocation['invocation'] = {
    invocationId: run.invocationId,
    rootAgent: agent,
    session,
    derived,
    recorded: run.resumed?.log,
    runConfig: run.config,
    userContent: run.resumed?.userContent ?? message,
    live: control.live,
    readMessage: async (content: Content, before?: MessageAnswers): Promise<MessageWithAnswers> =>
      matchContent(runner, run, checkNewMessage(content), before instanceof RequestAnswers ? before : undefined),
    abort: control.abortGuard,
    platform,
    plugins: pluginManager,
    operations: instrumentation && new RunOperations(instrumentation, platform),
    artifactService,
    memoryService,
    credentialService,
    models,
    contextCacheConfig,
    runAgent: (context) => new AgentDriver(context),
    runSubInvocation: (parent, request) => runSubInvocation(parent, request, committer),
    ledger: lock,
  };
  const context = InvocationContext.create(invocation);
  const committer = new EventCommitter({ context, lock });
  return { invocation, context, committer };
}
