import type { BaseArtifactService } from '../artifact/artifact-service.ts';
import type { Part } from '../content/content.ts';
import { setOwn } from '../content/json.ts';
import { ConfigurationError } from '../errors.ts';
import { createEventActions, type EventActions } from '../event/event-actions.ts';
import type { BaseMemoryService, SearchMemoryRequest, SearchMemoryResponse } from '../memory/memory-service.ts';
import { sessionKeyOf } from '../session/session.ts';
import { State } from '../state/state.ts';
import type { InvocationContext } from './invocation-context.ts';
import { ReadonlyContext } from './readonly-context.ts';

/** Parameters of a callback context. */
export interface CallbackContextParams {
  readonly invocationContext: InvocationContext;
  /** The actions of the event to come; new ones when absent. */
  readonly eventActions?: EventActions;
  /**
   * The `state` of the context, over the same actions and the session's state. Default: one that can always be written.
   */
  readonly state?: State;
}

/** Options of a memory search. */
export type MemorySearchOptions = Pick<SearchMemoryRequest, 'limit' | 'exceptSessionId'>;

/** The context of a callback: reads and writes state and artifacts. The changes go into the next event. */
export class CallbackContext extends ReadonlyContext {
  /** Side effects and signals of the next event. */
  readonly actions: EventActions;
  #state: State | undefined;

  constructor({ invocationContext, eventActions, state }: CallbackContextParams) {
    super(invocationContext);
    this.#state = state;
    this.actions = eventActions ?? createEventActions();
  }

  /** The same as `actions`, by its ADK name. */
  get eventActions(): EventActions {
    return this.actions;
  }

  override get state(): State {
    return (this.#state ??= new State(this.invocationContext.session.state, this.actions));
  }

  /** Fires when the run is aborted, or nobody wants its result any more. */
  get abortSignal(): AbortSignal {
    return this.invocationContext.abortSignal;
  }

  /** Saves a new version; the next event's `artifactDelta` tells. @throws InvalidArtifactNameError @throws ConfigurationError without an artifact service */
  async saveArtifact(filename: string, artifact: Part): Promise<number> {
    const version = await this.#artifacts().saveArtifact({
      ...sessionKeyOf(this.invocationContext.session),
      filename,
      artifact,
    });
    setOwn(this.actions.artifactDelta, filename, version);
    return version;
  }

  /** The latest version or the one named; undefined when it is not there. @throws as saveArtifact */
  loadArtifact(filename: string, version?: number): Promise<Part | undefined> {
    return this.#artifacts().loadArtifact({ ...sessionKeyOf(this.invocationContext.session), filename, version });
  }

  /** Names that this session can load. @throws ConfigurationError without an artifact service */
  listArtifacts(): Promise<string[]> {
    return this.#artifacts().listArtifactKeys(sessionKeyOf(this.invocationContext.session));
  }

  /**
   * Searches the memories of this user, best first.
   * @throws ConfigurationError without a memory service
   * @throws InvalidRequestError for a limit that is not a positive integer
   */
  async searchMemory(query: string, options: MemorySearchOptions = {}): Promise<SearchMemoryResponse> {
    const { appName, userId } = this.invocationContext;
    return this.#memory('searchMemory').searchMemory({ ...options, appName, userId, query });
  }

  /**
   * Remembers what this session holds so far, or what of it is new: made to be called after each turn.
   * @throws ConfigurationError without a memory service
   */
  async addSessionToMemory(): Promise<void> {
    await this.#memory('addSessionToMemory').addSessionToMemory(this.invocationContext.session);
  }

  #memory(caller: string): BaseMemoryService {
    const service = this.invocationContext.memoryService;
    if (!service)
      throw new ConfigurationError(
        `${caller}: the runner has no memoryService; write memoryService: new InMemoryMemoryService() in its options`,
      );
    return service;
  }

  #artifacts(): BaseArtifactService {
    const service = this.invocationContext.artifactService;
    if (!service)
      throw new ConfigurationError(
        'artifacts: the runner has no artifactService; write artifactService: new InMemoryArtifactService() in its options',
      );
    return service;
  }
}
