import {
  auth,
  computeScopeUnion,
  type DpopSession,
  extractWWWAuthenticateParams,
  type InsufficientScopeError,
  isStrictScopeSuperset,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  UnauthorizedError,
  withDpop,
} from '@modelcontextprotocol/client';
import type {
  AuthConfig,
  AuthCredential,
  BaseCredentialService,
  CredentialKey,
  OAuth2Auth,
  Platform,
} from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { AddressRefusedError } from '@eventloom/tools/internal';
import { MCPAuthorizationError } from './errors.ts';
import { createProofKey, isStoredKey, PROOF_ALGORITHM, type ProofKey, readProofKey } from './proof-key.ts';

/** Maximum length of the address of a consent page, in characters. */
const MAX_URL = 8192;
/** Time that a user has to consent, in milliseconds. */
const CONSENT_MS = 3_600_000;

/** The OAuth client of the application, and where the credentials of a user are kept. */
interface UserAuthorizationParams {
  /** Name of the toolset, for errors. */
  readonly server: string;
  readonly url: URL;
  /** The application's client: `clientId` and `clientSecret` if it has one, and `redirectUri`. */
  readonly client: OAuth2Auth;
  readonly clientMetadataUrl: string | undefined;
  readonly skipIssuerMetadataValidation: boolean;
  readonly service: BaseCredentialService;
  readonly key: CredentialKey;
  readonly platform: Platform;
  readonly fetch: SendRequest;
}

/** Sends an HTTP request. */
type SendRequest = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** A page on which a user consents, until the answer. */
interface UserConsent {
  readonly authUri: string;
  readonly state: string;
  readonly codeVerifier: string;
  readonly scope: string | undefined;
  readonly discovery: OAuthDiscoveryState | undefined;
  readonly expiresAtMs: number;
}

/**
 * The OAuth 2.1 authorization of one user at one MCP server. Tokens, the registration of the client and the secret of a request for consent
 * are kept in the credential service, so that another process may get the answer.
 */
export class UserAuthorization {
  readonly #params: UserAuthorizationParams;
  readonly #provider: StoredProvider;
  /** The token of the last request. */
  #token: string | undefined;
  /** True if that token is bound to a key, whose possession each request proves. */
  #isTokenBound = false;
  #working: Promise<unknown> = Promise.resolve();

  constructor(params: UserAuthorizationParams) {
    this.#params = params;
    this.#provider = new StoredProvider(params);
  }

  /** Returns the user's token for a request; undefined if there is none. */
  async token(): Promise<string | undefined> {
    const tokens = await this.#provider.tokens();
    this.#token = tokens?.access_token;
    this.#isTokenBound = tokens !== undefined && isBound(tokens);
    return this.#token;
  }

  /** Returns a `fetch` that proves the possession of the key if the user's token is bound to one. */
  withProofs(fetch: SendRequest): SendRequest {
    const session = async () => (this.#isTokenBound ? (await this.#provider.boundKey())?.session : undefined);
    const send = withDpop(session, () => this.#token)(fetch);
    return (to, init) => (new URL(to).origin === this.#params.url.origin ? send(to, init) : fetch(to, init));
  }

  /** Renews the token after a server refused it. @throws UnauthorizedError if the user has to consent */
  onUnauthorized({ response }: { readonly response: Response }): Promise<void> {
    const used = this.#token;
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response);
    return this.#inTurn(async () => {
      const stored = await this.#provider.tokens();
      // Another request, or another process, has renewed it.
      if (stored && stored.access_token !== used) return;
      await this.#authorize({ scope, resourceMetadataUrl, forceReauthorization: false });
    });
  }

  /** Requests more scopes than the user has granted. @throws UnauthorizedError if the user has to consent */
  widen({ requiredScope, resourceMetadataUrl }: InsufficientScopeError): Promise<void> {
    return this.#inTurn(async () => {
      const granted = (await this.#provider.tokens())?.scope;
      const scope = computeScopeUnion(granted, requiredScope);
      const forceReauthorization = isStrictScopeSuperset(scope, granted);
      await this.#authorize({ scope, resourceMetadataUrl, forceReauthorization });
    });
  }

  async #authorize(options: {
    readonly scope: string | undefined;
    readonly resourceMetadataUrl: URL | undefined;
    readonly forceReauthorization: boolean;
  }): Promise<void> {
    const { url, fetch, platform, skipIssuerMetadataValidation } = this.#params;
    // All calls of a turn ask for the same consent, so that the answer to any of them is valid.
    const open = await this.#provider.consent();
    const isOpen = open && open.expiresAtMs > platform.now() && !isStrictScopeSuperset(options.scope, open.scope);
    if (isOpen) throw new UnauthorizedError('the user has to consent');
    const { scope, resourceMetadataUrl, forceReauthorization } = options;
    const result = await auth(this.#provider, {
      serverUrl: url,
      fetchFn: fetch,
      skipIssuerMetadataValidation,
      forceReauthorization,
      ...(scope !== undefined && { scope }),
      ...(resourceMetadataUrl && { resourceMetadataUrl }),
    }).catch((error: unknown) => {
      if (!AddressRefusedError.isInstance(error)) throw error;
      throw new MCPAuthorizationError(
        `MCP server "${this.#params.server}": names an authorization server that may not be used: ${error.message}`,
        { cause: error },
      );
    });
    if (result !== 'AUTHORIZED') throw new UnauthorizedError('the user has to consent');
  }

  /**
   * Exchanges the user's answer to a request for consent for tokens. Returns false if there is no new answer.
   * @throws MCPAuthorizationError if the answer belongs to another request or is refused; the consent is then asked for again
   */
  acceptAnswer(): Promise<boolean> {
    return this.#inTurn(async () => {
      const answer = await this.#provider.answer();
      if (!answer) return false;
      const { server, url, fetch, skipIssuerMetadataValidation } = this.#params;
      const consent = await this.#provider.consent();
      await this.#provider.forgetAnswer();
      const { authResponseUri = '', authCode, state: stateOfCode } = answer;
      const query = URL.canParse(authResponseUri) ? new URL(authResponseUri).searchParams : undefined;
      const code = query?.get('code') ?? authCode;
      const state = query ? query.get('state') : stateOfCode;
      if (!consent || !code || (state ?? (query ? undefined : consent.state)) !== consent.state)
        throw new MCPAuthorizationError(
          `MCP server "${server}": the user's answer belongs to another request for consent`,
        );
      const iss = query?.get('iss');
      this.#provider.redeemed = consent;
      try {
        await auth(this.#provider, {
          serverUrl: url,
          fetchFn: fetch,
          skipIssuerMetadataValidation,
          authorizationCode: code,
          ...(iss && { iss }),
        });
      } catch (cause) {
        throw new MCPAuthorizationError(`MCP server "${server}": the user's consent was not accepted`, { cause });
      } finally {
        this.#provider.redeemed = undefined;
      }
      return true;
    });
  }

  /** Returns the request for the user's consent; undefined if none is required at the moment. */
  async request(): Promise<AuthConfig | undefined> {
    const consent = await this.#provider.consent();
    if (!consent) return undefined;
    const { client, key } = this.#params;
    const { authUri, state, discovery } = consent;
    const clientId = new URL(authUri).searchParams.get('client_id') ?? '';
    const shown = { clientId, ...(client.redirectUri !== undefined && { redirectUri: client.redirectUri }) };
    const metadata = discovery?.authorizationServerMetadata;
    const flow = {
      authorizationUrl: authUri.slice(0, authUri.indexOf('?')),
      ...(metadata && { tokenUrl: metadata.token_endpoint }),
      scopes: Object.fromEntries((consent.scope ?? '').split(' ').flatMap((scope) => (scope ? [[scope, '']] : []))),
    };
    return {
      authScheme: { type: 'oauth2', flows: { authorizationCode: flow } },
      credentialKey: key.credentialKey,
      rawAuthCredential: { authType: 'oauth2', oauth2: shown },
      exchangedAuthCredential: { authType: 'oauth2', oauth2: { ...shown, authUri, state } },
    };
  }

  /** Runs work on the credential after all earlier work on it has ended, because tokens and codes can often be used only once. */
  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#working;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#working = promise;
    await before;
    try {
      return await work();
    } finally {
      resolve();
    }
  }
}

/** Stores the OAuth data of the client library in the credential service. */
class StoredProvider implements OAuthClientProvider {
  readonly #params: UserAuthorizationParams;
  /** The consent whose code is being exchanged. */
  redeemed: UserConsent | undefined;
  #state = '';
  #codeVerifier = '';
  #discovery: OAuthDiscoveryState | undefined;
  /** The key of the stored token. */
  #boundKey: ProofKey | undefined;
  /** The key that was used in the last request for tokens. */
  #newKey: ProofKey | undefined;

  constructor(params: UserAuthorizationParams) {
    this.#params = params;
  }

  get redirectUrl(): string | undefined {
    return this.#params.client.redirectUri;
  }

  get clientMetadataUrl(): string {
    return this.#params.clientMetadataUrl ?? '';
  }

  get clientMetadata(): OAuthClientMetadata {
    const { redirectUri, clientSecret } = this.#params.client;
    return {
      client_name: 'Eventloom',
      redirect_uris: redirectUri === undefined ? [] : [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      ...(clientSecret !== undefined && { token_endpoint_auth_method: 'client_secret_basic' }),
    };
  }

  state(): string {
    return (this.#state = this.#params.platform.newUuid());
  }

  async clientInformation(): Promise<StoredOAuthClientInformation | undefined> {
    const { clientId, clientSecret } = this.#params.client;
    if (clientId !== undefined)
      return { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) };
    const known = recordOf(await this.#load('client'));
    return typeof known?.['client_id'] === 'string' ? { ...known, client_id: known['client_id'] } : undefined;
  }

  async saveClientInformation(information: StoredOAuthClientInformation): Promise<void> {
    if (this.#params.client.clientId === undefined) await this.#save('client', {}, information);
  }

  async tokens(): Promise<StoredOAuthTokens | undefined> {
    const stored = await this.#load();
    const accessToken = stored?.oauth2?.accessToken;
    if (accessToken === undefined) return undefined;
    const { token_type: type, scope, issuer } = recordOf(stored) ?? {};
    const refreshToken = stored?.oauth2?.refreshToken;
    return {
      access_token: accessToken,
      token_type: typeof type === 'string' ? type : 'Bearer',
      ...(refreshToken !== undefined && { refresh_token: refreshToken }),
      ...(typeof scope === 'string' && { scope }),
      ...(typeof issuer === 'string' && { issuer }),
    };
  }

  async saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    const { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresIn, ...rest } = tokens;
    const nowSeconds = Math.floor(this.#params.platform.now() / 1000);
    const oauth2: OAuth2Auth = {
      accessToken,
      ...(refreshToken !== undefined && { refreshToken }),
      ...(expiresIn !== undefined && { expiresIn, expiresAt: nowSeconds + expiresIn }),
    };
    // Without a scope in its response, the server has granted the requested one (RFC 6749, section 5.1).
    const scope = rest.scope ?? this.redeemed?.scope;
    // Another process may have received the token.
    const proofKey: unknown = isBound(tokens) ? (this.#newKey?.stored ?? (await this.#storedKey())) : undefined;
    this.#boundKey = this.#newKey;
    await this.#save('', oauth2, {
      ...rest,
      ...(scope !== undefined && { scope }),
      ...(proofKey !== undefined && { proofKey }),
    });
  }

  /**
   * Returns the key for a request for tokens: the key of the stored token, or a new one if the authorization server binds tokens to keys.
   */
  async dpop(): Promise<DpopSession | undefined> {
    const { authorizationServerMetadata: metadata } = this.redeemed?.discovery ?? this.#discovery ?? {};
    const algorithms: unknown = metadata && Object.entries(metadata).find(([name]) => name === PROOF_ALGORITHMS)?.[1];
    const bindsTokens = Array.isArray(algorithms) && algorithms.includes(PROOF_ALGORITHM);
    this.#newKey = (await this.boundKey()) ?? (bindsTokens ? await createProofKey() : undefined);
    return this.#newKey?.session;
  }

  /** Returns the key that the stored token is bound to; undefined for a token without a key. */
  async boundKey(): Promise<ProofKey | undefined> {
    const stored = await this.#storedKey();
    if (!isStoredKey(stored)) return undefined;
    if (this.#boundKey?.stored.thumbprint !== stored.thumbprint) this.#boundKey = await readProofKey(stored);
    return this.#boundKey;
  }

  async #storedKey(): Promise<unknown> {
    return recordOf(await this.#load())?.['proofKey'];
  }

  saveCodeVerifier(codeVerifier: string): void {
    this.#codeVerifier = codeVerifier;
  }

  codeVerifier(): string {
    return this.redeemed?.codeVerifier ?? this.#codeVerifier;
  }

  saveDiscoveryState(discovery: OAuthDiscoveryState): void {
    this.#discovery = discovery;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.redeemed?.discovery;
  }

  /** Keeps the address of the consent page, which the client gets with the request for the credential. */
  async redirectToAuthorization(url: URL): Promise<void> {
    const { href: authUri } = url;
    const { server, platform } = this.#params;
    if (authUri.length > MAX_URL || (url.protocol !== 'https:' && url.protocol !== 'http:'))
      throw new MCPAuthorizationError(
        `MCP server "${server}": the address of the consent page is not an HTTP address of at most ${MAX_URL} characters`,
      );
    const consent: UserConsent = {
      authUri,
      state: this.#state,
      codeVerifier: this.#codeVerifier,
      scope: url.searchParams.get('scope') ?? undefined,
      discovery: this.#discovery,
      expiresAtMs: platform.now() + CONSENT_MS,
    };
    await this.#save('consent', { authUri, state: this.#state }, consent);
  }

  async invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): Promise<void> {
    if (scope === 'client' || scope === 'all') await this.#delete('client');
    if (scope === 'tokens' || scope === 'all') await this.#delete('');
  }

  async consent(): Promise<UserConsent | undefined> {
    const stored = recordOf(await this.#load('consent'));
    return isConsent(stored) ? stored : undefined;
  }

  /** Returns the user's answer if it was not exchanged yet; otherwise undefined. */
  async answer(): Promise<OAuth2Auth | undefined> {
    const { oauth2 } = (await this.#load()) ?? {};
    const isAnswer = oauth2?.accessToken === undefined && (oauth2?.authCode ?? oauth2?.authResponseUri) !== undefined;
    return isAnswer ? oauth2 : undefined;
  }

  async forgetAnswer(): Promise<void> {
    await this.#delete('');
    await this.#delete('consent');
  }

  #key(part: string): CredentialKey {
    const { key } = this.#params;
    return part === '' ? key : { ...key, credentialKey: `${key.credentialKey}:${part}` };
  }

  #load(part = ''): Promise<AuthCredential | undefined> {
    return this.#params.service.loadCredential(this.#key(part));
  }

  async #save(part: string, oauth2: OAuth2Auth, mcp: object): Promise<void> {
    const credential: AuthCredential & { readonly mcp: object } = { authType: 'oauth2', oauth2, mcp };
    await this.#params.service.saveCredential({ ...this.#key(part), credential });
  }

  #delete(part: string): Promise<void> {
    return this.#params.service.deleteCredential(this.#key(part));
  }
}

/** The field of an authorization server's metadata with the kinds of keys that it binds tokens to. */
const PROOF_ALGORITHMS = 'dpop_signing_alg_values_supported';

function isBound({ token_type: type }: StoredOAuthTokens): boolean {
  return type.toLowerCase() === 'dpop';
}

/** Returns the fields of a credential that only this file knows. */
function recordOf(credential: AuthCredential | undefined): Readonly<Record<string, unknown>> | undefined {
  const mcp = credential && 'mcp' in credential ? credential.mcp : undefined;
  return isRecord(mcp) ? mcp : undefined;
}

function isConsent(value: unknown): value is UserConsent {
  return isRecord(value) && typeof value['authUri'] === 'string' && typeof value['state'] === 'string';
}
