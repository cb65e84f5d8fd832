// Starts a server.
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { createServer } from '@eventloom/server';
import { serve } from '@eventloom/server/node';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { contextOf, toolsetOf } from './fixtures/call-tool.ts';

/** The tools made from the document of our own server, which call that server. */
async function toolsOfServer(...replies: readonly string[]) {
  const agent = new LlmAgent({ name: 'clerk', model: new ScriptedModel(replies) });
  const runner = new Runner({ appName: 'desk', agent, sessionService: new InMemorySessionService() });
  const server = await serve(createServer({ runners: [runner] }), { port: 0 });
  const specDict = (await (await fetch(`${server.url}/openapi.json`)).json()) as object;
  const toolset = toolsetOf(specDict, { baseUrl: server.url });
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const tool = await toolset.getTool(name);
    return (await tool?.runAsync({ args, toolContext: contextOf() })) as { status: number; body: unknown };
  };
  return { toolset, call, [Symbol.asyncDispose]: () => server.shutDown() };
}

test('the tools of our own server create a session, run its agent, and read its reply', async () => {
  await using server = await toolsOfServer('Hello, Ann.');
  const session = { appName: 'desk', userId: 'ann', sessionId: 's1' };
  expect(await server.call('create_session_with_id', { ...session, body: { state: { mood: 'good' } } })).toMatchObject({
    status: 200,
    body: { id: 's1', state: { mood: 'good' } },
  });
  const newMessage = { role: 'user', parts: [{ text: 'Hi' }] };
  expect(await server.call('run', { body: { ...session, newMessage } })).toMatchObject({
    status: 200,
    body: [{ author: 'clerk', content: { parts: [{ text: 'Hello, Ann.' }] } }],
  });
  expect(await server.call('get_session', session)).toMatchObject({
    body: { events: [{ author: 'user' }, { author: 'clerk' }] },
  });
  expect(await server.call('delete_session', session)).toMatchObject({
    status: expect.toSatisfy((status) => status < 300),
  });
  expect(await server.call('get_session', session)).toMatchObject({ status: 404, error: expect.any(String) });
});

test('each operation of our own server is a tool with a declaration that models accept', async () => {
  await using server = await toolsOfServer();
  const declarations = (await server.toolset.getTools()).map((tool) => tool._getDeclaration());
  expect(declarations.length).toBeGreaterThan(20);
  for (const { name, description, parametersJsonSchema } of declarations.flatMap((declaration) => declaration ?? [])) {
    expect(name).toMatch(/^[a-z][a-z0-9_]{0,59}$/);
    expect(description, name).not.toBe('');
    expect(parametersJsonSchema, name).toMatchObject({ type: 'object' });
    expect(JSON.stringify(parametersJsonSchema).length, name).toBeLessThan(30_000);
  }
});
