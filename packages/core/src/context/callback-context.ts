import { checkOptions, type OptionRules, readOnlyError } from '../agent/options.ts';
import type { BaseArtifactService } from '../artifact/artifact-service.ts';
import type { Part, Content } from '../content/content.ts';
import { copyJson } from '../content/copy-json.ts';
import { type JsonValue, setOwn } from '../content/json.ts';
import type { AuthConfig, AuthCredential } from '../credential/auth-config.ts';
import type { BaseCredentialService } from '../credential/credential-service.ts';
import { ConfigurationError, InvalidEventError } from '../errors.ts';
import { createEventActions } from '../event/create-event.ts';
import type { EventActions, ToolConfirmation } from '../event/event-actions.ts';
import type { BaseMemoryService, SearchMemoryRequest, SearchMemoryResponse } from '../memory/memory-service.ts';
import { sessionKeyOf } from '../session/session.ts';
import { State, StateReader } from '../state/state.ts';
import type { InvocationContext } from './invocation-context.ts';

/** State that can be read but not written. */
export type ReadonlyState = Pick<State, 'get' | 'has' | 'toRecord'>;

/**
 * The parameter of an instruction function, and the base of the contexts of callbacks and tools: the agent, the user,
 * and the session's state for reading.
 *
 * @example
 * const instruction = (context: ReadonlyContext): string => `Answer in ${context.state.get('language', 'English')}.`;
 */
export class ReadonlyContext {
  /** The context of the agent that runs, for properties that this class does not have. */
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

  set state(_state: never) {
    throw readOnlyError(
      'context',
      'state',
      "it can only be read here; write state in a callback or a tool, as in context.state.set('city', 'Lima')",
    );
  }

  /** Throws: an assignment would have no effect here, as in the ADK. @internal */
  set endInvocation(_ends: never) {
    throw readOnlyError('context', 'endInvocation', 'write context.invocationContext.endInvocation = true');
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

// `toJson` checks that the payload is JSON.
const CONFIRMATION: OptionRules<ConfirmationParams> = {
  hint: { is: 'text', write: "'Delete all files?'" },
  payload: 'any',
  endsTurn: 'flag',
};

/** A request to a person to confirm a tool call. */
interface ConfirmationParams {
  /** Text to show to the person. Default: an empty one. */
  readonly hint?: string | undefined;
  /** JSON data for the person. */
  readonly payload?: unknown;
  /** True: the model is not called before the answer, as with `actions.skipSummarization`. Default false: the model speaks first. */
  readonly endsTurn?: boolean | undefined;
}

/** Options of a memory search. */
export type MemorySearchOptions = Pick<SearchMemoryRequest, 'limit' | 'exceptSessionId'>;

/**
 * The parameter of callbacks: state, artifacts and memory of the session, for reading and writing. Changes are stored with the next event
 * of the agent, and are visible at once in the same run. `@eventloom/adk` also exports it as `Context`.
 *
 * @example
 * const countTurns: SingleAgentCallback = (context) => {
 *   context.state.set('turns', context.state.get('turns', 0) + 1);
 *   return undefined;
 * };
 */
export class CallbackContext extends ReadonlyContext {
  /** The id of the function call of a tool, or of a callback of a tool; undefined in other callbacks. */
  readonly functionCallId: string | undefined;
  /**
   * The answer of the person who was asked to confirm the call of a tool; undefined if nobody was asked, and outside a tool call.
   */
  toolConfirmation: ToolConfirmation | undefined;
  #state: State | undefined;
  #actions: EventActions | undefined;

  constructor({ invocationContext, eventActions, state }: CallbackContextParams) {
    super(invocationContext);
    this.functionCallId = undefined;
    this.toolConfirmation = undefined;
    this.#state = state;
    this.#actions = eventActions;
  }

  /** The actions of the agent's next event, for signals such as `actions.escalate = true`. Write state with `state.set` instead. */
  get actions(): EventActions {
    return (this.#actions ??= createEventActions());
  }

  /** The actions, if one was read or written; undefined otherwise. Most tools need none. @internal */
  get usedActions(): EventActions | undefined {
    return this.#actions;
  }

  /** The same object as `actions`, under its ADK name. */
  get eventActions(): EventActions {
    return this.actions;
  }

  /** The session's state, for reading and writing: `state.get(key)`, `state.set(key, value)`. */
  override get state(): State {
    return (this.#state ??= new State(this.invocationContext.invocation.session.state, this.actions));
  }

  override set state(_state: never) {
    throw readOnlyError('context', 'state', "write context.state.set('city', 'Lima')");
  }

  /** Fires when the run is aborted, or when its caller stops reading events. */
  get abortSignal(): AbortSignal {
    return this.invocationContext.abortSignal;
  }

  /**
   * Saves a new version of an artifact and returns its number, from 0. The next event reports it in `artifactDelta`.
   * @throws RunAbortedError if the run was aborted: its session may be deleted, or belong to the next run
   * @throws StaleWriterError if another writer took the session while the process was stopped
   * @throws InvalidArtifactNameError for a name that cannot be stored
   * @throws ConfigurationError if the runner has no artifact service
   */
  async saveArtifact(filename: string, artifact: Part): Promise<number> {
    this.invocationContext.throwIfAborted();
    await this.invocationContext.invocation.ledger.checkLease();
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

  /**
   * Asks a person to confirm this call. The tool then returns; its return value is the interim response for the model,
   * and undefined tells the model that the call waits. The model then speaks, unless the request has `endsTurn: true`,
   * and the run ends or pauses. After the person's answer, also if the person declined, the tool is run again from its
   * beginning with `toolConfirmation` set.
   *
   * @throws InvalidEventError for a payload that is not JSON
   * @throws ConfigurationError outside a tool call
   *
   * @example
   * const deleteAll = new FunctionTool({
   *   name: 'delete_all',
   *   description: 'Deletes all files.',
   *   execute: (_args, toolContext) => {
   *     const answer = toolContext.toolConfirmation;
   *     if (!answer) return toolContext.requestConfirmation({ hint: 'Delete all files?' });
   *     return { deleted: answer.confirmed };
   *   },
   * });
   */
  requestConfirmation(request: ConfirmationParams = {}): void {
    checkOptions(
      'requestConfirmation',
      CONFIRMATION,
      request,
      {},
      "requestConfirmation({ hint: 'Delete all files?' })",
    );
    const { hint, payload, endsTurn } = request;
    const confirmation: ToolConfirmation = { hint: hint ?? '', confirmed: false };
    if (payload !== undefined) confirmation.payload = toJson('requestConfirmation: payload', payload);
    setOwn((this.actions.requestedToolConfirmations ??= {}), this.callId('requestConfirmation'), confirmation);
    if (endsTurn) this.actions.skipSummarization = true;
  }

  /**
   * Asks the client for a credential. The tool then returns and the run pauses. After the answer the tool is run again from
   * its beginning. Secrets of the config are not sent to the client. The client's answer is stored in the credential
   * service and in no event.
   * @throws ConfigurationError without a credential service, for a config without a scheme, and outside a tool call
   * @throws InvalidRequestError for a `credentialKey` that cannot be stored
   */
  requestCredential(authConfig: AuthConfig): void {
    const described = this.credentials('requestCredential').describe(authConfig, this);
    setOwn((this.actions.requestedAuthConfigs ??= {}), this.callId('requestCredential'), described);
  }

  /**
   * Returns the credential that the user gave in answer to a request of this call, as in the ADK; undefined before the answer, and outside
   * a tool call. `loadCredential` finds credentials of earlier calls and sessions as well.
   */
  getAuthResponse(_authConfig: Pick<AuthConfig, 'credentialKey'>): AuthCredential | undefined {
    return undefined;
  }

  /**
   * Loads the user's credential with the config's `credentialKey`; undefined if there is none.
   * @throws ConfigurationError without a credential service
   */
  async loadCredential({ credentialKey }: Pick<AuthConfig, 'credentialKey'>): Promise<AuthCredential | undefined> {
    const { appName, userId } = this;
    return this.credentials('loadCredential').loadCredential({ appName, userId, credentialKey });
  }

  /**
   * Saves a credential of the user under the config's `credentialKey`, for example the tokens that an authorisation code was
   * exchanged for.
   * @throws ConfigurationError without a credential service
   */
  async saveCredential(
    { credentialKey }: Pick<AuthConfig, 'credentialKey'>,
    credential: AuthCredential,
  ): Promise<void> {
    const { appName, userId } = this;
    await this.credentials('saveCredential').saveCredential({ appName, userId, credentialKey, credential });
  }

  /** Returns the credential service. @throws ConfigurationError without one @internal */
  protected credentials(caller: string): BaseCredentialService {
    const service = this.invocationContext.invocation.credentialService;
    if (!service)
      throw new ConfigurationError(
        `${caller}: the runner has no credentialService; write credentialService: new InMemoryCredentialService() in its options`,
      );
    return service;
  }

  /** Returns the id of the function call. @throws ConfigurationError outside a tool call @internal */
  protected callId(caller: string): string {
    if (!this.functionCallId) throw new ConfigurationError(`${caller}: can be used only while a tool call runs`);
    return this.functionCallId;
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

/** Returns a JSON copy of a value. @throws InvalidEventError for a value that is not JSON */
export function toJson(caller: string, value: unknown): JsonValue {
  const copied = copyJson(value);
  if ('value' in copied) return copied.value;
  const { path, reason } = copied.fault;
  throw new InvalidEventError(`${caller}: the value${path === '' ? '' : ` at ${path}`} ${reason}; events are JSON`, {
    path,
  });
}
