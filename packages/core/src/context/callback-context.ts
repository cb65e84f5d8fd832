import type { BaseArtifactService } from '../artifact/artifact-service.ts';
import type { Part, Content } from '../content/content.ts';
import { setOwn } from '../content/json.ts';
import { ConfigurationError } from '../errors.ts';
import { createEventActions, type EventActions } from '../event/event-actions.ts';
import type { BaseMemoryService, SearchMemoryRequest, SearchMemoryResponse } from '../memory/memory-service.ts';
import { sessionKeyOf } from '../session/session.ts';
import { State, StateReader } from '../state/state.ts';
import type { InvocationContext } from './invocation-context.ts';

/** State that can be read but not written. */
export type ReadonlyState = Pick<State, 'get' | 'has' | 'toRecord'>;

/**
 * The parameter of an instruction function, and the base of the contexts of callbacks and tools: who runs, for whom, and the session's state
 * for reading.
 *
 * @example
 * const instruction = (context: ReadonlyContext): string => `Answer in ${context.state.get('language', 'English')}.`;
 */
export class ReadonlyContext {
  /** The context of the agent that runs, for what this class does not offer. */
  readonly invocationContext: InvocationContext;

  constructor(invocationContext: InvocationContext) {
    this.invocationContext = invocationContext;
  }

  /** Id of the run: the same in all of its events. */
  get invocationId(): string {
    return this.invocationContext.invocationId;
  }

  /** Name of the agent that runs. */
  get agentName(): string {
    return this.invocationContext.agent.name;
  }

  /** Name of the app, as given to the runner. */
  get appName(): string {
    return this.invocationContext.appName;
  }

  /** Id of the user that the session belongs to. */
  get userId(): string {
    return this.invocationContext.userId;
  }

  /** Id of the session. */
  get sessionId(): string {
    return this.invocationContext.invocation.session.id;
  }

  /** The message that started the run; undefined for a run without one. */
  get userContent(): Content | undefined {
    return this.invocationContext.userContent;
  }

  /** The session's state, with writes of this run that are not stored yet. `get` returns copies. */
  get state(): ReadonlyState {
    return new StateReader(this.invocationContext.invocation.session.state);
  }
}

/** Parameters of a callback context. */
export interface CallbackContextParams {
  readonly invocationContext: InvocationContext;
  /** Actions of the next event. Default: new, empty actions. */
  readonly eventActions?: EventActions;
  /**
   * State of the context. It must write to `eventActions` and read the session's state. Default: a `State` of both that
   * can always be written.
   */
  readonly state?: State;
}

/** Options of a memory search. */
export type MemorySearchOptions = Pick<SearchMemoryRequest, 'limit' | 'exceptSessionId'>;

/**
 * The parameter of callbacks: state, artifacts and memory of the session, for reading and writing. Changes are stored with the next event
 * of the agent, and are visible at once in the same run. `Context` is the same class under its ADK name.
 *
 * @example
 * const countTurns: SingleAgentCallback = (context) => {
 *   context.state.set('turns', context.state.get('turns', 0) + 1);
 *   return undefined;
 * };
 */
export class CallbackContext extends ReadonlyContext {
  /** The actions of the agent's next event, for signals such as `actions.escalate = true`. Write state with `state.set` instead. */
  readonly actions: EventActions;
  #state: State | undefined;

  constructor({ invocationContext, eventActions, state }: CallbackContextParams) {
    super(invocationContext);
    this.#state = state;
    this.actions = eventActions ?? createEventActions();
  }

  /** The same object as `actions`, under its ADK name. */
  get eventActions(): EventActions {
    return this.actions;
  }

  /** The session's state, for reading and writing: `state.get(key)`, `state.set(key, value)`. */
  override get state(): State {
    return (this.#state ??= new State(this.invocationContext.invocation.session.state, this.actions));
  }

  /** Fires when the run is aborted, or when its caller stops reading events. */
  get abortSignal(): AbortSignal {
    return this.invocationContext.abortSignal;
  }

  /**
   * Saves a new version of an artifact and returns its number, from 0. The next event reports it in `artifactDelta`.
   * @throws InvalidArtifactNameError for a name that cannot be stored
   * @throws ConfigurationError if the runner has no artifact service
   */
  async saveArtifact(filename: string, artifact: Part): Promise<number> {
    const version = await this.#artifacts().saveArtifact({
      ...sessionKeyOf(this.invocationContext.session),
      filename,
      artifact,
    });
    setOwn(this.actions.artifactDelta, filename, version);
    return version;
  }

  /**
   * Loads one version of an artifact; the latest without `version`. Resolves to undefined if it does not exist.
   * @throws InvalidArtifactNameError for a name that cannot be stored
   * @throws ConfigurationError if the runner has no artifact service
   */
  loadArtifact(filename: string, version?: number): Promise<Part | undefined> {
    return this.#artifacts().loadArtifact({ ...sessionKeyOf(this.invocationContext.session), filename, version });
  }

  /** Lists the names of the artifacts that this session can load. @throws ConfigurationError if the runner has no artifact service */
  listArtifacts(): Promise<string[]> {
    return this.#artifacts().listArtifactKeys(sessionKeyOf(this.invocationContext.session));
  }

  /**
   * Searches the memories of this user. The best match comes first.
   * @throws ConfigurationError if the runner has no memory service
   * @throws InvalidRequestError for a limit that is not a positive integer
   */
  async searchMemory(query: string, options: MemorySearchOptions = {}): Promise<SearchMemoryResponse> {
    const { appName, userId } = this.invocationContext;
    return this.#memory('searchMemory').searchMemory({ ...options, appName, userId, query });
  }

  /**
   * Adds the events of this session to memory. Events that memory has already are not added twice, so it can be called
   * after each turn.
   * @throws ConfigurationError if the runner has no memory service
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
