import {
  type AbortGuard,
  ConfigurationError,
  type Content,
  type Invocation,
  type InvocationPast,
  type LiveRequestQueue,
  type RunConfig,
  type Session,
  sessionKeyOf,
  type SessionLease,
} from '@eventloom/core';
import { driveAgent } from '@eventloom/multi-agent';
import type { EventCommitter } from './event-committer.ts';
import { checkNewMessage } from './new-message.ts';
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
  /** What the client says in a live run. */
  readonly liveRequestQueue?: LiveRequestQueue | undefined;
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
  const { invocationId, lease, runConfig, userContent, liveRequestQueue, past, abort } = params;
  const { session, derived } = params.loaded;
  return {
    invocationId,
    rootAgent: agent,
    session,
    derived,
    past,
    runConfig,
    userContent,
    ...(liveRequestQueue ? liveParts(runner, session, liveRequestQueue) : {}),
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

/** What only an invocation of a live run has. */
function liveParts(
  { platform, credentialService, requestTtlMs }: Runner,
  session: Session,
  liveRequestQueue: LiveRequestQueue,
): Pick<Invocation, 'liveRequestQueue' | 'activeStreamingTools' | 'acceptLiveContent'> {
  return {
    liveRequestQueue,
    activeStreamingTools: new Map(),
    acceptLiveContent: async (content, context) => {
      const { acceptLiveContent } = await import('./live/accept-live-content.ts');
      const answering = { session, platform, credentialService, requestTtlMs };
      return acceptLiveContent(content, context, answering, checkNewMessage);
    },
  };
}
