import {
  type AbortGuard,
  type BaseLiveRequestQueue,
  ConfigurationError,
  type Content,
  type Invocation,
  type InvocationPast,
  type RunConfig,
  sessionKeyOf,
  type SessionLease,
} from '@eventloom/core';
import { driveAgent } from '@eventloom/multi-agent';
import type { EventCommitter } from './event-committer.ts';
import type { Runner } from './runner.ts';
import type { LoadedSession } from './session-loader.ts';
import { runSubInvocation } from './sub-invocation.ts';

/** What one invocation has of its own. */
export interface InvocationParams {
  readonly invocationId: string;
  readonly loaded: LoadedSession;
  readonly lease: SessionLease;
  readonly runConfig: RunConfig;
  /** Undefined in a live run. */
  readonly userContent: Content | undefined;
  readonly liveRequestQueue: BaseLiveRequestQueue | undefined;
  readonly readMessage: NonNullable<Invocation['readMessage']>;
  readonly past: InvocationPast | undefined;
  readonly abort: AbortGuard;
  /** The committer of the run's events, once there is one. */
  readonly committer: () => EventCommitter | undefined;
}

/** The invocation while its message may still be replaced. */
export type MutableInvocation = Invocation & { userContent: Content | undefined };

/** What is the same for all agents of a run. */
export function createInvocation(runner: Runner, params: InvocationParams): MutableInvocation {
  const { agent, platform, pluginManager, sessionService } = runner;
  const { artifactService, memoryService, credentialService, models, contextCacheConfig } = runner;
  const { invocationId, lease, runConfig, userContent, liveRequestQueue, readMessage, past, abort } = params;
  const { session, derived } = params.loaded;
  return {
    invocationId,
    rootAgent: agent,
    session,
    derived,
    past,
    runConfig,
    userContent,
    liveRequestQueue,
    readMessage,
    abort,
    platform,
    plugins: pluginManager,
    artifactService,
    memoryService,
    credentialService,
    models,
    contextCacheConfig,
    driveAgent,
    runSubInvocation: (parent, request) => {
      const committer = params.committer();
      if (!committer) throw new ConfigurationError('runSubInvocation: agents run when the message is stored');
      return runSubInvocation(parent, request, committer);
    },
    recordToolCall: (entry) => sessionService.recordToolCall(lease, entry),
    listToolCalls: (id) => sessionService.listToolCalls({ ...sessionKeyOf(session), invocationId: id }),
  };
}
