import {
  type AuthConfig,
  type AuthCredential,
  AuthCredentialTypes,
  createEvent,
  getFunctionCalls,
  InMemoryRunner,
  node,
  type NodeContext,
  Workflow,
} from '@google/adk';
import { type Content, createUserContent } from '@google/genai';
import type { Program } from '../stage.ts';

/** Answers requests to the site: tokens that name their code, and the repositories of the token. */
async function fetchFromSite(_url: unknown, { method, body, headers }: RequestInit = {}): Promise<Response> {
  if (method !== 'POST')
    return Response.json([{ name: 'eventloom' }, { name: new Headers(headers).get('authorization') }]);
  const given = new URLSearchParams(body instanceof URLSearchParams ? body : `${body as string}`);
  const names = ['grant_type', 'code', 'client_id', 'client_secret', 'redirect_uri'];
  return Response.json({ access_token: names.map((name) => given.get(name)).join(' '), token_type: 'Bearer' });
}

function createFlow(): Workflow {
  const authConfig: AuthConfig = {
    authScheme: {
      type: 'oauth2',
      flows: {
        authorizationCode: {
          authorizationUrl: 'https://code.example/authorize',
          tokenUrl: 'https://code.example/token',
          scopes: { repo: 'Reads repositories.' },
        },
      },
    },
    rawAuthCredential: {
      authType: AuthCredentialTypes.OAUTH2,
      oauth2: { clientId: 'my-client', clientSecret: 'my-secret', redirectUri: 'https://app.example/done' },
    },
    credentialKey: 'code_token',
  };
  const listRepositories = node(
    async (context: NodeContext) => {
      const token = context.state.get<AuthCredential>('temp:code_token')?.oauth2?.accessToken;
      if (!token) return { error: 'there is no token' };
      const response = await fetch('https://code.example/repositories', {
        headers: { authorization: `Bearer ${token}` },
      });
      return { names: ((await response.json()) as { name: string }[]).map(({ name }) => name) };
    },
    { name: 'list_repositories', authConfig, rerunOnResume: true },
  );
  const show = node(
    (_context: NodeContext, { names, error }: { names?: string[]; error?: string }) =>
      createEvent({ content: { role: 'model', parts: [{ text: names?.join(', ') ?? `Failed: ${error}` }] } }),
    { name: 'show' },
  );
  return new Workflow({ name: 'repositories', edges: [['START', listRepositories, show]] });
}

const program: Program = {
  replies: [],
  async main(tell) {
    const { fetch } = globalThis;
    globalThis.fetch = fetchFromSite;
    const runner = new InMemoryRunner({ agent: createFlow(), appName: 'code' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'code', userId: 'ann' });
    const send = async (newMessage: Content) => {
      const events = [];
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) events.push(event);
      return events;
    };
    const [call] = (await send(createUserContent('My repositories?'))).flatMap(getFunctionCalls);
    const asked = call?.args?.['authConfig'] as AuthConfig | undefined;
    const oauth2 = asked?.exchangedAuthCredential?.oauth2;
    const page = new URL(oauth2?.authUri ?? 'https://code.example');
    tell({ name: call?.name, page: page.origin, scope: page.searchParams.get('scope') });
    if (!asked) return;
    const signedIn = { ...oauth2, authResponseUri: `https://app.example/done?code=c1&state=${oauth2?.state ?? ''}` };
    const credential = { ...asked.exchangedAuthCredential, oauth2: { ...signedIn, authCode: 'c1' } };
    const functionResponse = {
      id: call?.id ?? '',
      name: call?.name ?? '',
      response: { ...asked, exchangedAuthCredential: credential },
    };
    for (const event of await send({ role: 'user', parts: [{ functionResponse }] })) tell(event);
    globalThis.fetch = fetch;
  },
};
export default program;
