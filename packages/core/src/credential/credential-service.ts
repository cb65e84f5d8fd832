import { type AuthConfig, type AuthCredential, toPublicAuthConfig, readCredential } from './auth-config.ts';

/** Names a user's credential. Ids and keys are data: any text without NUL, at most 256 bytes. */
export interface CredentialKey {
  readonly appName: string;
  readonly userId: string;
  readonly credentialKey: string;
}

/** Keeps a credential. */
export interface SaveCredentialRequest extends CredentialKey {
  readonly credential: AuthCredential;
}

/**
 * Keeps users' credentials: what clients send when a tool asks, and what tools make of it. The one place where they are; no event,
 * state or log has them. A credential belongs to the user and is shared by all of their sessions.
 *
 * What is given and taken is a copy. No method writes a credential to a log, or into the message of an error. Each rejects with an
 * InvalidRequestError for a key that cannot be one, which changes nothing, and with a StorageError when the storage cannot be used: it is
 * locked, full or cannot be reached. What was acknowledged is so for every process that shares the storage.
 */
export abstract class BaseCredentialService {
  /** The credential, or undefined when there is none. */
  abstract loadCredential(key: CredentialKey): Promise<AuthCredential | undefined>;

  /** Keeps the credential in place of the one that was there. @throws InvalidRequestError also for what is no JSON */
  abstract saveCredential(request: SaveCredentialRequest): Promise<void>;

  /** Forgets the credential. Absent: a no-op. */
  abstract deleteCredential(key: CredentialKey): Promise<void>;

  /**
   * Returns the request for a credential that the client gets: the scheme, the key, and only the public fields of
   * credentials (the kind, and of OAuth the client id, the consent page, the state, the redirect and the audience). It
   * is stored in events.
   * @throws ConfigurationError without a scheme that is JSON @throws InvalidRequestError for an invalid key
   */
  describe(authConfig: unknown): AuthConfig {
    return toPublicAuthConfig(authConfig);
  }

  /**
   * The credential in a client's answer: the `exchangedAuthCredential` of an auth config, or the answer itself, keys in either
   * spelling. Undefined when there is none, which is a refusal.
   */
  readAnswer(answer: Readonly<Record<string, unknown>>): AuthCredential | undefined {
    return readCredential(answer);
  }
}
