import type { BaseAgent } from '../agent/base-agent.ts';
import type { RunConfig } from '../agent/run-config.ts';
import type { BaseArtifactService } from '../artifact/artifact-service.ts';
import type { Content } from '../content/content.ts';
import type { ContextCacheConfig } from '../model/context-cache.ts';
import type { BaseCredentialService } from '../credential/credential-service.ts';
import type { Event } from '../event/event.ts';
import type { Instrumentation } from '../instrumentation/instrumentation.ts';
import type { LiveRun } from '../live/live-run.ts';
import type { BaseMemoryService } from '../memory/memory-service.ts';
import type { ModelResolver } from '../model/base-llm.ts';
import type { Platform } from '../platform/platform.ts';
import type { PluginManager } from '../plugin/plugin-manager.ts';
import type { MaybePromise } from '../session/maybe-promise.ts';
import type { Session, SessionKey } from '../session/session.ts';
import type { ToolLedgerEntry } from '../session/tool-ledger.ts';
import type { AbortGuard } from './abort-guard.ts';
import type { InvocationContext } from './invocation-context.ts';
import type { RecordedInvocation } from './recorded-invocation.ts';
import type { InTurn, SubInvocation } from './sub-invocation.ts';

/** Answers in a user message to requests that tools made (confirmation, credential, input). */
export interface MessageAnswers {
  /** Keeps the credentials among them, which are not in the message that is stored. */
  keepCredentials(session: SessionKey): Promise<void>;
}

/** A message as it is stored. */
export interface MessageWithAnswers {
  readonly message: Content;
  readonly answers: MessageAnswers | undefined;
}

/** State and services that all agents of one invocation share. Made by the runner. */
export interface Invocation {
  readonly invocationId: string;
  /** The top of the tree that is run: the runner's agent, or the agent of a sub-invocation. */
  readonly rootAgent: BaseAgent;
  readonly session: Session;
  readonly runConfig: RunConfig;
  /** The message that set the invocation off. */
  readonly userContent: Content | undefined;
  /** The live side of a live run; absent in other runs and in the sub-invocations of a live run. */
  readonly live?: LiveRun | undefined;
  /**
   * Checks what the client says in a live run as a message that begins a run is checked, and matches its answers with their calls.
   * @param before of the message that this one takes the place of
   * @throws InvalidMessageError
   */
  readMessage?(content: Content, before?: MessageAnswers): Promise<MessageWithAnswers>;
  /** The abort of the whole run. */
  readonly abort: AbortGuard;
  readonly platform: Platform;
  readonly plugins: PluginManager;
  /** Observes the run; absent when nothing does. */
  readonly instrumentation?: Instrumentation | undefined;
  readonly artifactService: BaseArtifactService | undefined;
  readonly memoryService: BaseMemoryService | undefined;
  /** Without one, tools cannot ask for credentials. */
  readonly credentialService?: BaseCredentialService | undefined;
  /** Finds the model that a string names. */
  readonly models: ModelResolver | undefined;
  /** Options of the context cache of model services; undefined: no cache. */
  readonly contextCacheConfig?: ContextCacheConfig | undefined;
  /** Cache of values derived from the session's events, keyed by the module that derives them; dropped with the events. */
  readonly derived: Map<unknown, unknown>;
  /** The stored part of the invocation, if it is resumed. */
  readonly resumedFrom?: RecordedInvocation | undefined;
  /** Writes to the session's tool ledger under the run's lease. */
  readonly recordToolCall: (entry: ToolLedgerEntry) => MaybePromise<void>;
  /** Returns the entries of an invocation in the session's tool ledger. */
  readonly listToolCalls?: ((invocationId: string) => MaybePromise<readonly ToolLedgerEntry[]>) | undefined;
  /**
   * Puts the commits of agents that run at the same time in an order that does not depend on how fast they are. Absent where no
   * order is kept.
   */
  readonly inTurn?: InTurn | undefined;
  /** Told of each event that is stored of an agent that is run as a world of its own, before its reader has it. */
  readonly onStored?: ((event: Event) => void) | undefined;
  /** Runs the agent of a context, and then each agent that control is transferred to. */
  readonly runAgent: (context: InvocationContext) => AsyncGenerator<Event, void, void>;
  /** Runs an agent in a sub-invocation; see `InvocationContext.runSubInvocation`. */
  readonly runSubInvocation?:
    | ((parent: InvocationContext, request: SubInvocation) => AsyncGenerator<Event, void, void>)
    | undefined;
}
