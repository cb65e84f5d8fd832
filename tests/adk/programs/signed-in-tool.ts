import {
  type AuthConfig,
  AuthCredentialTypes,
  FunctionTool,
  getFunctionCalls,
  InMemoryRunner,
  LlmAgent,
  REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
} from '@google/adk';
import { type Content, createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program, Tell } from '../stage.ts';

const tokenUrl = 'https://shop.example/token';
const authConfig: AuthConfig = {
  credentialKey: 'shop',
  authScheme: {
    type: 'oauth2',
    flows: {
      authorizationCode: {
        authorizationUrl: 'https://shop.example/authorize',
        tokenUrl,
        scopes: { 'orders:read': 'Read orders' },
      },
    },
  },
  rawAuthCredential: {
    authType: AuthCredentialTypes.OAUTH2,
    oauth2: { clientId: 'shop-client', clientSecret: 'shop-secret', redirectUri: 'https://app.example/signed-in' },
  },
};

/** A shop whose orders can be read by users who signed in. */
class Shop {
  /** The fields of each request for tokens. */
  readonly requests: object[] = [];
  /** The fields of the credentials that the tool read. */
  readonly read: object[] = [];

  readonly tool = new FunctionTool({
    name: 'list_orders',
    description: 'Lists the orders of the user.',
    execute: (_args, context) => {
      const { oauth2 } = context?.getAuthResponse(authConfig) ?? {};
      if (!oauth2) {
        context?.requestCredential(authConfig);
        return { status: 'waiting for the user to sign in' };
      }
      const { accessToken, refreshToken, expiresIn, expiresAt } = oauth2;
      this.read.push({ accessToken, refreshToken, expiresIn, expires: typeof expiresAt });
      return { orders: accessToken ? 2 : 0 };
    },
  });

  /** Answers requests for tokens while the work runs. */
  async open(work: () => Promise<void>): Promise<void> {
    const { fetch } = globalThis;
    globalThis.fetch = async (input, init) => {
      if (input !== tokenUrl) return fetch(input, init);
      const form = new URLSearchParams(await new Response(init?.body ?? null).text());
      this.requests.push(Object.fromEntries(form));
      return Response.json({ access_token: 'access', refresh_token: 'refresh', expires_in: 3600 });
    };
    try {
      await work();
    } finally {
      globalThis.fetch = fetch;
    }
  }
}

/** Asks for the orders, signs the user in with an answer that has this state, and tells what the tool and the shop saw. */
async function signIn(tell: Tell, stateOf: (sent: string | null) => string): Promise<void> {
  const shop = new Shop();
  const agent = new LlmAgent({ name: 'clerk', model: 'gemini-flash-latest', tools: [shop.tool] });
  const runner = new InMemoryRunner({ agent, appName: 'shop' });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'shop', userId: 'ann' });
  let id = '';
  let request: AuthConfig = authConfig;
  const send = async (newMessage: Content): Promise<void> => {
    for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage }))
      for (const call of getFunctionCalls(event))
        if (call.name === REQUEST_CREDENTIAL_FUNCTION_CALL_NAME) {
          id = call.id ?? '';
          request = structuredClone((call.args?.['authConfig'] ?? call.args?.['auth_config']) as AuthConfig);
        }
  };
  await shop.open(async () => {
    await send(createUserContent('How many orders do I have?'));
    const { authUri = '', state } = request.exchangedAuthCredential?.oauth2 ?? {};
    const page = new URL(authUri);
    const sent = page.searchParams.get('state');
    tell({ page: `${page.origin}${page.pathname}`, parameters: [...page.searchParams.keys()].toSorted() });
    tell({
      scope: page.searchParams.get('scope'),
      redirect: page.searchParams.get('redirect_uri'),
      same: state === sent,
    });
    const authResponseUri = `https://app.example/signed-in?code=granted&state=${stateOf(sent)}`;
    const oauth2 = { ...request.exchangedAuthCredential?.oauth2, authResponseUri };
    const response = { ...request, exchangedAuthCredential: { authType: AuthCredentialTypes.OAUTH2, oauth2 } };
    const name = REQUEST_CREDENTIAL_FUNCTION_CALL_NAME;
    const answer = { role: 'user', parts: [{ functionResponse: { id, name, response } }] };
    await send(answer).catch((error: unknown) => tell({ refused: error instanceof Error }));
  });
  tell({ requests: shop.requests, read: shop.read });
}

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'list_orders', args: {} }] })),
    jsonReply(wireResponse('You have two orders.')),
    jsonReply(wireResponse({ calls: [{ name: 'list_orders', args: {} }] })),
  ],
  async main(tell) {
    await signIn(tell, (sent) => sent ?? '');
    await signIn(tell, () => 'of another request');
  },
};
export default program;
