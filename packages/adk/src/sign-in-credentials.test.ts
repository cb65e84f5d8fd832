import {
  type AuthConfig,
  type FunctionCall,
  type OAuth2Auth,
  type Part,
  type SaveCredentialRequest,
  systemPlatform,
} from '@eventloom/core';
import { InMemoryCredentialService } from '@eventloom/credentials';
import { ScriptedModel } from '@eventloom/testing';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  AuthHandler,
  type Event,
  FunctionTool,
  getFunctionCalls,
  InMemoryRunner,
  InMemorySessionService,
  LlmAgent,
  node,
  type NodeContext,
  Runner,
  Workflow,
} from './index.ts';
import { SignInCredentials } from './sign-in-credentials.ts';

const ANN = { appName: 'shop', userId: 'ann' };
const authConfig: AuthConfig = {
  credentialKey: 'orders',
  authScheme: {
    type: 'oauth2',
    flows: {
      authorizationCode: {
        authorizationUrl: 'https://shop.example/authorize',
        tokenUrl: 'https://shop.example/token',
        scopes: { read: 'Read orders' },
      },
    },
  },
  rawAuthCredential: { authType: 'oauth2', oauth2: { clientId: 'desk', clientSecret: 'hunter2' } },
};

/** The forms that were sent to the token endpoint. */
let forms: URLSearchParams[] = [];
/** The status with which the token endpoint answers. */
let status = 200;

beforeEach(() => {
  forms = [];
  status = 200;
  vi.stubGlobal('fetch', async (_url: string, init?: RequestInit) => {
    forms.push(init?.body as URLSearchParams);
    return Response.json({ access_token: `access ${forms.length}`, refresh_token: 'refresh' }, { status });
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
});

function signIn(stored = new InMemoryCredentialService()) {
  const pending: Promise<unknown>[] = [];
  const platform = { ...systemPlatform, background: (work: Promise<unknown>) => void pending.push(work) };
  const service = new SignInCredentials(stored, platform);
  const ask = async (user = ANN, config = authConfig) => {
    const asked = service.describe(config, user);
    await Promise.all(pending);
    return asked;
  };
  const answer = (oauth2: OAuth2Auth, user = ANN) =>
    service.saveCredential({ ...user, credentialKey: 'orders', credential: { authType: 'oauth2', oauth2 } });
  const load = (user = ANN) => service.loadCredential({ ...user, credentialKey: 'orders' });
  return { ask, answer, load, stored };
}

const stateOf = ({ exchangedAuthCredential }: AuthConfig): string => exchangedAuthCredential?.oauth2?.state ?? '';
const redirect = (state: string, code = 'granted') => ({
  authResponseUri: `https://app.example/?code=${code}&state=${state}`,
});

describe('SignInCredentials', () => {
  test('gives a request the page on which the user consents, without the secret of the OAuth client', async () => {
    const asked = await signIn().ask();
    const { authUri = '', state } = asked.exchangedAuthCredential?.oauth2 ?? {};
    expect(new URL(authUri).searchParams.get('state')).toBe(state);
    expect(JSON.stringify(asked)).not.toContain('hunter2');
  });

  test('exchanges the code of an answer once, and stores the tokens', async () => {
    const { ask, answer, load } = signIn();
    await answer(redirect(stateOf(await ask())));
    const [first, second] = await Promise.all([load(), load()]);
    expect(first?.oauth2).toMatchObject({ accessToken: 'access 1', refreshToken: 'refresh' });
    expect(second).toEqual(first);
    expect(await load()).toEqual(first);
    expect(forms.map((form) => [form.get('code'), form.get('client_secret')])).toEqual([['granted', 'hunter2']]);
  });

  test('exchanges an answer that comes after the process was restarted', async () => {
    const before = signIn();
    const state = stateOf(await before.ask());
    const after = signIn(before.stored);
    await after.answer(redirect(state));
    expect((await after.load())?.oauth2?.accessToken).toBe('access 1');
  });

  test('takes the answer to each of two requests that are open at the same time', async () => {
    const { ask, answer, load } = signIn();
    const states = [stateOf(await ask()), stateOf(await ask())];
    for (const [index, state] of states.entries()) {
      await answer(redirect(state));
      expect((await load())?.oauth2?.accessToken).toBe(`access ${index + 1}`);
    }
  });

  test.each([
    ['no state', () => ({ authResponseUri: 'https://app.example/?code=granted' })],
    ['the state of no request', () => redirect('forged')],
    ['its own state beside the state of the page', () => ({ ...redirect('forged'), state: 'forged' })],
    ['a code and the state of no request', () => ({ authCode: 'granted', state: 'forged' })],
  ])('refuses an answer with %s, and then the user can be asked again', async (_what, given) => {
    const { ask, answer, load } = signIn();
    await ask();
    await answer(given());
    await expect(load()).rejects.toThrow('the state of no open request');
    expect(await load()).toBeUndefined();
    await answer(redirect(stateOf(await ask())));
    expect((await load())?.oauth2?.accessToken).toBe('access 1');
  });

  test('refuses the state of a request to another user', async () => {
    const { ask, answer, load } = signIn();
    const bob = { ...ANN, userId: 'bob' };
    await ask();
    await answer(redirect(stateOf(await ask(bob))));
    await expect(load()).rejects.toThrow('the state of no open request');
  });

  test('refuses a state that was used', async () => {
    const { ask, answer, load } = signIn();
    const state = stateOf(await ask());
    await answer(redirect(state));
    await load();
    await answer(redirect(state, 'stolen'));
    await expect(load()).rejects.toThrow('the state of no open request');
    expect(forms).toHaveLength(1);
  });

  test('takes a code by itself', async () => {
    const { ask, answer, load } = signIn();
    await ask();
    await answer({ authCode: 'granted' });
    expect((await load())?.oauth2?.accessToken).toBe('access 1');
  });

  test('uses nothing of an answer but the code', async () => {
    const { ask, answer, load } = signIn();
    const state = stateOf(await ask());
    await answer({
      ...redirect(state),
      clientId: 'thief',
      clientSecret: 'guess',
      redirectUri: 'https://thief.example',
    });
    await load();
    expect(
      [...(forms[0] ?? [])].map(([name, value]) => `${name}=${value}`).toSorted((a, b) => (a < b ? -1 : 1)),
    ).toEqual(['client_id=desk', 'client_secret=hunter2', 'code=granted', 'grant_type=authorization_code']);
  });

  test('forgets an answer whose code the server refuses, and takes another one', async () => {
    const { ask, answer, load } = signIn();
    const state = stateOf(await ask());
    await answer(redirect(state));
    status = 400;
    await expect(load()).rejects.toThrow('answered with status 400');
    expect(await load()).toBeUndefined();
    status = 200;
    await answer(redirect(state));
    expect((await load())?.oauth2?.accessToken).toBe('access 2');
  });

  test('leaves a token of the user, and a request that has a page already, as they are', async () => {
    const { ask, answer, load } = signIn();
    const shown = { clientId: 'desk', authUri: 'https://shop.example/login', state: 'own' };
    const asked = await ask(ANN, { ...authConfig, exchangedAuthCredential: { authType: 'oauth2', oauth2: shown } });
    expect(asked.exchangedAuthCredential?.oauth2).toEqual(shown);
    await answer(redirect('own'));
    expect((await load())?.oauth2).toEqual(redirect('own'));
    await answer({ accessToken: 'given' });
    expect((await load())?.oauth2).toEqual({ accessToken: 'given' });
    expect(forms).toEqual([]);
  });
});

test('a node signs a user in, and the OAuth client is stored before the event with the request is committed', async () => {
  const order: unknown[] = [];
  class SlowCredentials extends InMemoryCredentialService {
    override async saveCredential(request: SaveCredentialRequest): Promise<void> {
      await new Promise((resolve) => setImmediate(resolve));
      await super.saveCredential(request);
      order.push(request.credentialKey);
    }
  }
  const list = node(
    (context: NodeContext) =>
      order.push(new AuthHandler(authConfig).getAuthResponse(context.state)?.oauth2?.accessToken),
    { name: 'list', authConfig, rerunOnResume: true },
  );
  const runner = new Runner({
    appName: 'shop',
    agent: new Workflow({ name: 'flow', edges: [['START', list]] }),
    sessionService: new InMemorySessionService(),
    credentialService: new SlowCredentials(),
  });
  const { id: sessionId } = await runner.sessionService.createSession(ANN);
  let asked: FunctionCall | undefined;
  const send = async (part: Part): Promise<void> => {
    const newMessage = { role: 'user', parts: [part] };
    for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) {
      asked = getFunctionCalls(event).find(({ name }) => name === 'adk_request_credential');
      if (asked) order.push('asked');
    }
  };
  await send({ text: 'My orders?' });
  expect(order).toEqual(['orders:sign-in', 'asked']);
  const given = redirect(stateOf(asked?.args?.['authConfig'] as AuthConfig));
  const response = { exchangedAuthCredential: { authType: 'oauth2', oauth2: given } };
  await send({ functionResponse: { id: 'orders', name: 'adk_request_credential', response } });
  expect(order.at(-1)).toBe('access 1');
  expect(forms.map((form) => form.get('code'))).toEqual(['granted']);
});

test.each([
  ['an InMemoryRunner', InMemoryRunner],
  ['a Runner without credentialService', Runner],
])('a tool of %s signs a user in, and no event or state contains a secret', async (_, RunnerClass) => {
  const tokens: (string | undefined)[] = [];
  const listOrders = new FunctionTool({
    name: 'list_orders',
    description: 'Lists the orders of the user.',
    execute: (_args, context) => {
      const given = context.getAuthResponse(authConfig);
      if (!given) return context.requestCredential(authConfig);
      tokens.push(given.oauth2?.accessToken);
      return { orders: 2 };
    },
  });
  const model = new ScriptedModel([{ calls: [{ id: 'c1', name: 'list_orders' }] }, 'Two.']);
  const runner = new RunnerClass({
    agent: new LlmAgent({ name: 'clerk', model, tools: [listOrders] }),
    appName: 'shop',
    sessionService: new InMemorySessionService(),
  });
  const { id: sessionId } = await runner.sessionService.createSession(ANN);
  const send = async (part: object): Promise<Event[]> => {
    const events: Event[] = [];
    for await (const event of runner.runAsync({
      userId: 'ann',
      sessionId,
      newMessage: { role: 'user', parts: [part] },
    }))
      events.push(event);
    return events;
  };
  const request = (await send({ text: 'My orders?' }))
    .flatMap(getFunctionCalls)
    .find(({ name }) => name === 'adk_request_credential');
  const asked = request?.args?.['authConfig'] as AuthConfig;
  const response = { exchangedAuthCredential: { authType: 'oauth2', oauth2: redirect(stateOf(asked)) } };
  await send({ functionResponse: { id: request?.id, name: request?.name, response } });
  expect(tokens).toEqual(['access 1']);
  const stored = JSON.stringify(await runner.sessionService.getSession({ ...ANN, sessionId }));
  expect(stored).toContain(stateOf(asked));
  expect(stored).not.toMatch(/hunter2|granted|access 1|refresh"/);
});
