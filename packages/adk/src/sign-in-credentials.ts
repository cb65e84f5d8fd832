import {
  type AuthConfig,
  type AuthCredential,
  BaseCredentialService,
  type CredentialKey,
  type OAuth2Auth,
  type Platform,
  type SaveCredentialRequest,
} from '@eventloom/core';
import { isRecord, KeyedQueue } from '@eventloom/core/internal';
import { AuthCredentialTypes, AuthHandler, type AuthScheme, OAuth2CredentialExchanger } from './auth.ts';
import { CredentialExchangeError } from './errors.ts';

type AskedUser = Pick<CredentialKey, 'appName' | 'userId'>;

/** The OAuth client and the requests for a user's consent, kept until the answer. No event contains the secret of the client. */
interface OpenSignIn {
  readonly authScheme: AuthScheme;
  /** The OAuth client of the program. */
  readonly client: OAuth2Auth;
  /** The `state` of each request that may be answered, oldest first. Empty text for a page of the program that has no state. */
  readonly states: readonly string[];
}

/** Number of requests for one credential that may be answered at the same time. */
const MAX_OPEN_REQUESTS = 16;

/** A credential that was used up. It replaces an answer, because services of programs cannot delete. */
const USED: AuthCredential = { authType: 'oauth2' };

/**
 * A credential service that signs users in with OAuth, as the contexts of the ADK do: a request gets the page on which the user consents,
 * and the code of the answer is exchanged for tokens when the credential is first loaded. The OAuth client is kept in the wrapped service
 * until then.
 */
export class SignInCredentials extends BaseCredentialService {
  readonly #service: BaseCredentialService;
  readonly #platform: Platform;
  /** Work on the credentials of each key: a code can be exchanged only once. */
  readonly #work = new KeyedQueue();

  constructor(service: BaseCredentialService, platform: Platform) {
    super();
    this.#service = service;
    this.#platform = platform;
  }

  /** @throws ConfigurationError for a scheme of OAuth without an authorization endpoint */
  override describe(authConfig: unknown, user?: AskedUser): AuthConfig {
    const request = user && isRequest(authConfig) ? new AuthHandler(authConfig).generateAuthRequest() : undefined;
    const described = this.#service.describe(request ?? authConfig, user);
    if (user && request?.exchangedAuthCredential?.oauth2?.clientSecret)
      this.#platform.background(this.#keep(request, request.exchangedAuthCredential.oauth2, user));
    return described;
  }

  /**
   * Resolves when the work on the latest request for a credential has ended: its OAuth client is stored, or the failure
   * is reported to the platform.
   */
  async requestKept(key: CredentialKey): Promise<void> {
    await this.#work.run(nameOf(key), () => Promise.resolve());
  }

  /** @throws CredentialExchangeError if the code of an answer cannot be exchanged. The user can then be asked again. */
  override async loadCredential(key: CredentialKey): Promise<AuthCredential | undefined> {
    const stored = await this.#service.loadCredential(key);
    if (!stored || !hasCode(stored)) return withoutUsed(stored);
    return this.#work.run(nameOf(key), async () => {
      // Another call may have exchanged the code.
      const latest = await this.#service.loadCredential(key);
      const kept = latest && hasCode(latest) && toSignIn(await this.#service.loadCredential(signInKeyOf(key)));
      if (!kept) return withoutUsed(latest);
      try {
        const { credential, signIn } = await exchange(latest, kept);
        await this.#service.saveCredential({ ...key, credential });
        await this.#save(key, signIn);
        return credential;
      } catch (error) {
        if (CredentialExchangeError.isInstance(error)) await this.#service.saveCredential({ ...key, credential: USED });
        throw error;
      }
    });
  }

  override saveCredential(request: SaveCredentialRequest): Promise<void> {
    return this.#service.saveCredential(request);
  }

  override deleteCredential(key: CredentialKey): Promise<void> {
    return this.#service.deleteCredential(key);
  }

  /** Takes the key itself for an API key, as the ADK does: `{ result: key }`. */
  override readAnswer(answer: Readonly<Record<string, unknown>>, authConfig?: unknown): AuthCredential | undefined {
    const { result } = answer;
    if (typeof result === 'string' && result !== '' && Object.keys(answer).length === 1 && asksForKey(authConfig))
      return { authType: AuthCredentialTypes.API_KEY, apiKey: result };
    return this.#service.readAnswer(answer, authConfig);
  }

  /** Keeps the OAuth client of a request and its state. */
  #keep({ authScheme, credentialKey }: AuthConfig, oauth2: OAuth2Auth, { appName, userId }: AskedUser): Promise<void> {
    const { authUri: _page, state = '', ...client } = oauth2;
    const key = { appName, userId, credentialKey };
    return this.#work.run(nameOf(key), async () => {
      const { states = [] } = toSignIn(await this.#service.loadCredential(signInKeyOf(key))) ?? {};
      await this.#save(key, { authScheme, client, states: [...states, state].slice(-MAX_OPEN_REQUESTS) });
    });
  }

  async #save(key: CredentialKey, { client, authScheme, states }: OpenSignIn): Promise<void> {
    const credential = { authType: 'oauth2', oauth2: client, authScheme, states };
    await this.#service.saveCredential({ ...signInKeyOf(key), credential });
  }
}

/** True for a request for OAuth with the client of the program. Without one the user's client is asked for a token. */
function isRequest(config: unknown): config is AuthConfig {
  if (!isRecord(config) || typeof config['credentialKey'] !== 'string') return false;
  const { authScheme, rawAuthCredential: raw } = config;
  const client = isRecord(raw) && isRecord(raw['oauth2']) ? raw['oauth2'] : {};
  return isRecord(authScheme) && Boolean(client['clientId'] && client['clientSecret']);
}

/** True for a request for an API key. */
export function asksForKey(config: unknown): boolean {
  if (!isRecord(config)) return false;
  const { authScheme: scheme, rawAuthCredential: raw } = config;
  const type = isRecord(raw) ? raw['authType'] : isRecord(scheme) ? scheme['type'] : undefined;
  return type === AuthCredentialTypes.API_KEY;
}

function nameOf({ appName, userId, credentialKey }: CredentialKey): string {
  return JSON.stringify([appName, userId, credentialKey]);
}

/** Returns the key of what is kept of the requests for a credential. */
function signInKeyOf({ appName, userId, credentialKey }: CredentialKey): CredentialKey {
  return { appName, userId, credentialKey: `${credentialKey}:sign-in` };
}

/** Reads what was kept of the requests for a credential. */
function toSignIn(kept: AuthCredential | undefined): OpenSignIn | undefined {
  if (!kept?.oauth2 || !('authScheme' in kept) || !('states' in kept)) return undefined;
  const { oauth2: client, authScheme, states } = kept;
  if (!isRecord(authScheme) || !Array.isArray(states)) return undefined;
  return { client, authScheme: { ...authScheme, type: String(authScheme['type']) }, states: states.map(String) };
}

function hasCode({ oauth2 }: AuthCredential): boolean {
  return !oauth2?.accessToken && Boolean(oauth2?.authResponseUri ?? oauth2?.authCode);
}

function withoutUsed(credential: AuthCredential | undefined): AuthCredential | undefined {
  return credential && Object.keys(credential).length > Object.keys(USED).length ? credential : undefined;
}

/**
 * Exchanges the code of an answer with the kept OAuth client. Of the answer only the code and the `state` are used.
 * Returns the credential and the requests that may still be answered.
 * @throws CredentialExchangeError for an answer to another request, and if the token endpoint refuses
 */
async function exchange(
  { authType, oauth2 = {} }: AuthCredential,
  { authScheme, client, states }: OpenSignIn,
): Promise<{ readonly credential: AuthCredential; readonly signIn: OpenSignIn }> {
  const { authResponseUri, authCode } = oauth2;
  const address = authResponseUri !== undefined && URL.canParse(authResponseUri) ? new URL(authResponseUri) : undefined;
  const state = (address ? address.searchParams.get('state') : oauth2.state) ?? '';
  // A code by itself may come without the state.
  const isOpen = states.includes(state) || (authResponseUri === undefined && state === '' && states.length > 0);
  if (!isOpen)
    throw new CredentialExchangeError(
      'the answer has the state of no open request for this credential; ask for a new consent',
    );
  const answer = {
    ...(authResponseUri !== undefined && { authResponseUri }),
    ...(authCode !== undefined && { authCode }),
    ...(state !== '' && { state }),
  };
  const authCredential = { authType, oauth2: { ...client, ...answer } };
  const { credential } = await new OAuth2CredentialExchanger().exchange({ authScheme, authCredential });
  return { credential, signIn: { authScheme, client, states: states.filter((each) => each !== state) } };
}
