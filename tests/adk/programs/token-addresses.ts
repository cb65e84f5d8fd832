import { AuthCredentialTypes, OAuth2CredentialExchanger } from '@google/adk';
import type { Program } from '../stage.ts';

const ADDRESSES = [
  'https://token.example/token',
  'http://token.example/token',
  'http://169.254.169.254/token',
  'http://10.0.0.1/token',
  'https://localhost/token',
  'https://[::1]/token',
  'file:///etc/passwd',
];

/** Returns how many requests with the client's secret an exchange at the address sends. */
async function countRequests(tokenUrl: string): Promise<number> {
  const { fetch } = globalThis;
  let count = 0;
  globalThis.fetch = async () => {
    count++;
    return Response.json({ access_token: 'given' });
  };
  try {
    await new OAuth2CredentialExchanger().exchange({
      authScheme: { type: 'oauth2', flows: { clientCredentials: { tokenUrl, scopes: {} } } },
      authCredential: {
        authType: AuthCredentialTypes.OAUTH2,
        oauth2: { clientId: 'shop-client', clientSecret: 'shop-secret' },
      },
    });
  } catch {
    // Counted as no request.
  } finally {
    globalThis.fetch = fetch;
  }
  return count;
}

const program: Program = {
  replies: [],
  async main(tell) {
    for (const address of ADDRESSES) tell({ address, requests: await countRequests(address) });
  },
};
export default program;
