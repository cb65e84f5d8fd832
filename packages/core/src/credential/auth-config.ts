import { copyJson } from '../content/copy-json.ts';
import { isRecord, type JsonObject } from '../content/json.ts';
import { ConfigurationError } from '../errors.ts';
import { checkName } from '../session/check-name.ts';
import { readVendor } from '../event/parse-event.ts';

/** Fields of OAuth 2 and OpenID Connect credentials. Events and clients get only the public ones: see `AuthCredential`. */
export interface OAuth2Auth {
  clientId?: string;
  /** Secret of the OAuth client. */
  clientSecret?: string;
  /** The page on which the user consents. */
  authUri?: string;
  state?: string;
  redirectUri?: string;
  /** The URL that the user was redirected to, with the authorisation code: a secret. */
  authResponseUri?: string;
  /** Authorisation code to exchange for tokens: a secret. */
  authCode?: string;
  /** Access token of the user: a secret. */
  accessToken?: string;
  /** Token to get a new access token with: a secret. */
  refreshToken?: string;
  /** PKCE code verifier (RFC 7636): a secret. */
  codeVerifier?: string;
  /** Time at which the access token expires, in seconds since the epoch. */
  expiresAt?: number;
  /** Lifetime of the access token, in seconds. */
  expiresIn?: number;
  audience?: string;
}

/**
 * A credential of a tool: a key, a token or a password, in the structure of the ADK. Further fields are kept.
 *
 * Events and clients get only `authType`, `http.scheme` and, of `oauth2`, `clientId`, `authUri`, `state`, `redirectUri` and `audience`.
 */
export interface AuthCredential {
  /** `apiKey`, `http`, `oauth2`, `openIdConnect`, `serviceAccount`. */
  authType: string;
  /** Name under which a secret store of the application has the credential. */
  resourceRef?: string;
  /** API key: a secret. */
  apiKey?: string;
  /** Basic or bearer authentication over HTTP. */
  http?: {
    /** Name of the HTTP authentication scheme: `basic`, `bearer`, … */
    scheme?: string;
    /** User name and password, or a bearer token: secrets. */
    credentials?: { username?: string; password?: string; token?: string };
    /** Further request headers, which can hold secrets. */
    additionalHeaders?: Record<string, string>;
  };
  /** Key and settings of a service account: secrets. */
  serviceAccount?: Record<string, unknown>;
  /** Fields of OAuth 2 and OpenID Connect. */
  oauth2?: OAuth2Auth;
}

/** The authentication that a tool needs. */
export interface AuthConfig {
  /** OpenAPI security scheme, as JSON. It is sent to the client. */
  readonly authScheme: { readonly type: string; readonly [key: string]: unknown };
  /** The app's own credential, e.g. its OAuth client. The client gets only its public fields. */
  readonly rawAuthCredential?: AuthCredential | undefined;
  /** In a request: fields that the client needs for the exchange, e.g. `oauth2.authUri`. In an answer: the credential. */
  readonly exchangedAuthCredential?: AuthCredential | undefined;
  /** Key that the user's credential is stored under. Tools with the same key share the credential. */
  readonly credentialKey: string;
}

/** The members of `oauth2` that clients may see; all others are treated as secrets. */
const PUBLIC_OAUTH2 = ['clientId', 'authUri', 'state', 'redirectUri', 'audience'];

/** The public part of an auth config, for clients; see `BaseCredentialService.describe`. */
export function toPublicAuthConfig(authConfig: unknown): AuthConfig {
  const { authScheme, credentialKey, rawAuthCredential, exchangedAuthCredential } = isRecord(authConfig)
    ? authConfig
    : {};
  checkName('authConfig.credentialKey', credentialKey);
  return {
    authScheme: toScheme(authScheme),
    credentialKey: String(credentialKey),
    ...(rawAuthCredential === undefined ? {} : { rawAuthCredential: toPublicCredential(rawAuthCredential) }),
    ...(exchangedAuthCredential === undefined
      ? {}
      : { exchangedAuthCredential: toPublicCredential(exchangedAuthCredential) }),
  };
}

function toScheme(authScheme: unknown): AuthConfig['authScheme'] {
  const copied = copyJson(authScheme);
  if ('value' in copied && isRecord(copied.value)) {
    const { type } = copied.value;
    if (typeof type === 'string') return { ...copied.value, type };
  }
  throw new ConfigurationError(
    "authConfig.authScheme: expected a security scheme with a type, as JSON; write authScheme: { type: 'apiKey', in: 'header', name: 'x-api-key' }",
  );
}

function toPublicCredential(credential: unknown): AuthCredential {
  const { authType, oauth2, http } = isRecord(credential) ? credential : {};
  return {
    authType: String(authType),
    ...(isRecord(oauth2) ? { oauth2: textsOf(oauth2, PUBLIC_OAUTH2) } : {}),
    ...(isRecord(http) ? { http: textsOf(http, ['scheme']) } : {}),
  };
}

function textsOf(source: Readonly<Record<string, unknown>>, keys: readonly string[]): JsonObject {
  const texts: JsonObject = {};
  for (const key of keys) {
    const value = source[key];
    if (typeof value === 'string') texts[key] = value;
  }
  return texts;
}

/** The credential in a client's answer; see `BaseCredentialService.readAnswer`. */
export function readCredential(answer: Readonly<Record<string, unknown>>): AuthCredential | undefined {
  const given = readVendor(answer);
  const { exchangedAuthCredential } = given;
  const credential = isRecord(exchangedAuthCredential) ? exchangedAuthCredential : given;
  const { authType } = credential;
  return typeof authType === 'string' ? { ...credential, authType } : undefined;
}
