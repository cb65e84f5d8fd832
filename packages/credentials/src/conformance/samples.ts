import type { AuthCredential, CredentialKey } from '@eventloom/core';

/** The key that most test cases use. */
export const KEY: CredentialKey = { appName: 'app', userId: 'user', credentialKey: 'calendar' };

/** A credential that contains the given name. */
export function token(accessToken: string): AuthCredential {
  return { authType: 'oauth2', oauth2: { accessToken } };
}

/** A credential of every kind, with unknown fields. */
export const CREDENTIALS: readonly AuthCredential[] = [
  { authType: 'apiKey', apiKey: 'a key with "quotes", \\ and \u0000' },
  { authType: 'http', http: { scheme: 'basic', credentials: { username: 'Zoë', password: '密码 🔑' } } },
  { authType: 'http', http: { scheme: 'bearer', credentials: { token: '' }, additionalHeaders: { 'X-Key': 'k' } } },
  {
    authType: 'oauth2',
    oauth2: { clientId: 'me', accessToken: 'a', refreshToken: 'r', expiresAt: 1_767_323_045.5, expiresIn: 0 },
  },
  { authType: 'serviceAccount', serviceAccount: { private_key: 'k'.repeat(100_000), scopes: [null, true, { a: 1 }] } },
  Object.assign({ authType: 'mine', resourceRef: 'ref' }, { mine: { deep: [1, -2.5, 1e21, {}] } }),
];
