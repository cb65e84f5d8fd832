import { type AuthConfig, getFunctionCalls, type ToolContext } from '@eventloom/core';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';
import {
  answer,
  credentialRequests,
  AUTH,
  CALL,
  responses,
  SECRET,
  setUp,
  STORED,
  TOKEN,
} from './fixtures/credential-run.ts';

test('the client gets the auth config without its secrets', async () => {
  const { send, stored } = await setUp();
  const events = await send({ text: 'go' });
  const [call] = credentialRequests(events);
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

test('the next call for the user finds the credential without a request', async () => {
  const { send, got } = await setUp([{ calls: [CALL] }, 'Done.', { calls: [{ ...CALL, id: 'c2' }] }, 'Done.']);
  await send(answer(await send({ text: 'go' }), TOKEN));
  expect(credentialRequests(await send({ text: 'again' }))).toEqual([]);
  expect(got).toHaveLength(2);
});

test('getAuthResponse returns the answer to a request of the call immediately, and undefined in other calls', async () => {
  const got: unknown[] = [];
  const execute = (_args: unknown, context: ToolContext) => {
    const credential = context.getAuthResponse(AUTH);
    got.push(credential);
    return credential ? 'read' : context.requestCredential(AUTH);
  };
  const steps = [{ calls: [CALL] }, 'Done.', { calls: [{ ...CALL, id: 'c2' }] }];
  const { send } = await setUp(steps, {}, { execute });
  await send(answer(await send({ text: 'go' }), TOKEN));
  await send({ text: 'again' });
  expect(got).toEqual([undefined, TOKEN, undefined]);
});

test('a tool saves the exchanged credential', async () => {
  const { send, credentialService } = await setUp(
    undefined,
    {},
    {
      execute: async (_args, context: ToolContext) => {
        const credential = await context.loadCredential(AUTH);
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

test('a call that needs both requests one after the other and stays confirmed', async () => {
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

test('secrets that a tool writes to actions are removed too', async () => {
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
  expect(credentialRequests(events)).toHaveLength(1);
  expect(JSON.stringify(events) + (await stored())).not.toContain(SECRET);
});

test('without a credential service requestCredential throws', async () => {
  const { send } = await setUp(undefined, { credentialService: undefined });
  expect(responses(await send({ text: 'go' }))).toEqual([
    { error: expect.stringContaining('loadCredential: the runner has no credentialService; write ') },
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

test.each([
  ['no key', { ...AUTH, credentialKey: '' }, 'credentialKey: is empty'],
  ['no scheme', { credentialKey: 'k' }, 'authConfig.authScheme: expected'],
  ['a scheme that is not JSON', { ...AUTH, authScheme: { type: new Map() } }, 'authConfig.authScheme: expected'],
])('requestCredential throws in the tool for a config with %s', async (_, config, fault) => {
  const { send } = await setUp(
    undefined,
    {},
    {
      execute: (_args, context: ToolContext) => context.requestCredential(config as unknown as AuthConfig),
    },
  );
  expect(responses(await send({ text: 'go' }))).toEqual([{ error: expect.stringContaining(fault) }]);
});
