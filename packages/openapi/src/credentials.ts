import { type AuthConfig, type AuthCredential, encodeBase64, type OAuth2Auth, type ToolContext } from '@eventloom/core';
import { isRecord, KeyedQueue, setOwn } from '@eventloom/core/internal';
import type { RequestDraft } from './build-request.ts';
import { ApiCallError } from './errors.ts';
import { createConsent, isExpired, type OAuth2Client, type OAuth2Endpoints } from './oauth2.ts';
import type { RequiredScheme, SecurityAlternative } from './operations.ts';

/** The credential options of a toolset. */
interface CredentialOptions {
  /** The app's own credential. */
  readonly authCredential: AuthCredential | undefined;
  /** Key of the user's credential. If undefined, the key is made from the API's host and the scheme's name. */
  readonly credentialKey: string | undefined;
}

/** A security scheme that a call needs. */
interface NeededScheme extends RequiredScheme {
  /** The key of the user's credential. */
  readonly credentialKey: string;
  readonly baseUrl: string;
}

/** A scheme and the credential that satisfies it. */
export interface HeldCredential {
  readonly needed: NeededScheme;
  readonly credential: AuthCredential;
  /** True for the user's own credential, which the user can replace. */
  readonly isOfUser: boolean;
}

/** The credentials of a call, or the config of a missing one that the user has to give first. */
type FoundCredentials = { readonly held: readonly HeldCredential[] } | { readonly missing: AuthConfig };

/** Finds the credentials of calls: the app's own ones, those of users, and OAuth 2 tokens obtained with them. */
export class ApiCredentials {
  readonly #options: CredentialOptions;
  readonly #oauth2: OAuth2Client;
  /** Tokens of the app by scheme and scopes. */
  readonly #appTokens = new Map<string, AuthCredential>();
  /** The pending work on each key: a code can be exchanged only once, and often the same is true for a refresh token. */
  readonly #work = new KeyedQueue();

  constructor(options: CredentialOptions, oauth2: OAuth2Client) {
    this.#options = options;
    this.#oauth2 = oauth2;
  }

  /**
   * Finds the credentials for the first alternative that the credentials of the app and the user satisfy. If there is no such alternative,
   * the result is empty if the document allows calls without a credential, and otherwise has the first missing one.
   *
   * @throws ApiCallError if a token cannot be fetched
   */
  async find(
    alternatives: readonly SecurityAlternative[],
    baseUrl: string,
    toolContext: ToolContext,
  ): Promise<FoundCredentials> {
    let missing: NeededScheme | undefined;
    for (const alternative of alternatives) {
      const held: HeldCredential[] = [];
      for (const scheme of alternative) {
        const needed = { ...scheme, baseUrl, credentialKey: this.#keyOf(scheme, alternative, baseUrl) };
        const credential = await this.#findOne(needed, toolContext);
        if (credential) held.push(credential);
        else missing ??= needed;
      }
      if (alternative.length > 0 && held.length === alternative.length) return { held };
    }
    const isOptional = alternatives.length === 0 || alternatives.some(({ length }) => length === 0);
    return isOptional || !missing ? { held: [] } : { missing: await this.requestFor(missing, toolContext) };
  }

  /** Renews a user's token that the API refused. Returns undefined if that is not possible. */
  async renew(
    { needed, credential, isOfUser }: HeldCredential,
    toolContext: ToolContext,
  ): Promise<HeldCredential | undefined> {
    if (!isOfUser || !credential.oauth2?.refreshToken) return undefined;
    return this.#work.run(nameOf(needed, toolContext), async () => {
      const stored = await toolContext.loadCredential(needed);
      // Another call may have renewed the token.
      const isNew = stored && satisfies(needed, stored) && tokenOf(stored) !== tokenOf(credential);
      const renewed = isNew ? stored : await this.#refresh(needed, stored ?? credential, toolContext);
      return renewed && { needed, credential: renewed, isOfUser };
    });
  }

  /** Returns the request for the user's credential of a scheme, with the page on which the user consents if there is one. */
  async requestFor(needed: NeededScheme, toolContext: ToolContext): Promise<AuthConfig> {
    const { authCredential } = this.#options;
    const { value } = needed.scheme;
    const config: AuthConfig = {
      authScheme: { ...value, type: String(value['type']) },
      ...(authCredential && { rawAuthCredential: authCredential }),
      credentialKey: needed.credentialKey,
    };
    const app = authCredential?.oauth2;
    if (!isOAuth2(needed) || !app?.clientId) return config;
    const { authorizationUrl } = await this.#endpointsOf(needed, toolContext);
    if (authorizationUrl === undefined) return config;
    return this.#work.run(nameOf(needed, toolContext), async () => {
      const pending = await toolContext.loadCredential(consentOf(needed));
      // Calls of one turn request the same consent, so that the answer to one is valid for all.
      const isOpen = pending?.oauth2?.authUri !== undefined && !isExpired(pending, toolContext);
      const nowSeconds = Math.floor(toolContext.invocationContext.platform.now() / 1000);
      const consent: OAuth2Auth = isOpen
        ? { ...pending.oauth2 }
        : {
            ...(await createConsent(authorizationUrl, app, needed.scopes, toolContext)),
            expiresAt: nowSeconds + CONSENT_SECONDS,
          };
      if (!isOpen) await toolContext.saveCredential(consentOf(needed), { authType: 'oauth2', oauth2: consent });
      const { authUri = '', state = '', redirectUri = '' } = consent;
      return {
        ...config,
        exchangedAuthCredential: {
          authType: 'oauth2',
          oauth2: { clientId: app.clientId ?? '', authUri, state, redirectUri },
        },
      };
    });
  }

  #keyOf({ name }: RequiredScheme, { length }: SecurityAlternative, baseUrl: string): string {
    const { credentialKey } = this.#options;
    if (credentialKey === undefined) return `openapi:${new URL(baseUrl).host}:${name}`;
    return length > 1 ? `${credentialKey}:${name}` : credentialKey;
  }

  async #findOne(needed: NeededScheme, toolContext: ToolContext): Promise<HeldCredential | undefined> {
    const { authCredential } = this.#options;
    if (authCredential && satisfies(needed, authCredential))
      return { needed, credential: authCredential, isOfUser: false };
    const own = await this.#ofUser(needed, toolContext);
    if (own) return { needed, credential: own, isOfUser: true };
    const token = await this.#appToken(needed, toolContext);
    return token && { needed, credential: token, isOfUser: false };
  }

  async #ofUser(needed: NeededScheme, toolContext: ToolContext): Promise<AuthCredential | undefined> {
    // Without a credential service a runner has no credentials of users; a missing one is reported when it is
    // requested.
    if (!toolContext.invocationContext.invocation.credentialService) return undefined;
    const stored = await toolContext.loadCredential(needed);
    if (!stored) return undefined;
    const isUsable = (credential: AuthCredential): boolean =>
      satisfies(needed, credential) && !isExpired(credential, toolContext);
    if (isUsable(stored)) return stored;
    if (!isOAuth2(needed)) return undefined;
    return this.#work.run(nameOf(needed, toolContext), async () => {
      const latest = (await toolContext.loadCredential(needed)) ?? stored;
      if (isUsable(latest)) return latest;
      const { oauth2 = {} } = latest;
      if (oauth2.authCode || oauth2.authResponseUri) return this.#exchange(needed, oauth2, toolContext);
      return oauth2.refreshToken ? this.#refresh(needed, latest, toolContext) : undefined;
    });
  }

  async #exchange(needed: NeededScheme, answer: OAuth2Auth, toolContext: ToolContext): Promise<AuthCredential> {
    const endpoints = await this.#endpointsOf(needed, toolContext);
    const pending = await toolContext.loadCredential(consentOf(needed));
    const used: AuthCredential = { authType: 'oauth2' };
    try {
      const app = { ...answer, ...this.#options.authCredential?.oauth2 };
      const tokens = await this.#oauth2.exchange(endpoints, app, answer, pending?.oauth2 ?? {}, toolContext);
      const credential = { authType: 'oauth2', oauth2: tokens };
      await toolContext.saveCredential(needed, credential);
      return credential;
    } catch (error) {
      // The next call requests the consent again.
      if (ApiCallError.isInstance(error)) await toolContext.saveCredential(needed, used);
      throw error;
    } finally {
      await toolContext.saveCredential(consentOf(needed), used);
    }
  }

  /** Renews and saves a token. Returns undefined if the server refuses, so that the user is asked. */
  async #refresh(
    needed: NeededScheme,
    { oauth2 = {} }: AuthCredential,
    toolContext: ToolContext,
  ): Promise<AuthCredential | undefined> {
    const endpoints = await this.#endpointsOf(needed, toolContext);
    const app = this.#options.authCredential?.oauth2 ?? {};
    try {
      const tokens = await this.#oauth2.refresh(endpoints, app, oauth2, toolContext);
      const credential = { authType: 'oauth2', oauth2: tokens };
      await toolContext.saveCredential(needed, credential);
      return credential;
    } catch (error) {
      if (ApiCallError.isInstance(error)) return undefined;
      throw error;
    }
  }

  /** Returns a token for the app's own secret; undefined if the app has no secret, or the scheme needs the consent of users. */
  async #appToken(needed: NeededScheme, toolContext: ToolContext): Promise<AuthCredential | undefined> {
    const app = this.#options.authCredential?.oauth2;
    if (!isOAuth2(needed) || !app?.clientId || !app.clientSecret) return undefined;
    const endpoints = await this.#endpointsOf(needed, toolContext);
    if (!endpoints.hasClientCredentials || (endpoints.authorizationUrl !== undefined && app.redirectUri))
      return undefined;
    const key = JSON.stringify([needed.name, needed.scopes]);
    const known = this.#appTokens.get(key);
    if (known && !isExpired(known, toolContext)) return known;
    const oauth2 = await this.#oauth2.clientToken(endpoints, app, needed.scopes, toolContext);
    const credential = { authType: 'oauth2', oauth2 };
    this.#appTokens.set(key, credential);
    return credential;
  }

  #endpointsOf({ scheme, baseUrl }: NeededScheme, toolContext: ToolContext): Promise<OAuth2Endpoints> {
    return this.#oauth2.endpointsOf(scheme, baseUrl, toolContext.abortSignal);
  }
}

function nameOf({ credentialKey }: NeededScheme, { appName, userId }: ToolContext): string {
  return JSON.stringify([appName, userId, credentialKey]);
}

/** Time that a user has to give the consent, in seconds. */
const CONSENT_SECONDS = 3_600;

/** Returns the key under which the secret of a consent request is kept until the answer. */
function consentOf({ credentialKey }: NeededScheme): { readonly credentialKey: string } {
  return { credentialKey: `${credentialKey}:consent` };
}

function isOAuth2({ scheme }: RequiredScheme): boolean {
  const { type } = scheme.value;
  return type === 'oauth2' || type === 'openIdConnect';
}

/** True for a credential with the values that the scheme sends. */
function satisfies({ scheme }: RequiredScheme, credential: AuthCredential): boolean {
  const { type, scheme: kind } = scheme.value;
  if (type === 'apiKey') return Boolean(credential.apiKey);
  if (type === 'http' && isBasic(kind)) return credential.http?.credentials?.username !== undefined;
  return type !== 'mutualTLS' && tokenOf(credential) !== undefined;
}

function isBasic(kind: unknown): boolean {
  return typeof kind === 'string' && kind.toLowerCase() === 'basic';
}

function tokenOf(credential: AuthCredential): string | undefined {
  return credential.http?.credentials?.token || credential.oauth2?.accessToken || undefined;
}

/** Adds credentials to a request. */
export function applyCredentials(draft: RequestDraft, held: readonly HeldCredential[]): void {
  for (const { needed, credential } of held) {
    const { type, in: place, name, scheme: kind } = needed.scheme.value;
    for (const [header, value] of Object.entries(credential.http?.additionalHeaders ?? {}))
      setOwn(draft.headers, header.toLowerCase(), value);
    if (type === 'apiKey') applyKey(draft, place, String(name), credential.apiKey ?? '');
    else if (type === 'http' && isBasic(kind)) {
      const { username = '', password = '' } = credential.http?.credentials ?? {};
      draft.headers['authorization'] = `Basic ${encodeBase64(new TextEncoder().encode(`${username}:${password}`))}`;
    } else {
      const word = type === 'http' && typeof kind === 'string' && kind.toLowerCase() !== 'bearer' ? kind : 'Bearer';
      draft.headers['authorization'] = `${word} ${tokenOf(credential) ?? ''}`;
    }
  }
}

function applyKey(draft: RequestDraft, place: unknown, name: string, key: string): void {
  const pair = `${encodeURIComponent(name)}=${encodeURIComponent(key)}`;
  if (place === 'query') draft.query.push(pair);
  else if (place === 'cookie') draft.cookies.push(pair);
  else setOwn(draft.headers, name.toLowerCase(), key);
}

/** True if a scheme of the options has the fields of its type. */
export function isScheme(value: unknown): value is AuthConfig['authScheme'] {
  if (!isRecord(value)) return false;
  const { type, in: place, name, scheme } = value;
  if (type === 'apiKey') return ['header', 'query', 'cookie'].includes(String(place)) && typeof name === 'string';
  if (type === 'http') return typeof scheme === 'string';
  return type === 'oauth2' || type === 'openIdConnect';
}
