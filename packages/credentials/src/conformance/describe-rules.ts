import { type AuthConfig, type AuthCredential, ConfigurationError } from '@eventloom/core';
import type { CredentialRule } from './credential-rule.ts';

const SECRET = 'hunter2';

/** A credential whose secret fields all have the value hunter2. */
const CREDENTIAL: AuthCredential = {
  authType: 'oauth2',
  apiKey: SECRET,
  serviceAccount: { key: SECRET },
  http: { scheme: 'bearer', credentials: { token: SECRET, password: SECRET }, additionalHeaders: { 'x-key': SECRET } },
  oauth2: {
    clientId: 'me',
    clientSecret: SECRET,
    authUri: 'https://login.example',
    state: 'state',
    redirectUri: 'https://app.example',
    audience: 'all',
    accessToken: SECRET,
    refreshToken: SECRET,
    codeVerifier: SECRET,
    authCode: SECRET,
    authResponseUri: SECRET,
  },
};
const CONFIG: AuthConfig = {
  authScheme: { type: 'oauth2', flows: { authorizationCode: { scopes: { 'cal.read': 'Reads.' } } } },
  rawAuthCredential: CREDENTIAL,
  exchangedAuthCredential: CREDENTIAL,
  credentialKey: 'calendar',
};

/** Rules about the credential request that a client receives, and about the answers that are accepted. */
export const describeRules: readonly CredentialRule[] = [
  {
    id: 'describe.public',
    title: 'A credential request to the client has the scheme, the name and the fields to answer, and no secret.',
    async check({ service, expect }) {
      const described = service.describe({ ...CONFIG, mine: SECRET });
      expect.same('the scheme', described.authScheme, CONFIG.authScheme);
      expect.same('the name', described.credentialKey, 'calendar');
      const { clientId, authUri, state, redirectUri, audience } = described.rawAuthCredential?.oauth2 ?? {};
      const needed = ['me', 'https://login.example', 'state', 'https://app.example', 'all'];
      expect.same('what the client needs', [clientId, authUri, state, redirectUri, audience], needed);
      expect.same(
        'the page to consent on',
        described.exchangedAuthCredential?.oauth2?.authUri,
        'https://login.example',
      );
      expect.true('the request has no secret', !JSON.stringify(described).includes(SECRET));
    },
  },
  {
    id: 'describe.no-scheme',
    title: 'A credential request without a security scheme is a ConfigurationError without a secret.',
    async check({ service, expect }) {
      const describe = async (): Promise<unknown> => service.describe({ ...CONFIG, authScheme: SECRET });
      const error = await expect.rejects('describing it', describe(), ConfigurationError);
      expect.true('the message has no secret', !error.message.includes(SECRET));
    },
  },
  {
    id: 'describe.answer',
    title:
      'The client answers with the config or the credential, in camel case or snake case; any other answer is a refusal.',
    async check({ service, expect }) {
      const given = { authType: 'oauth2', oauth2: { accessToken: 't', expiresAt: 7 } };
      const snake = { auth_type: 'oauth2', oauth2: { access_token: 't', expires_at: 7 } };
      for (const [what, answer] of Object.entries({
        'the credential': given,
        'the credential in snake case': snake,
        'the config': { ...CONFIG, exchangedAuthCredential: given },
        'the config in snake case': { exchanged_auth_credential: snake },
      })) {
        const { authType, oauth2 } = expect.present(what, service.readAnswer(answer));
        expect.same(what, { authType, oauth2 }, given);
      }
      for (const [what, answer] of Object.entries({ nothing: {}, 'a message': { error: 'access_denied' } }))
        expect.same(what, service.readAnswer(answer) === undefined, true);
    },
  },
];
