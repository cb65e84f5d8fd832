import { copyJson } from '../content/copy-json.ts';
import { isRecord, type JsonObject } from '../content/json.ts';
import { ConfigurationError } from '../errors.ts';
import { checkName } from '../session/check-name.ts';
import { readVendor } from '../event/parse-event.ts';

/** OAuth 2 and OpenID Connect. */
export interface OAuth2Auth {
  clientId?: string;
  /** Secret. */
  clientSecret?: string;
  /** The page on which the user consents. */
  authUri?: string;
  state?: string;
  redirectUri?: string;
  /** Secret: where the user was sent back to, with the code in it. */
  authResponseUri?: string;
  /** Secret. */
  authCode?: string;
  /** Secret. */
  accessToken?: string;
  /** Secret. */
  refreshToken?: string;
  /** Secret. */
  codeVerifier?: string;
  /** Seconds since the epoch. */
  expiresAt?: number;
  /** Seconds. */
  expiresIn?: number;
  audience?: string;
}

/** A credential of a tool: a key, a token, a password. Has the ADK's model; further keys are kept. */
export interface AuthCredential {
  /** `apiKey`, `http`, `oauth2`, `openIdConnect`, `serviceAccount`. */
  authType: string;
  resourceRef?: string;
  /** Secret. */
  apiKey?: string;
  http?: {
    /** `basic`, `bearer`, … */
    scheme?: string;
    /** Secret. */
    credentials?: { username?: string; password?: string; token?: string };
    /** Secret. */
    additionalHeaders?: Record<string, string>;
  };
  /** Secret. */
  serviceAccount?: Record<string, unknown>;
  oauth2?: OAuth2Auth;
}

/** The authentication that a tool needs. */
export interface AuthConfig {
  /** The OpenAPI security scheme, as JSON. It is public: the client is told it. */
  readonly authScheme: { readonly type: string; readonly [key: string]: unknown };
  /** The app's own credential, e.g. its OAuth client. The client gets only its public fields. */
  readonly rawAuthCredential?: AuthCredential | undefined;
  /** In a request: what of the exchange the client needs, e.g. `oauth2.authUri`. In an answer: the credential. */
  readonly exchangedAuthCredential?: AuthCredential | undefined;
  /** Under which the user's credential is kept: tools that name the same key share it. */
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
  throw new ConfigurationError('authConfig.authScheme: must be a security scheme with a type, as JSON');
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
