import { BasePlugin, type Content, getFunctionCalls, type ToolContext } from '@eventloom/core';
import { expect, test } from 'vitest';
import { answer, AUTH, responses, SECRET, setUp, STORED, TOKEN } from './fixtures/credential-run.ts';

test.each([
  ['the auth config with the credential in it', { ...AUTH, exchangedAuthCredential: TOKEN }],
  [
    'the same with keys in snake case',
    { exchanged_auth_credential: { auth_type: 'oauth2', oauth2: { access_token: SECRET } } },
  ],
  ['the credential alone', TOKEN],
  ['JSON text, as clients of the ADK send it', { response: JSON.stringify({ exchangedAuthCredential: TOKEN }) }],
])('an answer of %s goes to the service but not into an event, and the tool runs again', async (_, response) => {
  const { send, stored, got, credentialService } = await setUp();
  const asked = await send({ text: 'go' });
  const events = await send(answer(asked, response));
  expect(got).toEqual([TOKEN]);
  expect(responses(events)).toEqual([{ result: 'read' }]);
  expect(await credentialService.loadCredential(STORED)).toEqual(TOKEN);
  expect(await stored()).toContain('"response":{"provided":true}');
  expect(JSON.stringify(events) + (await stored())).not.toContain(SECRET);
});

test('the credential is saved under the requested key, whatever key the answer names', async () => {
  const { send, credentialService } = await setUp();
  await send(answer(await send({ text: 'go' }), { ...AUTH, credentialKey: 'other', exchangedAuthCredential: TOKEN }));
  expect(await credentialService.loadCredential({ ...STORED, credentialKey: 'other' })).toBeUndefined();
  expect(await credentialService.loadCredential({ ...STORED, userId: 'v' })).toBeUndefined();
});

test.each([
  ['nothing', {}],
  ['an error', { error: SECRET }],
  ['a claim that it was provided', { provided: true }],
  ['an invalid credential', { exchangedAuthCredential: SECRET }],
])('the answer %s is a refusal: the tool does not run, and the model gets an error', async (_, response) => {
  const { send, stored, got } = await setUp();
  const events = await send(answer(await send({ text: 'go' }), response));
  expect(got).toEqual([]);
  expect(responses(events)).toEqual([{ error: 'This tool call was not run: no credential was given.' }]);
  expect(await stored()).not.toContain(SECRET);
});

test('an expired credential is not saved', async () => {
  const { send, stored, platform, credentialService } = await setUp(undefined, { requestTtlMs: 1000 });
  const asked = await send({ text: 'go' });
  platform.advance(1001);
  const events = await send(answer(asked, TOKEN));
  expect(responses(events)).toEqual([{ error: 'This tool call was not run: it was answered too late.' }]);
  expect(await credentialService.loadCredential(STORED)).toBeUndefined();
  expect(await stored()).not.toContain(SECRET);
});

test('plugins see the message without the credential, which is saved even if they change the message', async () => {
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

test('a plugin can remove a credential', async () => {
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

test('a call that requests two answers waits for both, in any order', async () => {
  const { send, got } = await setUp(
    undefined,
    {},
    {
      execute: async (_args, context: ToolContext) => {
        if (context.toolConfirmation) return void got.push(await context.loadCredential(AUTH));
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

test("one refusal ends the call's other requests", async () => {
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
  await expect(send(confirm)).rejects.toThrow('has already been answered');
  expect(got).toEqual([]);
});

test('no credential is saved if the message is not stored', async () => {
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
