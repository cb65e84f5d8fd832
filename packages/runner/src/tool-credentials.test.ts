import {
  type AuthConfig,
  BasePlugin,
  type Content,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  type Part,
  type ToolContext,
} from '@eventloom/core';
import { InMemoryCredentialService } from '@eventloom/credentials';
import { LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool, type ToolOptions } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';
import type { RunnerConfig } from './runner-config.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const SECRET = 'hunter2';
const STORED = { appName: 'app', userId: 'u', credentialKey: 'calendar' };

/** Everything in it that must stay on the server says hunter2. */
const AUTH = {
  authScheme: { type: 'oauth2', flows: { authorizationCode: { scopes: { 'cal.read': 'Reads.' } } } },
  rawAuthCredential: {
    authType: 'oauth2',
    apiKey: SECRET,
    serviceAccount: { key: SECRET },
    http: { scheme: 'bearer', credentials: { token: SECRET }, additionalHeaders: { 'x-key': SECRET } },
    oauth2: { clientId: 'me', clientSecret: SECRET, refreshToken: SECRET, codeVerifier: SECRET },
  },
  exchangedAuthCredential: { authType: 'oauth2', oauth2: { authUri: 'https://login.example', accessToken: SECRET } },
  credentialKey: 'calendar',
} satisfies AuthConfig;

async function setUp(
  steps: readonly ScriptedStep[] = [{ calls: [CALL] }, 'Done.'],
  config: Partial<RunnerConfig> = {},
  options: Partial<ToolOptions> = {},
) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const credentialService = new InMemoryCredentialService();
  const got: unknown[] = [];
  const calendar = new FunctionTool({
    name: 'calendar',
    description: 'Reads.',
    execute: async (_args, context: ToolContext) => {
      const credential = await context.getAuthResponse(AUTH);
      if (!credential) return context.requestCredential(AUTH);
      got.push(credential);
      return 'read';
    },
    ...options,
  });
  const agent = new LlmAgent({ name: 'bot', model: new ScriptedModel(steps), tools: [calendar] });
  const runner = new Runner({ appName: 'app', agent, sessionService, platform, credentialService, ...config });
  const send = (...parts: Part[]): Promise<Event[]> =>
    runner.run({ userId: 'u', sessionId: 's', newMessage: { parts } });
  const stored = async (): Promise<string> => JSON.stringify(await sessionService.getSession(KEY));
  return { platform, credentialService, runner, got, send, stored };
}

const CALL = { id: 'c1', name: 'calendar', args: {} };
const askedOf = (events: readonly Event[]) =>
  events.flatMap(getFunctionCalls).filter(({ name }) => name === 'adk_request_credential');
const responses = (events: readonly Event[]): unknown[] =>
  events.flatMap(getFunctionResponses).map(({ response }) => response);
function answer(events: readonly Event[], response: Record<string, unknown>): Part {
  return { functionResponse: { id: askedOf(events)[0]?.id ?? '', name: 'adk_request_credential', response } };
}
const TOKEN = { authType: 'oauth2', oauth2: { accessToken: SECRET } };

test('the client is asked with the config, and told nothing of what is secret in it', async () => {
  const { send, stored } = await setUp();
  const events = await send({ text: 'go' });
  const [call] = askedOf(events);
  const authConfig = {
    authScheme: AUTH.authScheme,
    rawAuthCredential: { authType: 'oauth2', http: { scheme: 'bearer' }, oauth2: { clientId: 'me' } },
    exchangedAuthCredential: { authType: 'oauth2', oauth2: { authUri: 'https://login.example' } },
    credentialKey: 'calendar',
  };
  expect(call?.args).toEqual({ functionCallId: 'c1', authConfig });
  expect(events[1]?.longRunningToolIds).toEqual([call?.id]);
  expect(events[2]?.actions.requestedAuthConfigs).toEqual({ c1: authConfig });
  expect(responses(events)).toEqual([{ error: 'This tool call requires a credential.' }]);
  expect(JSON.stringify(events) + (await stored())).not.toContain(SECRET);
});

test.each([
  ['the auth config with the credential in it', { ...AUTH, exchangedAuthCredential: TOKEN }],
  [
    'the same with keys in snake case',
    { exchanged_auth_credential: { auth_type: 'oauth2', oauth2: { access_token: SECRET } } },
  ],
  ['the credential alone', TOKEN],
  ['JSON text, as clients of the ADK send it', { response: JSON.stringify({ exchangedAuthCredential: TOKEN }) }],
])('an answer of %s goes to the service and into no event, and the tool is run again', async (_, response) => {
  const { send, stored, got, credentialService } = await setUp();
  const asked = await send({ text: 'go' });
  const events = await send(answer(asked, response));
  expect(got).toEqual([TOKEN]);
  expect(responses(events)).toEqual([{ result: 'read' }]);
  expect(await credentialService.loadCredential(STORED)).toEqual(TOKEN);
  expect(await stored()).toContain('"response":{"provided":true}');
  expect(JSON.stringify(events) + (await stored())).not.toContain(SECRET);
});

test('the credential is kept under the key that was asked for, whatever the answer says', async () => {
  const { send, credentialService } = await setUp();
  await send(answer(await send({ text: 'go' }), { ...AUTH, credentialKey: 'other', exchangedAuthCredential: TOKEN }));
  expect(await credentialService.loadCredential({ ...STORED, credentialKey: 'other' })).toBeUndefined();
  expect(await credentialService.loadCredential({ ...STORED, userId: 'v' })).toBeUndefined();
});

test.each([
  ['nothing', {}],
  ['an error', { error: SECRET }],
  ['a claim that it was provided', { provided: true }],
  ['a credential that is none', { exchangedAuthCredential: SECRET }],
])('an answer of %s is a refusal: the tool is not run, and the model is told', async (_, response) => {
  const { send, stored, got } = await setUp();
  const events = await send(answer(await send({ text: 'go' }), response));
  expect(got).toEqual([]);
  expect(responses(events)).toEqual([{ error: 'This tool call was not run: no credential was given.' }]);
  expect(await stored()).not.toContain(SECRET);
});

test('a late credential is not kept', async () => {
  const { send, stored, platform, credentialService } = await setUp(undefined, { requestTtlMs: 1000 });
  const asked = await send({ text: 'go' });
  platform.advance(1001);
  const events = await send(answer(asked, TOKEN));
  expect(responses(events)).toEqual([{ error: 'This tool call was not run: it was answered too late.' }]);
  expect(await credentialService.loadCredential(STORED)).toBeUndefined();
  expect(await stored()).not.toContain(SECRET);
});

test('plugins see the message without the credential, and it is kept when they change something else', async () => {
  const seen: string[] = [];
  class Watching extends BasePlugin {
    override onUserMessageCallback({ userMessage }: { userMessage: Content }): Content {
      seen.push(JSON.stringify(userMessage));
      return { ...userMessage };
    }
  }
  const { send, got } = await setUp(undefined, { plugins: [new Watching('watching')] });
  await send(answer(await send({ text: 'go' }), TOKEN));
  expect(seen).toHaveLength(2);
  expect(seen.join()).not.toContain(SECRET);
  expect(got).toEqual([TOKEN]);
});

test('a plugin can take a credential back', async () => {
  class Refusing extends BasePlugin {
    override onUserMessageCallback({ userMessage }: { userMessage: Content }): Content | undefined {
      const functionResponse = userMessage.parts?.[0]?.functionResponse;
      return functionResponse && { parts: [{ functionResponse: { ...functionResponse, response: {} } }] };
    }
  }
  const { send, got, credentialService } = await setUp(undefined, { plugins: [new Refusing('refusing')] });
  await send(answer(await send({ text: 'go' }), TOKEN));
  expect(got).toEqual([]);
  expect(await credentialService.loadCredential(STORED)).toBeUndefined();
});

test('the next call of the user finds the credential, and nobody is asked', async () => {
  const { send, got } = await setUp([{ calls: [CALL] }, 'Done.', { calls: [{ ...CALL, id: 'c2' }] }, 'Done.']);
  await send(answer(await send({ text: 'go' }), TOKEN));
  expect(askedOf(await send({ text: 'again' }))).toEqual([]);
  expect(got).toHaveLength(2);
});

test('a tool keeps what it exchanged the code for', async () => {
  const { send, credentialService } = await setUp(
    undefined,
    {},
    {
      execute: async (_args, context: ToolContext) => {
        const credential = await context.getAuthResponse(AUTH);
        if (!credential) return context.requestCredential(AUTH);
        await context.saveCredential(AUTH, {
          authType: 'oauth2',
          oauth2: { accessToken: `token for ${credential.oauth2?.authCode}` },
        });
        return 'exchanged';
      },
    },
  );
  await send(answer(await send({ text: 'go' }), { authType: 'oauth2', oauth2: { authCode: 'code' } }));
  expect((await credentialService.loadCredential(STORED))?.oauth2?.accessToken).toBe('token for code');
});

test('a call that needs both is asked about one after the other, and stays confirmed', async () => {
  const { send, got } = await setUp(undefined, {}, { requireConfirmation: true });
  const first = await send({ text: 'go' });
  const [question] = first.flatMap(getFunctionCalls).filter(({ name }) => name === 'adk_request_confirmation');
  const second = await send({
    functionResponse: { id: question?.id ?? '', name: 'adk_request_confirmation', response: { confirmed: true } },
  });
  expect(got).toEqual([]);
  const third = await send(answer(second, TOKEN));
  expect(got).toEqual([TOKEN]);
  expect(third.at(-1)?.content?.parts).toEqual([{ text: 'Done.' }]);
});

test('a call that asks for both at once waits for both answers, in any order', async () => {
  const { send, got } = await setUp(
    undefined,
    {},
    {
      execute: async (_args, context: ToolContext) => {
        if (context.toolConfirmation) return void got.push(await context.getAuthResponse(AUTH));
        context.requestConfirmation();
        return context.requestCredential(AUTH);
      },
    },
  );
  const first = await send({ text: 'go' });
  expect(first.flatMap(getFunctionCalls).map(({ name }) => name)).toEqual([
    'calendar',
    'adk_request_credential',
    'adk_request_confirmation',
  ]);
  const [question] = first.flatMap(getFunctionCalls).filter(({ name }) => name === 'adk_request_confirmation');
  const confirm = {
    functionResponse: { id: question?.id ?? '', name: 'adk_request_confirmation', response: { confirmed: true } },
  };
  expect(await send(confirm)).toEqual([]);
  await send(answer(first, TOKEN));
  expect(got).toEqual([TOKEN]);
});

test('one refusal is enough: what else was asked about the call is over', async () => {
  const { send, got } = await setUp(
    undefined,
    {},
    {
      execute: (_args, context: ToolContext) => {
        context.requestConfirmation();
        return context.requestCredential(AUTH);
      },
    },
  );
  const first = await send({ text: 'go' });
  const events = await send(answer(first, {}));
  expect(events.at(-1)?.content?.parts).toEqual([{ text: 'Done.' }]);
  const [question] = first.flatMap(getFunctionCalls).filter(({ name }) => name === 'adk_request_confirmation');
  const confirm = {
    functionResponse: { id: question?.id ?? '', name: 'adk_request_confirmation', response: { confirmed: true } },
  };
  await expect(send(confirm)).rejects.toThrow('was answered already');
  expect(got).toEqual([]);
});

test('what a tool writes to actions by hand is stripped too', async () => {
  const { send, stored } = await setUp(
    undefined,
    {},
    {
      execute: (_args, { actions, functionCallId }: ToolContext) => {
        actions.requestedAuthConfigs = { [functionCallId]: AUTH };
      },
    },
  );
  const events = await send({ text: 'go' });
  expect(askedOf(events)).toHaveLength(1);
  expect(JSON.stringify(events) + (await stored())).not.toContain(SECRET);
});

test('without a credential service a tool cannot ask', async () => {
  const { send } = await setUp(undefined, { credentialService: undefined });
  expect(responses(await send({ text: 'go' }))).toEqual([
    { error: 'getAuthResponse: the runner has no credentialService' },
  ]);
});

test('without a credential service an answer fails the run before anything is written', async () => {
  const { runner, send, stored } = await setUp([{ calls: [CALL] }]);
  const { agent, sessionService, platform } = runner;
  const other = new Runner({ appName: 'app', agent, sessionService, platform });
  const newMessage = { parts: [answer(await send({ text: 'go' }), TOKEN)] };
  const before = await stored();
  const error: unknown = await other
    .run({ userId: 'u', sessionId: 's', newMessage })
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'CONFIGURATION' });
  expect(String(error)).not.toContain(SECRET);
  expect(await stored()).toBe(before);
});

test('a message that is not stored keeps no credential', async () => {
  class Failing extends BasePlugin {
    fails = false;
    override onUserMessageCallback(): undefined {
      if (this.fails) throw new RangeError('no');
    }
  }
  const failing = new Failing('failing');
  const { send, credentialService } = await setUp(undefined, { plugins: [failing] });
  const asked = await send({ text: 'go' });
  failing.fails = true;
  await expect(send(answer(asked, TOKEN))).rejects.toThrow('no');
  expect(await credentialService.loadCredential(STORED)).toBeUndefined();
});

test.each([
  ['no key', { ...AUTH, credentialKey: '' }, 'credentialKey: is empty'],
  ['no scheme', { credentialKey: 'k' }, 'authConfig.authScheme: must be'],
  ['a scheme that is not JSON', { ...AUTH, authScheme: { type: new Map() } }, 'authConfig.authScheme: must be'],
])('a config with %s is told to the tool', async (_, config, fault) => {
  const { send } = await setUp(
    undefined,
    {},
    {
      execute: (_args, context: ToolContext) => context.requestCredential(config as unknown as AuthConfig),
    },
  );
  expect(responses(await send({ text: 'go' }))).toEqual([{ error: expect.stringContaining(fault) }]);
});
