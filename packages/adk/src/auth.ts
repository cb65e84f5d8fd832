import { type AuthConfig, type AuthCredential, ConfigurationError, type State } from '@eventloom/core';
import { describeKind, isRecord } from '@eventloom/core/internal';
import { AddressRefusedError, checkPublicUrl, isUnencrypted } from '@eventloom/tools/internal';
import type { AdkAuthConfig } from './adk-types.ts';
import { recordOf } from './check-arguments.ts';
import { CredentialExchangeError } from './errors.ts';

/** Kinds of credentials: values of `authType`. */
export const AuthCredentialTypes = {
  API_KEY: 'apiKey',
  HTTP: 'http',
  OAUTH2: 'oauth2',
  OPEN_ID_CONNECT: 'openIdConnect',
  SERVICE_ACCOUNT: 'serviceAccount',
} as const;
export type AuthCredentialTypes = (typeof AuthCredentialTypes)[keyof typeof AuthCredentialTypes];

/** Ways to get a token in OAuth 2. */
export const OAuthGrantType = {
  CLIENT_CREDENTIALS: 'client_credentials',
  AUTHORIZATION_CODE: 'authorization_code',
  IMPLICIT: 'implicit',
  PASSWORD: 'password',
} as const;
export type OAuthGrantType = (typeof OAuthGrantType)[keyof typeof OAuthGrantType];

/** A user name and a password, or a token. */
export interface HttpCredentials {
  username?: string;
  password?: string;
  token?: string;
}

/** Basic or bearer authentication over HTTP. */
export interface HttpAuth {
  /** Name of the HTTP authentication scheme: `basic`, `bearer`, … */
  scheme: string;
  credentials: HttpCredentials;
  additionalHeaders?: Record<string, string>;
}

/** The key of a service account of Google Cloud. */
export interface ServiceAccountCredential {
  type: 'service_account';
  projectId: string;
  privateKeyId: string;
  privateKey: string;
  clientEmail: string;
  clientId: string;
  authUri: string;
  tokenUri: string;
  authProviderX509CertUrl: string;
  clientX509CertUrl: string;
  universeDomain: string;
}

/** A service account of Google Cloud. No part of the runtime exchanges it for a token. */
export interface ServiceAccount {
  serviceAccountCredential?: ServiceAccountCredential;
  scopes?: string[];
  useDefaultCredential?: boolean;
  useIdToken?: boolean;
  audience?: string;
}

/** A security scheme of OpenID Connect with its endpoints. */
export interface OpenIdConnectWithConfig {
  readonly type: 'openIdConnect';
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly userinfoEndpoint?: string;
  readonly revocationEndpoint?: string;
  readonly tokenEndpointAuthMethodsSupported?: string[];
  readonly grantTypesSupported?: string[];
  readonly scopes?: string[];
  readonly [key: string]: unknown;
}

/** A security scheme of OpenAPI: the kind of authentication that a tool needs. */
export type AuthScheme = AdkAuthConfig['authScheme'];

/** The credential after an exchange. */
export interface ExchangeResult {
  readonly credential: AuthCredential;
  /** False if there was nothing to exchange. */
  readonly wasExchanged: boolean;
}

/** Exchanges a credential, such as an authorisation code, for one that a service takes. */
export interface BaseCredentialExchanger {
  exchange(params: { authScheme?: AuthScheme; authCredential: AuthCredential }): Promise<ExchangeResult>;
}

/** Renews credentials that have expired. */
export interface BaseCredentialRefresher {
  isRefreshNeeded(authCredential: AuthCredential, authScheme?: AuthScheme): Promise<boolean>;
  refresh(authCredential: AuthCredential, authScheme?: AuthScheme): Promise<AuthCredential>;
}

/** Refreshers by the kind of credential. */
export class CredentialRefresherRegistry {
  readonly #refreshers = new Map<string, BaseCredentialRefresher>();

  register(credentialType: AuthCredentialTypes, refresher: BaseCredentialRefresher): void {
    this.#refreshers.set(credentialType, refresher);
  }

  getRefresher(credentialType: AuthCredentialTypes): BaseCredentialRefresher | undefined {
    return this.#refreshers.get(credentialType);
  }
}

/** Gives the credentials of one kind of security scheme. */
export interface BaseAuthProvider {
  getAuthCredential(authConfig: AuthConfig, context?: unknown): Promise<AuthCredential | undefined>;
}

/** Providers of credentials by the type of the security scheme. */
export class AuthProviderRegistry {
  readonly #providers = new Map<string, BaseAuthProvider>();

  register(authSchemeType: string, provider: BaseAuthProvider): void {
    this.#providers.set(authSchemeType, provider);
  }

  getProvider({ type }: AuthScheme): BaseAuthProvider | undefined {
    return this.#providers.get(type);
  }
}

/**
 * Exchanges an authorisation code, or the credentials of a client, for tokens at the token endpoint of the scheme. The address must be
 * public and begin with `https:`, because it gets the client's secret. Redirects are not followed.
 *
 * @example
 * const exchange = async (authScheme: AuthScheme, authCredential: AuthCredential): Promise<AuthCredential> =>
 *   (await new OAuth2CredentialExchanger().exchange({ authScheme, authCredential })).credential;
 */
export class OAuth2CredentialExchanger implements BaseCredentialExchanger {
  /** Resolves to the same credential if it has a token, or if the scheme has another way to get one. @throws CredentialExchangeError */
  async exchange(params: { authScheme?: AuthScheme; authCredential: AuthCredential }): Promise<ExchangeResult> {
    const { authScheme, authCredential } = params ?? {};
    if (!authScheme || !authCredential)
      throw new CredentialExchangeError(
        `OAuth2CredentialExchanger: ${authScheme ? 'authCredential' : 'authScheme'} is missing; write exchange({ authScheme, authCredential })`,
      );
    const { oauth2 } = authCredential;
    const grant = grantOf(authScheme, Boolean(oauth2?.authCode ?? oauth2?.authResponseUri));
    if (oauth2?.accessToken || !grant) return { credential: authCredential, wasExchanged: false };
    if (!grant.tokenUrl)
      throw new CredentialExchangeError(
        'OAuth2CredentialExchanger: the scheme has no token endpoint; write tokenUrl in its flow, or tokenEndpoint',
      );
    if (!oauth2?.clientId || !oauth2.clientSecret)
      throw new CredentialExchangeError(
        'OAuth2CredentialExchanger: authCredential: clientId or clientSecret is missing; write oauth2: { clientId, clientSecret }',
      );
    const body = new URLSearchParams({
      grant_type: grant.type,
      client_id: oauth2.clientId,
      client_secret: oauth2.clientSecret,
    });
    if (grant.type === OAuthGrantType.AUTHORIZATION_CODE) {
      body.set('code', codeOf(oauth2));
      if (oauth2.redirectUri) body.set('redirect_uri', oauth2.redirectUri);
      if (oauth2.codeVerifier) body.set('code_verifier', oauth2.codeVerifier);
    }
    const tokens = await fetchTokens(grant.tokenUrl, body);
    return { credential: { ...authCredential, oauth2: { ...oauth2, ...tokens } }, wasExchanged: true };
  }
}

type OAuth2 = NonNullable<AuthCredential['oauth2']>;

/**
 * Returns the code in the credential or in the URL that the user was redirected to. The `state` of that URL must be the
 * one that was sent.
 */
function codeOf({ authCode, authResponseUri, state }: OAuth2): string {
  const answered = authResponseUri && URL.canParse(authResponseUri) ? new URL(authResponseUri).searchParams : undefined;
  if (authResponseUri && state && answered?.get('state') !== state)
    throw new CredentialExchangeError(
      'OAuth2CredentialExchanger: the state in authResponseUri differs from the state that was sent; ask for a new consent',
    );
  const code = authCode ?? answered?.get('code');
  if (!code)
    throw new CredentialExchangeError(
      'OAuth2CredentialExchanger: authCode is missing, and authResponseUri has no code; write the address that the login page led to as authResponseUri',
    );
  return code;
}

/**
 * Refuses an address that must not get a secret. Names are not resolved: an internal host has no certificate for the name of another host.
 * @throws CredentialExchangeError
 */
function checkTokenUrl(url: string): void {
  try {
    checkPublicUrl(url);
    if (!isUnencrypted(url)) return;
  } catch (cause) {
    if (!AddressRefusedError.isInstance(cause)) throw cause;
    throw new CredentialExchangeError(
      `OAuth2CredentialExchanger: token endpoint: ${cause.message}; write the address of a public host, as in https://login.example/token`,
      { cause },
    );
  }
  throw new CredentialExchangeError(
    'OAuth2CredentialExchanger: token endpoint: http: would send the secret unencrypted; write an address that begins with https:',
  );
}

async function fetchTokens(url: string, body: URLSearchParams): Promise<OAuth2> {
  checkTokenUrl(url);
  // A redirect could lead to any address. Cloudflare Workers have no `redirect: 'error'`; a status that is not 2xx is refused below.
  const headers = { accept: 'application/json' };
  const response = await fetch(url, { method: 'POST', body, headers, redirect: 'manual' }).catch((cause: unknown) => {
    throw new CredentialExchangeError('OAuth2CredentialExchanger: the token endpoint could not be reached', { cause });
  });
  if (!response.ok)
    throw new CredentialExchangeError(
      `OAuth2CredentialExchanger: the token endpoint answered with status ${response.status}`,
    );
  const given = recordOf(await response.json());
  const accessToken = textOf(given['access_token']);
  if (!accessToken)
    throw new CredentialExchangeError('OAuth2CredentialExchanger: the token endpoint returned no access_token');
  const expiresIn = Number(given['expires_in']);
  return {
    accessToken,
    ...optional('refreshToken', textOf(given['refresh_token'])),
    ...(Number.isFinite(expiresIn) && { expiresIn, expiresAt: Math.floor(Date.now() / 1000) + expiresIn }),
  };
}

interface Grant {
  readonly type: OAuthGrantType;
  readonly authorizationUrl: string | undefined;
  readonly tokenUrl: string | undefined;
  readonly scopes: readonly string[];
}

const CLIENT_FLOW = ['clientCredentials', OAuthGrantType.CLIENT_CREDENTIALS] as const;
const CODE_FLOW = ['authorizationCode', OAuthGrantType.AUTHORIZATION_CODE] as const;

/**
 * Reads the way to a token from a scheme: one of OAuth 2 with `flows`, or of OpenID Connect with endpoints.
 * @param isOfUser true if a user consents: of two flows the one with a page is then taken
 */
function grantOf(scheme: AuthScheme, isOfUser: boolean): Grant | undefined {
  const flows = recordOf(scheme['flows']);
  for (const [name, type] of isOfUser ? [CODE_FLOW, CLIENT_FLOW] : [CLIENT_FLOW, CODE_FLOW]) {
    if (flows[name] === undefined) continue;
    const { authorizationUrl, tokenUrl, scopes } = recordOf(flows[name]);
    return {
      type,
      authorizationUrl: textOf(authorizationUrl),
      tokenUrl: textOf(tokenUrl),
      scopes: Object.keys(recordOf(scopes)),
    };
  }
  const tokenUrl = textOf(scheme['tokenEndpoint']);
  const authorizationUrl = textOf(scheme['authorizationEndpoint']);
  if (!tokenUrl && !authorizationUrl) return undefined;
  const { grantTypesSupported, scopes } = scheme;
  const isOfClient = Array.isArray(grantTypesSupported) && grantTypesSupported.includes('client_credentials');
  return {
    type: isOfClient ? OAuthGrantType.CLIENT_CREDENTIALS : OAuthGrantType.AUTHORIZATION_CODE,
    authorizationUrl,
    tokenUrl,
    scopes: Array.isArray(scopes) ? scopes.map(String) : [],
  };
}

/**
 * Makes the request for a credential that a client shows to the user, and keeps the answer.
 *
 * @example
 * const consentPage = (authConfig: AuthConfig): string | undefined =>
 *   new AuthHandler(authConfig).generateAuthRequest().exchangedAuthCredential?.oauth2?.authUri;
 */
export class AuthHandler {
  readonly #config: AuthConfig;

  /** @throws ConfigurationError for a config without a scheme or a key */
  constructor(authConfig: AuthConfig) {
    if (!isRecord(authConfig) || !isRecord(authConfig.authScheme) || typeof authConfig.credentialKey !== 'string')
      throw new ConfigurationError(
        `AuthHandler: expected an auth config with authScheme and credentialKey, got ${describeKind(authConfig)}; write new AuthHandler({ authScheme, rawAuthCredential, credentialKey: 'calendar' })`,
      );
    this.#config = authConfig;
  }

  /** Returns the credential that `parseAndStoreAuthResponse` kept in this invocation. */
  getAuthResponse(state: Pick<State, 'get'>): AuthCredential | undefined {
    return state.get<AuthCredential>(this.#key);
  }

  /**
   * Keeps `exchangedAuthCredential` in the state of this invocation, for OAuth 2 after an exchange for tokens.
   * @throws CredentialExchangeError
   */
  async parseAndStoreAuthResponse(state: Pick<State, 'set'>): Promise<void> {
    const { authScheme, exchangedAuthCredential: authCredential } = this.#config;
    if (!authCredential) return;
    const credential = isOAuth(authScheme)
      ? (await new OAuth2CredentialExchanger().exchange({ authScheme, authCredential })).credential
      : authCredential;
    state.set(this.#key, credential);
  }

  /** Returns the config with the page on which the user consents. @throws ConfigurationError without an OAuth client */
  generateAuthRequest(): AuthConfig {
    const { authScheme, rawAuthCredential: raw, exchangedAuthCredential: exchanged } = this.#config;
    if (!isOAuth(authScheme) || exchanged?.oauth2?.authUri) return this.#config;
    if (raw?.oauth2?.authUri) return { ...this.#config, exchangedAuthCredential: raw };
    if (!raw?.oauth2?.clientId || !raw.oauth2.clientSecret)
      throw new ConfigurationError(
        `AuthHandler: the scheme ${authScheme.type} needs a client; write rawAuthCredential: { authType: 'oauth2', oauth2: { clientId, clientSecret } }`,
      );
    return { ...this.#config, exchangedAuthCredential: this.generateAuthUri() };
  }

  /**
   * Returns the credential with a new `state` and the page on which the user consents.
   * @throws ConfigurationError for a scheme without one
   */
  generateAuthUri(): AuthCredential | undefined {
    const { authScheme, rawAuthCredential: raw } = this.#config;
    if (!raw?.oauth2) return raw;
    const grant = grantOf(authScheme, true);
    const [flow] = Object.keys(recordOf(authScheme['flows']));
    if (!grant && flow !== undefined)
      throw new ConfigurationError(
        `AuthHandler: authScheme: users cannot sign in with the flow ${JSON.stringify(flow)}; write flows: { authorizationCode: { authorizationUrl, tokenUrl, scopes } }`,
      );
    const endpoint = grant?.authorizationUrl ?? grant?.tokenUrl;
    if (!grant || !endpoint)
      throw new ConfigurationError(
        'AuthHandler: authScheme has no authorization endpoint; write authorizationUrl in its flow, or authorizationEndpoint',
      );
    const state = crypto.randomUUID();
    const url = new URL(endpoint);
    url.searchParams.set('client_id', raw.oauth2.clientId ?? '');
    url.searchParams.set('redirect_uri', raw.oauth2.redirectUri ?? '');
    url.searchParams.set('response_type', 'code');
    url.searchParams.set('scope', grant.scopes.join(' '));
    url.searchParams.set('state', state);
    url.searchParams.set('access_type', 'offline');
    url.searchParams.set('prompt', 'consent');
    return { ...raw, oauth2: { ...raw.oauth2, authUri: url.href, state } };
  }

  get #key(): string {
    return `temp:${this.#config.credentialKey}`;
  }
}

function isOAuth({ type }: AuthScheme): boolean {
  return type === 'oauth2' || type === 'openIdConnect';
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function optional<K extends string>(key: K, value: string | undefined): { readonly [P in K]?: string } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]?: string });
}
