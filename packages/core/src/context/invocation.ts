import type { BaseAgent } from '../agent/base-agent.ts';
import type { RunConfig } from '../agent/run-config.ts';
import type { BaseArtifactService } from '../artifact/artifact-service.ts';
import type { Content } from '../content/content.ts';
import type { ContextCacheConfig } from '../model/context-cache.ts';
import type { BaseCredentialService } from '../credential/credential-service.ts';
import type { Event } from '../event/event.ts';
import type { RunOperations } from '../instrumentation/instrumentation.ts';
import type { LiveRun } from '../live/live-run.ts';
import type { BaseMemoryService } from '../memory/memory-service.ts';
import type { ModelResolver } from '../model/base-llm.ts';
import type { Platform } from '../platform/platform.ts';
import type { PluginManager } from '../plugin/plugin-manager.ts';
import type { Session } from '../session/session.ts';
import type { SessionKey } from '../session/session-key.ts';
import type { BaseSessionService } from '../session/session-service.ts';
import type { ToolLedger } from '../session/tool-ledger.ts';
import type { AbortGuard } from './abort-guard.ts';
import type { DerivedValues } from './derived-values.ts';
import type { InvocationContext } from './invocation-context.ts';
import type { InvocationLog } from './invocation-log.ts';
import type { SessionCall } from '../calls/calls.ts';
import type { InTurn, SubInvocation } from './sub-invocation.ts';

/** A message that was checked, in its stored form. */
export interface CheckedMessage {
  readonly message: Content;
  /** The calls that its responses answer, in the order of the responses. */
  readonly calls: readonly SessionCall[];
  /** The answers in it to calls and to requests that tools made; undefined if it has none. */
  readonly answers:
    | {
        /** Saves the credentials among the answers in the credential service. The stored message does not contain them. */
        keepCredentials(session: SessionKey): Promise<void>;
      }
    | undefined;
}

/** The runner that drives an invocation, as its contexts see it. `testContext` has a host without a runner. */
export interface RunHost {
  /** Runs the agent of a context, and then each agent that control is transferred to. */
  runAgent(context: InvocationContext): AsyncGenerator<Event, void, void>;
  /**
   * Runs an agent in a sub-invocation; see `InvocationContext.runSubInvocation`.
   * @throws ConfigurationError without a runner
   */
  runSubInvocation(parent: InvocationContext, request: SubInvocation): AsyncGenerator<Event, void, void>;
  /**
   * Checks content that the client sends in a live run with the rules for the first message of a run, matches its answers with their
   * calls, and lets plugins replace it.
   * @param context the context of the agent that has control
   * @throws InvalidMessageError
   */
  readMessage(context: InvocationContext, content: Content): Promise<CheckedMessage>;
}

/** State and services that all agents of one invocation share. Created by the runner. */
export interface Invocation {
  readonly invocationId: string;
  /** The top of the tree that is run: the runner's agent, or the agent of a sub-invocation. */
  readonly rootAgent: BaseAgent;
  readonly session: Session;
  readonly runConfig: RunConfig;
  /** The message that started the invocation; undefined for a run without one. */
  readonly userContent: Content | undefined;
  /** The live side of a live run; absent in other runs and in the sub-invocations of a live run. */
  readonly live?: LiveRun | undefined;
  /** The abort of the whole run. */
  readonly abort: AbortGuard;
  readonly platform: Platform;
  readonly plugins: PluginManager;
  /** The observed operations of the run. Absent: the run is not observed. */
  readonly operations?: RunOperations | undefined;
  /** The runner's session service. Absent in a context that no runner made. */
  readonly sessionService?: BaseSessionService | undefined;
  readonly artifactService: BaseArtifactService | undefined;
  readonly memoryService: BaseMemoryService | undefined;
  /** Stores credentials. Absent: tools cannot ask for credentials. */
  readonly credentialService?: BaseCredentialService | undefined;
  /** Resolves a model name to a model. Undefined: agents need model objects. */
  readonly models: ModelResolver | undefined;
  /** True if its agents read what agents in nodes of a workflow said, each on a branch of its own. Default false. */
  readonly readsNodes?: boolean | undefined;
  /** Options of the context cache of model services; undefined: no cache. */
  readonly contextCacheConfig?: ContextCacheConfig | undefined;
  /** Values derived from the events of the session. */
  readonly derived: DerivedValues;
  /** The stored part of the invocation, if it is resumed. */
  readonly resumedLog?: InvocationLog | undefined;
  /** Records the tool calls of the run. */
  readonly ledger: ToolLedger;
  /**
   * Commits events of agents that run at the same time in an order that does not depend on their speed. Absent: in the
   * order in which they come.
   */
  readonly inTurn?: InTurn | undefined;
  /** Called with each stored event of a sub-invocation, before its reader gets the event. */
  readonly onStored?: ((event: Event) => void) | undefined;
  /** The runner that drives the invocation. */
  readonly host: RunHost;
}
