import {
  type ArtifactKey,
  type AuthConfig,
  type AuthCredential,
  BaseCredentialService,
  type CallbackContext,
  ConfigurationError,
  type CredentialKey,
  InvalidRequestError,
  type LoadArtifactRequest,
  type Part,
  type Platform,
  type SaveArtifactRequest,
  type SaveCredentialRequest,
  type SearchMemoryRequest,
  type SearchMemoryResponse,
  type Session,
  type SessionKey,
  systemPlatform,
} from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { InMemoryCredentialService } from '@eventloom/credentials';
import { SignInCredentials } from './sign-in-credentials.ts';

// The services that a program writes itself, with the methods that @google/adk asks for.

/**
 * A memory service of a program that was written for `@google/adk`. Those of Eventloom have further methods: see
 * `BaseMemoryService` of `@eventloom/core`.
 */
export interface AdkBaseMemoryService {
  /** Adds the session to the memory. */
  addSessionToMemory(session: Session): Promise<void>;
  /** Returns the user's memories that match the query. */
  searchMemory(request: SearchMemoryRequest): Promise<SearchMemoryResponse>;
}

/**
 * Metadata of a version of an artifact, in programs that were written for `@google/adk`. The services of Eventloom give
 * all but `customMetadata` for each version.
 */
export interface AdkArtifactVersion {
  readonly version: number;
  readonly canonicalUri?: string | undefined;
  readonly mimeType?: string | undefined;
  /** Time at which the version was saved, in seconds since the epoch. */
  readonly createTime?: number | undefined;
  readonly customMetadata?: Readonly<Record<string, unknown>> | undefined;
}

/** An artifact service of a program that was written for `@google/adk`. */
export interface AdkBaseArtifactService {
  /** Saves a version and returns its number. The first one is 0. */
  saveArtifact(request: SaveArtifactRequest): Promise<number>;
  /** Returns a version, by default the latest; undefined if it does not exist. */
  loadArtifact(request: LoadArtifactRequest): Promise<Part | undefined>;
  /** Returns the names of the session's artifacts. */
  listArtifactKeys(request: SessionKey): Promise<string[]>;
  /** Deletes all versions of an artifact. */
  deleteArtifact(request: ArtifactKey): Promise<void>;
  /** Returns the numbers of the versions. */
  listVersions(request: ArtifactKey): Promise<number[]>;
  /** Returns the metadata of all versions. */
  listArtifactVersions(request: ArtifactKey): Promise<AdkArtifactVersion[]>;
  /** Returns the metadata of a version, by default of the latest; undefined if it does not exist. */
  getArtifactVersion(request: LoadArtifactRequest): Promise<AdkArtifactVersion | undefined>;
}

/**
 * A credential service of a program that was written for `@google/adk`. The runtime calls it outside of tools too, for
 * example when a user has sent a credential, so `authConfig` has only its `credentialKey`, the ids of the app and the
 * user, and the credential to save; and `toolContext` has only `appName`, `userId`, and these two in its
 * `invocationContext.session`. Reading anything else of the two throws a ConfigurationError.
 */
export interface AdkBaseCredentialService {
  /** Returns the user's credential with the `credentialKey`; undefined if there is none. */
  loadCredential(
    authConfig: AuthConfig & CredentialKey,
    toolContext: CallbackContext,
  ): Promise<AuthCredential | undefined>;
  /** Saves `exchangedAuthCredential` under the `credentialKey`. */
  saveCredential(authConfig: AuthConfig & SaveCredentialRequest, toolContext: CallbackContext): Promise<void>;
}

/** Returns the credential service that runs need: one that signs users in, with the given one behind it. */
export function toRunCredentials(
  service: BaseCredentialService | AdkBaseCredentialService | undefined,
  platform: Platform = systemPlatform,
): BaseCredentialService | undefined {
  if (typeof service !== 'object' || service === null || service instanceof SignInCredentials) return service;
  return new SignInCredentials(isRunCredentials(service) ? service : adaptCredentials(service), platform);
}

function adaptCredentials(service: AdkBaseCredentialService): BaseCredentialService {
  if (typeof service.loadCredential === 'function' && typeof service.saveCredential === 'function')
    return new ProgramCredentials(service);
  throw new ConfigurationError(
    'Runner: credentialService: expected a credential service with loadCredential and saveCredential; write new InMemoryCredentialService()',
  );
}

function isRunCredentials(service: BaseCredentialService | AdkBaseCredentialService): service is BaseCredentialService {
  return 'describe' in service;
}

class ProgramCredentials extends BaseCredentialService {
  readonly #service: AdkBaseCredentialService;

  constructor(service: AdkBaseCredentialService) {
    super();
    this.#service = service;
  }

  override loadCredential(key: CredentialKey): Promise<AuthCredential | undefined> {
    return this.#service.loadCredential(only('authConfig', key), contextOf(key));
  }

  override saveCredential(request: SaveCredentialRequest): Promise<void> {
    const authConfig = { ...request, exchangedAuthCredential: request.credential };
    return this.#service.saveCredential(only('authConfig', authConfig), contextOf(request));
  }

  override async deleteCredential(): Promise<void> {
    throw new ConfigurationError(
      'credentialService: the service of the program cannot delete credentials; write new InMemoryCredentialService(), or extend BaseCredentialService of @eventloom/core',
    );
  }
}

/** The part of a tool's context that says whose credential a program loads or saves. */
interface CredentialContext {
  readonly invocationContext: { readonly session: Pick<CredentialKey, 'appName' | 'userId'> };
}

/**
 * The `InMemoryCredentialService` for programs that were written for `@google/adk`: that of `eventloom`, whose
 * `loadCredential` and `saveCredential` also take an auth config and the context of a tool.
 *
 * @example const runner = new Runner({ appName: 'app', agent, sessionService: new InMemorySessionService(),
 * credentialService: new InMemoryCredentialService() });
 */
export class AdkInMemoryCredentialService extends InMemoryCredentialService {
  /** The name of the class in error messages. */
  static override readonly name: string = 'InMemoryCredentialService';

  override async loadCredential(
    request: CredentialKey | Pick<AuthConfig, 'credentialKey'>,
    context?: CredentialContext,
  ): Promise<AuthCredential | undefined> {
    return super.loadCredential(keyOf(request, context));
  }

  /** Saves the `exchangedAuthCredential` of an auth config, or the credential of a request. A config without one changes nothing. */
  override async saveCredential(
    request: SaveCredentialRequest | Pick<AuthConfig, 'credentialKey' | 'exchangedAuthCredential'>,
    context?: CredentialContext,
  ): Promise<void> {
    if (!context) return super.saveCredential(request as SaveCredentialRequest);
    const credential = 'exchangedAuthCredential' in request ? request.exchangedAuthCredential : undefined;
    if (credential) await super.saveCredential({ ...keyOf(request, context), credential });
  }
}

/** @throws InvalidRequestError for an auth config without the context of a tool */
function keyOf(request: Pick<AuthConfig, 'credentialKey'>, context: CredentialContext | undefined): CredentialKey {
  const user: unknown = context === undefined ? request : context?.invocationContext?.session;
  if (!isRecord(user) || !('userId' in user))
    throw new InvalidRequestError(
      'InMemoryCredentialService: the user is not known; write loadCredential(authConfig, toolContext), or loadCredential({ appName, userId, credentialKey })',
    );
  return { appName: user['appName'] as string, userId: user['userId'] as string, credentialKey: request.credentialKey };
}

function contextOf({ appName, userId }: CredentialKey): CallbackContext {
  const user = { appName, userId };
  const session = only('toolContext.invocationContext.session', user);
  return only('toolContext', { ...user, invocationContext: only('toolContext.invocationContext', { session }) });
}

/** Returns a view of the fields that are known, as a value of the type that the ADK declares. Reading another field throws. */
function only<T extends object>(name: string, known: object): T {
  const get = (fields: object, field: string | symbol): unknown => {
    if (field in fields || typeof field === 'symbol' || field === 'then' || field === 'toJSON')
      return Reflect.get(fields, field);
    throw new ConfigurationError(
      `credentialService: ${name}.${field} is not known when the runtime loads or saves a credential; it has ${Object.keys(known).join(', ')}`,
    );
  };
  return new Proxy(known, { get }) as T;
}
