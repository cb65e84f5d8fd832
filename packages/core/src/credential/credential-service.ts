import { type AuthConfig, type AuthCredential, toPublicAuthConfig, readCredential } from './auth-config.ts';

/** Identifies a credential of a user. Ids and keys are non-empty text without NUL, of at most 256 bytes. */
export interface CredentialKey {
  readonly appName: string;
  readonly userId: string;
  readonly credentialKey: string;
}

/** Parameters of `saveCredential`. */
export interface SaveCredentialRequest extends CredentialKey {
  readonly credential: AuthCredential;
}

/**
 * Stores users' credentials: those that clients send at the request of a tool, and those that tools derive from them. No event, state
 * or log contains them. A credential belongs to the user and is shared by all of their sessions.
 *
 * Arguments and results are copies. No method writes a credential to a log or into an error message. Each method rejects with
 * InvalidRequestError for an invalid key, and changes nothing then, and with StorageError if the storage is locked, full or cannot be
 * reached. A change that a method has resolved for is visible to every process that shares the storage.
 */
export abstract class BaseCredentialService {
  /** Returns the credential; undefined if there is none. */
  abstract loadCredential(key: CredentialKey): Promise<AuthCredential | undefined>;

  /**
   * Saves the credential and replaces an earlier one.
   * @throws InvalidRequestError for an invalid key and for a credential that is not JSON
   */
  abstract saveCredential(request: SaveCredentialRequest): Promise<void>;

  /** Deletes the credential. Does nothing if there is none. */
  abstract deleteCredential(key: CredentialKey): Promise<void>;

  /**
   * Returns the request for a credential that the client gets: the scheme, the key, and only the public fields of
   * credentials (the kind, and of OAuth the client id, the consent page, the state, the redirect and the audience). It
   * is stored in events.
   * @param user the user who is asked; undefined if the config was described before
   * @throws ConfigurationError without a scheme that is JSON @throws InvalidRequestError for an invalid key
   */
  describe(authConfig: unknown, _user?: Pick<CredentialKey, 'appName' | 'userId'>): AuthConfig {
    return toPublicAuthConfig(authConfig);
  }

  /**
   * Returns the credential in a client's answer: the `exchangedAuthCredential` of an auth config, or the answer itself, in camelCase or
   * snake_case. Undefined if it contains none, which means that the client refused.
   * @param _authConfig the config of the request as the client got it, for services that read answers of another form
   */
  readAnswer(answer: Readonly<Record<string, unknown>>, _authConfig?: unknown): AuthCredential | undefined {
    return readCredential(answer);
  }
}
