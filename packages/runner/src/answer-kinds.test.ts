import { InvalidMessageError, type ToolContext } from '@eventloom/core';
import { InMemoryCredentialService } from '@eventloom/credentials';
import { FunctionTool, LongRunningFunctionTool, type ToolOptions } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { call, responsesOf, scenario } from './fixtures/scenario.ts';

// Answers of another kind than their request.

const AUTH = { authScheme: { type: 'apiKey', in: 'header', name: 'key' }, credentialKey: 'k' };
const CREDENTIAL = { authType: 'apiKey', apiKey: 'secret-7' };
const CREDENTIALS = [
  ['a credential', CREDENTIAL],
  ['a credential in snake case', { auth_type: 'apiKey', api_key: 'secret-7' }],
  ['an auth config', { ...AUTH, exchangedAuthCredential: CREDENTIAL }],
  ['a credential as JSON text', { response: JSON.stringify(CREDENTIAL) }],
] as const;

/** A run of an agent whose tool waits for a person, and functions to answer it. */
async function asking(tool: FunctionTool) {
  const { run, stored } = await scenario({
    model: [{ calls: [call('t', {}, 'c1')] }, 'Done.'],
    agent: { tools: [tool] },
    credentialService: new InMemoryCredentialService(),
  });
  const asked = (await run()).flatMap(({ longRunningToolIds = [] }) => longRunningToolIds);
  const before = await stored();
  const send = (response: object) =>
    run([{ functionResponse: { id: asked[0] ?? '', response: { ...response } } }]).then(responsesOf);
  return { send, stored, before };
}

const toolOf = (execute: (context: ToolContext) => unknown, options: Partial<ToolOptions> = {}) =>
  new FunctionTool({ name: 't', description: '', ...options, execute: (_, context) => execute(context) });

const asksInput = (responseSchema?: object) =>
  toolOf(
    (context) =>
      context.getInput() ?? context.requestInput({ message: 'How many?', ...(responseSchema && { responseSchema }) }),
  );
const asksCredential = () =>
  toolOf(async (context) => (await context.loadCredential(AUTH)) ?? context.requestCredential(AUTH));
const asksConfirmation = () => toolOf(() => 'ran', { requireConfirmation: true });
const asksResult = () => new LongRunningFunctionTool({ name: 't', description: '', execute: () => undefined });

describe('an answer of another kind is refused with what to write, and nothing is stored', () => {
  test.each([
    ...CREDENTIALS.map(([title, given]) => ['input', asksInput, title, given, 'send a credential only to'] as const),
    ['input', asksInput, 'a confirmation', { confirmed: true }, 'write { result: … }'] as const,
    ['input', asksInput, 'a rejection', { confirmed: false, payload: {} }, 'write { result: … }'] as const,
    ['input with a schema', () => asksInput({ type: 'object' }), 'a credential', CREDENTIAL, 'only to'] as const,
    ...CREDENTIALS.map(([title, given]) => ['the result of a call', asksResult, title, given, 'only to'] as const),
    ['a confirmation', asksConfirmation, 'input', { result: true }, 'write { confirmed: true }'] as const,
    ['a confirmation', asksConfirmation, 'a credential', CREDENTIAL, 'write { confirmed: true }'] as const,
    ['a credential', asksCredential, 'a confirmation', { confirmed: true }, 'or {} to give none'] as const,
    ['a credential', asksCredential, 'input', { result: 'secret-7' }, 'or {} to give none'] as const,
    ['a credential', asksCredential, 'the result of a call', { a: 1 }, 'or {} to give none'] as const,
  ])('a request for %s, %#: %s %s', async (_kind, tool, _title, given, remedy) => {
    const { send, stored, before } = await asking(tool());
    const sent = send(given);
    await expect(sent).rejects.toThrow(InvalidMessageError);
    await expect(sent).rejects.toThrow(remedy);
    await expect(sent).rejects.not.toThrow('secret-7');
    expect(await stored()).toEqual(before);
  });
});

describe('an answer that only looks like one of another kind is accepted', () => {
  test.each([
    ['an object under result', asksInput, { result: { confirmed: true } }, { confirmed: true }],
    ['an object with further fields', asksInput, { confirmed: true, table: 4 }, { confirmed: true, table: 4 }],
    [
      'a confirmation that the schema asks for',
      () => asksInput({ type: 'object', properties: { confirmed: { type: 'boolean' } } }),
      { confirmed: true },
      { confirmed: true },
    ],
    [
      'a credential that the schema asks for',
      () => asksInput({ type: 'object', properties: { authType: { type: 'string' } } }),
      CREDENTIAL,
      CREDENTIAL,
    ],
    ['the kind of an authentication', asksInput, { authType: 'apiKey' }, { authType: 'apiKey' }],
  ])('%s', async (_title, tool, given, response) => {
    const { send } = await asking(tool());
    expect(await send(given)).toEqual([response]);
  });

  test('the result of a call may have any fields but those of a credential', async () => {
    const { send } = await asking(asksResult());
    await expect(send({ confirmed: true, authType: 'apiKey' })).resolves.toBeDefined();
  });
});
