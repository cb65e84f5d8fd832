import { type AuthCredential, type OAuth2Auth, type ToolContext } from '@eventloom/core';
import { encodeUrlBase64, isRecord } from '@eventloom/core/internal';
import { isUnencrypted } from '@eventloom/tools/internal';
import type { LocatedRecord } from './document.ts';
import { ApiCallError } from './errors.ts';
import type { RestClient } from './rest-client.ts';

/** The endpoints of an authorization server, and the flows that the document offers. */
export interface OAuth2Endpoints {
  readonly tokenUrl: string | undefined;
  readonly refreshUrl: string | undefined;
  /** The page on which users consent; undefined if the document offers no flow with one. */
  readonly authorizationUrl: string | undefined;
  /** True if the app can get a token with its own secret. */
  readonly hasClientCredentials: boolean;
}

/** A request for the consent of a user. */
interface Consent {
  readonly authUri: string;
  readonly state: string;
  readonly codeVerifier: string;
  readonly redirectUri: string;
}

const NO_ENDPOINTS: OAuth2Endpoints = {
  tokenUrl: undefined,
  refreshUrl: undefined,
  authorizationUrl: undefined,
  hasClientCredentials: false,
};
/** A token counts as expired this long before its expiry, in seconds. */
const EXPIRY_MARGIN = 30;

/**
 * Sends requests to an authorization server: RFC 6749, with PKCE (RFC 7636). A server on the internet must have an
 * address with `https:`, and a request with a secret follows no redirect. Errors name the endpoint's host and code, and
 * no secret.
 */
export class OAuth2Client {
  /** Creates an HTTP client that may reach the host of a URL. */
  readonly #clientFor: (url: string) => RestClient;
  /** OpenID Connect documents by their URLs. */
  readonly #discovered = new Map<string, Promise<OAuth2Endpoints>>();

  constructor(clientFor: (url: string) => RestClient) {
    this.#clientFor = clientFor;
  }

  /** Returns the endpoints of a scheme. @throws ApiCallError if the OpenID Connect document cannot be read */
  async endpointsOf({ value: scheme }: LocatedRecord, baseUrl: string, signal: AbortSignal): Promise<OAuth2Endpoints> {
    if (scheme['type'] === 'openIdConnect') return this.#discover(urlOf(scheme['openIdConnectUrl'], baseUrl), signal);
    const flows = isRecord(scheme['flows']) ? scheme['flows'] : {};
    const [code, client] = [flows['authorizationCode'], flows['clientCredentials']];
    const flow = isRecord(code) ? code : isRecord(client) ? client : undefined;
    if (!flow) return NO_ENDPOINTS;
    return {
      tokenUrl: urlOf(flow['tokenUrl'], baseUrl),
      refreshUrl: urlOf(flow['refreshUrl'], baseUrl),
      authorizationUrl: isRecord(code) ? urlOf(code['authorizationUrl'], baseUrl) : undefined,
      hasClientCredentials: isRecord(client),
    };
  }

  /**
   * Gets a token for the app itself.
   *
   * @throws ApiCallError
   */
  clientToken(
    { tokenUrl }: OAuth2Endpoints,
    app: OAuth2Auth,
    scopes: readonly string[],
    toolContext: ToolContext,
  ): Promise<OAuth2Auth> {
    const fields = { grant_type: 'client_credentials', scope: scopes.join(' '), audience: app.audience };
    return this.#fetchTokens(tokenUrl, fields, app, toolContext);
  }

  /**
   * Exchanges the code of an answer for a token.
   *
   * @throws ApiCallError for an answer to another request, for an answer without a code, and if the server refuses
   */
  async exchange(
    { tokenUrl }: OAuth2Endpoints,
    app: OAuth2Auth,
    answer: OAuth2Auth,
    consent: OAuth2Auth,
    toolContext: ToolContext,
  ): Promise<OAuth2Auth> {
    const { authResponseUri, authCode, state } = answer;
    const answered =
      authResponseUri && URL.canParse(authResponseUri) ? new URL(authResponseUri).searchParams : undefined;
    const givenState = answered ? answered.get('state') : state;
    if (answered ? givenState !== consent.state : givenState !== undefined && givenState !== consent.state)
      throw new ApiCallError('the authorization belongs to another request; call the tool again');
    const code = authCode ?? answered?.get('code');
    if (!code) throw new ApiCallError('the user did not grant the authorization');
    return this.#fetchTokens(
      tokenUrl,
      {
        grant_type: 'authorization_code',
        code,
        redirect_uri: consent.redirectUri ?? app.redirectUri,
        code_verifier: consent.codeVerifier,
      },
      app,
      toolContext,
    );
  }

  /**
   * Renews a token. The refresh token is kept if the server returns no new one.
   *
   * @throws ApiCallError
   */
  async refresh(
    { tokenUrl, refreshUrl }: OAuth2Endpoints,
    app: OAuth2Auth,
    expired: OAuth2Auth,
    toolContext: ToolContext,
  ): Promise<OAuth2Auth> {
    const fields = { grant_type: 'refresh_token', refresh_token: expired.refreshToken };
    const renewed = await this.#fetchTokens(refreshUrl ?? tokenUrl, fields, { ...expired, ...app }, toolContext);
    return { ...(expired.refreshToken !== undefined && { refreshToken: expired.refreshToken }), ...renewed };
  }

  async #fetchTokens(
    tokenUrl: string | undefined,
    fields: Readonly<Record<string, string | undefined>>,
    { clientId, clientSecret }: OAuth2Auth,
    toolContext: ToolContext,
  ): Promise<OAuth2Auth> {
    if (tokenUrl === undefined)
      throw new ApiCallError('the OAuth 2 flow of the document has no token endpoint; write tokenUrl in the flow');
    const form = new URLSearchParams();
    for (const [name, value] of Object.entries({ ...fields, client_id: clientId, client_secret: clientSecret }))
      if (value) form.set(name, value);
    const { status, given } = await this.#readJson(
      tokenUrl,
      toolContext.abortSignal,
      new TextEncoder().encode(form.toString()),
    );
    const accessToken = given['access_token'];
    const { host } = new URL(tokenUrl);
    if (typeof accessToken !== 'string' || accessToken === '') {
      const { error } = given;
      const reason = typeof error === 'string' && /^[\w.-]{1,60}$/.test(error) ? error : `HTTP status ${status}`;
      throw new ApiCallError(`${host} did not return a token: ${reason}`);
    }
    const [refreshToken, expiresIn] = [given['refresh_token'], Number(given['expires_in'])];
    const nowSeconds = Math.floor(toolContext.invocationContext.platform.now() / 1000);
    return {
      accessToken,
      ...(typeof refreshToken === 'string' && { refreshToken }),
      ...(expiresIn > 0 && { expiresIn, expiresAt: nowSeconds + expiresIn }),
    };
  }

  #discover(url: string | undefined, signal: AbortSignal): Promise<OAuth2Endpoints> {
    if (url === undefined) return Promise.resolve(NO_ENDPOINTS);
    const known = this.#discovered.get(url);
    if (known) return known;
    const reading = this.#readJson(url, signal).then(({ given }) => {
      const grants = given['grant_types_supported'];
      return {
        tokenUrl: urlOf(given['token_endpoint'], url),
        refreshUrl: undefined,
        authorizationUrl: urlOf(given['authorization_endpoint'], url),
        hasClientCredentials: Array.isArray(grants) && grants.includes('client_credentials'),
      };
    });
    this.#discovered.set(url, reading);
    // A failed request is repeated by the next call.
    reading.catch(() => this.#discovered.delete(url));
    return reading;
  }

  async #readJson(
    url: string,
    signal: AbortSignal,
    body?: Uint8Array<ArrayBuffer>,
  ): Promise<{ readonly status: number; readonly given: Readonly<Record<string, unknown>> }> {
    const { host } = new URL(url);
    if (isUnencrypted(url))
      throw new ApiCallError(`${host} would get the secret unencrypted; write an address that begins with https:`);
    const headers = {
      accept: 'application/json',
      ...(body && { 'content-type': 'application/x-www-form-urlencoded' }),
    };
    const request = { method: body ? 'POST' : 'GET', url, headers, body, followsRedirects: !body };
    const { status, bytes } = await this.#clientFor(url).send(request, signal);
    try {
      const given: unknown = JSON.parse(new TextDecoder().decode(bytes));
      if (isRecord(given)) return { status, given };
    } catch {
      // The caller gets the same error as for other JSON.
    }
    throw new ApiCallError(`${host} answered with HTTP status ${status} and no JSON object`);
  }
}

/** True for a credential whose token has expired or is about to. */
export function isExpired({ oauth2 }: AuthCredential, toolContext: ToolContext): boolean {
  const { expiresAt } = oauth2 ?? {};
  return expiresAt !== undefined && expiresAt - EXPIRY_MARGIN <= toolContext.invocationContext.platform.now() / 1000;
}

/** Creates a request for the consent of a user. */
export async function createConsent(
  authorizationUrl: string,
  { clientId = '', redirectUri = '', audience }: OAuth2Auth,
  scopes: readonly string[],
  toolContext: ToolContext,
): Promise<Consent> {
  const { platform } = toolContext.invocationContext;
  const state = platform.newUuid();
  const codeVerifier = `${platform.newUuid()}-${platform.newUuid()}`;
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(codeVerifier));
  const challenge = encodeUrlBase64(new Uint8Array(digest));
  const url = new URL(authorizationUrl);
  for (const [name, value] of Object.entries({
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: scopes.join(' '),
    audience: audience ?? '',
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  }))
    if (value !== '') url.searchParams.set(name, value);
  return { authUri: url.href, state, codeVerifier, redirectUri };
}

function urlOf(value: unknown, base: string): string | undefined {
  return typeof value === 'string' && URL.canParse(value, base) ? new URL(value, base).href : undefined;
}
