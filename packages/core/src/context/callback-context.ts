import type { BaseArtifactService } from '../artifact/artifact-service.ts';
import type { Part } from '../content/content.ts';
import { setOwn } from '../content/json.ts';
import { ConfigurationError } from '../errors/configuration-error.ts';
import { createEventActions, type EventActions } from '../event/event-actions.ts';
import type { SearchMemoryResponse } from '../memory/memory-service.ts';
import { sessionKeyOf } from '../session/session.ts';
import { State } from '../state/state.ts';
import type { InvocationContext } from './invocation-context.ts';
import { ReadonlyContext } from './readonly-context.ts';

/** What a callback context is made of. */
export interface CallbackContextParams {
  readonly invocationContext: InvocationContext;
  /** The actions of the event to come; new ones when absent. */
  readonly eventActions?: EventActions;
}

/** What a callback works with: state and artifacts, whose changes go into the next event. */
export class CallbackContext extends ReadonlyContext {
  /** Side effects and signals of the next event. */
  readonly actions: EventActions;
  #state: State | undefined;

  constructor({ invocationContext, eventActions }: CallbackContextParams) {
    super(invocationContext);
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

  /** What is remembered of this user. @throws ConfigurationError without a memory service */
  async searchMemory(query: string): Promise<SearchMemoryResponse> {
    const { memoryService, appName, userId } = this.invocationContext;
    if (!memoryService) throw new ConfigurationError('searchMemory: the runner has no memoryService');
    return memoryService.searchMemory({ appName, userId, query });
  }

  #artifacts(): BaseArtifactService {
    const service = this.invocationContext.artifactService;
    if (!service) throw new ConfigurationError('artifacts: the runner has no artifactService');
    return service;
  }
}
