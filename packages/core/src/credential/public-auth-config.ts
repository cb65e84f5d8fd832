import { copyJson } from '../content/copy-json.ts';
import { isRecord, type JsonObject } from '../content/json.ts';
import { ConfigurationError } from '../errors.ts';
import { checkName } from '../session/check-name.ts';
import type { AuthConfig, AuthCredential } from './auth-config.ts';

/** The members of an `oauth2` that a client is told. What is not named here is taken for a secret. */
const PUBLIC_OAUTH2 = ['clientId', 'authUri', 'state', 'redirectUri', 'audience'];

/** What a client is told of an auth config; see `BaseCredentialService.describe`. */
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
