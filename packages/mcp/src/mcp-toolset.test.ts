import type { Instrumentation } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import type { McpServer } from '@modelcontextprotocol/server';
import { expect, test, vi } from 'vitest';
import * as z from 'zod';
import { StreamableHTTPConnectionParams } from './connection-params.ts';
import { calling, play, responsesOf, toolsetOf, URL_OF_TESTS } from './fixtures/play.ts';
import { type Served, serveModern, serveSessions } from './fixtures/served.ts';
import { isMCPTool } from './mcp-tool.ts';
import { MCPToolset } from './mcp-toolset.ts';

function echoing(server: McpServer): void {
  server.registerTool(
    'echo',
    { description: 'Says it again.', inputSchema: z.object({ text: z.string() }) },
    ({ text }) => ({ content: [{ type: 'text', text }] }),
  );
}

const echo = (id: string) => ({ id, name: 'echo', args: { text: id } });
const initializations = ({ requests }: Served): number =>
  requests.filter(({ method }) => method === 'initialize').length;
const ERAS = [
  ['of before 2026-07-28', serveSessions],
  ['of 2026-07-28', serveModern],
] as const;

test.each([
  ['https://mcp.example.com/mcp', 'mcp.example.com'],
  ['http://127.0.0.1:3000/mcp', 'mcp_127.0.0.1'],
])('a toolset of %s without a name has the name %s', (url, name) => {
  expect(new MCPToolset({ connectionParams: new StreamableHTTPConnectionParams({ url }) }).name).toBe(name);
});

test('connection parameters in place of the options are refused with what to write', () => {
  const params = new StreamableHTTPConnectionParams({ url: URL_OF_TESTS });
  expect(() => new MCPToolset(params as never)).toThrow(
    'MCPToolset: got connection parameters; write new MCPToolset({ connectionParams: params })',
  );
});

test.each(ERAS)('five calls of a turn go over one connection to a server %s', async (_, serve) => {
  const served = serve({ build: echoing });
  const { say, runner, model } = await play(toolsetOf(served), [calling(...'abcde'.split('').map(echo)), 'done']);
  const events = await say('go');
  expect(responsesOf(events)).toEqual('abcde'.split('').map((text) => ({ result: text })));
  expect(served.methods()).toEqual(['tools/list', ...Array.from({ length: 5 }, () => 'tools/call')]);
  const [first] = model.requests;
  expect(first?.request.config.tools).toMatchObject([
    {
      functionDeclarations: [{ name: 'echo', description: 'Says it again.', parametersJsonSchema: { type: 'object' } }],
    },
  ]);
  await runner.close();
});

test('turns share the connection, which closing the runner ends at the server', async () => {
  const served = serveSessions({ build: echoing });
  const { say, runner } = await play(toolsetOf(served), [calling(echo('a')), 'one', calling(echo('b')), 'two']);
  await say('first');
  await say('second');
  expect(initializations(served)).toBe(1);
  await runner.close();
  expect(served.requests.at(-1)?.http).toBe('DELETE');
});

test('closing the runner waits for at most timeoutMs for a server that does not answer the deletion', async () => {
  const never = new Promise<Response>(() => {});
  const { fetch } = serveSessions({
    build: echoing,
    before: (request) => (request.method === 'DELETE' ? never : undefined),
  });
  const connectionParams = new StreamableHTTPConnectionParams({ url: URL_OF_TESTS, fetch, timeoutMs: 1000 });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const { say, runner } = await play(new MCPToolset({ connectionParams }), [calling(echo('a')), 'done']);
    await say('go');
    let isClosed = false;
    const closing = runner.close().then(() => (isClosed = true));
    await expect.poll(() => vi.advanceTimersByTime(1000) && isClosed).toBe(true);
    await closing;
  } finally {
    vi.useRealTimers();
  }
});

test('a session that the server forgot is opened again, and the refused calls are sent again', async () => {
  const served = serveSessions({ build: echoing });
  const forget = () => {
    served.forget();
    return { calls: [echo('a'), echo('b')] };
  };
  const { say, runner } = await play(toolsetOf(served), [forget, 'done']);
  expect(responsesOf(await say('go'))).toEqual([{ result: 'a' }, { result: 'b' }]);
  expect(initializations(served)).toBe(2);
  await runner.close();
});

test('a call whose refusal arrives after the session was opened again is sent again too', async () => {
  const reopened = Promise.withResolvers<void>();
  let isForgotten = false;
  const served = serveSessions({
    build: echoing,
    before: (_, { method, params }) => {
      if (!isForgotten) return undefined;
      if (method === 'initialize') reopened.resolve();
      const isSecond = method === 'tools/call' && JSON.stringify(params).includes('"text":"b"');
      const refused = Response.json({ error: { code: -32001, message: 'Session not found' } }, { status: 404 });
      const isOld = initializations(served) === 1;
      return isSecond && isOld ? reopened.promise.then(() => refused) : undefined;
    },
  });
  const forget = () => {
    isForgotten = true;
    served.forget();
    return { calls: [echo('a'), echo('b')] };
  };
  const { say, runner } = await play(toolsetOf(served), [forget, 'done']);
  expect(responsesOf(await say('go'))).toEqual([{ result: 'a' }, { result: 'b' }]);
  await runner.close();
});

test('tools that the server adds in the middle of a turn are offered in the next step', async () => {
  const served = serveSessions({
    build: (server) => {
      server.registerTool('unlock', { inputSchema: z.object({}) }, () => {
        echoing(server);
        return { content: [] };
      });
    },
  });
  const { say, runner } = await play(toolsetOf(served), [
    calling({ id: 'u', name: 'unlock', args: {} }),
    calling(echo('a')),
    'done',
  ]);
  expect(responsesOf(await say('go'))).toEqual([{ result: null }, { result: 'a' }]);
  await runner.close();
});

test('an aborted run cancels its call at the server', async () => {
  const started = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<void>();
  const served = serveSessions({
    build: (server) =>
      void server.registerTool('wait', { inputSchema: z.object({}) }, (_, { mcpReq: { signal } }) => {
        started.resolve();
        return new Promise((resolve) =>
          signal.addEventListener('abort', () => {
            cancelled.resolve();
            resolve({ content: [] });
          }),
        );
      }),
  });
  const { say, runner } = await play(toolsetOf(served), [calling({ id: 'w', name: 'wait', args: {} })]);
  const controller = new AbortController();
  const running = say('go', controller.signal);
  await started.promise;
  controller.abort();
  await expect(running).rejects.toMatchObject({ code: 'RUN_ABORTED' });
  await cancelled.promise;
  expect(served.methods()).toContain('notifications/cancelled');
  await runner.close();
});

test('hints of the server make tools idempotent, and a filter can read them', async () => {
  const served = serveSessions({
    build: (server) => {
      for (const [name, annotations] of [
        ['reads', { readOnlyHint: true }],
        ['sets', { idempotentHint: true }],
        ['adds', {}],
      ] as const)
        server.registerTool(name, { inputSchema: z.object({}), annotations }, () => ({ content: [] }));
    },
  });
  const toolset = toolsetOf(served, { toolNamePrefix: 'my' });
  const tools = await toolset.getTools();
  expect(tools.map(({ name, isIdempotent }) => [name, isIdempotent])).toEqual([
    ['my_reads', true],
    ['my_sets', true],
    ['my_adds', false],
  ]);
  expect(tools.filter((tool) => isMCPTool(tool) && tool.annotations.readOnlyHint === true)).toHaveLength(1);
  await toolset.close();
});

test('resources and prompts are tools if the toolset enables them', async () => {
  const served = serveSessions({
    build: (server) => {
      server.registerResource('readme', 'file:///readme', { mimeType: 'text/plain' }, () => ({
        contents: [{ uri: 'file:///readme', text: 'Read me.' }],
      }));
      server.registerPrompt('greet', { argsSchema: z.object({ name: z.string() }) }, ({ name }) => ({
        messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}.` } }],
      }));
    },
  });
  const toolset = toolsetOf(served, { useMcpResources: true, useMcpPrompts: true });
  const { say, runner } = await play(toolset, [
    calling(
      { id: 'a', name: 'list_mcp_resources', args: {} },
      { id: 'b', name: 'load_mcp_resource', args: { uri: 'file:///readme' } },
      { id: 'c', name: 'list_mcp_prompts', args: {} },
      { id: 'd', name: 'get_mcp_prompt', args: { name: 'greet', arguments: { name: 'Ann' } } },
    ),
    'done',
  ]);
  expect(responsesOf(await say('go'))).toMatchObject([
    { resources: [{ uri: 'file:///readme' }] },
    { contents: [{ type: 'resource', uri: 'file:///readme', text: 'Read me.' }] },
    { prompts: [{ name: 'greet' }] },
    { messages: [{ role: 'user', content: 'Greet Ann.' }] },
  ]);
  await runner.close();
});

test('resources of a server that knows no templates are listed, and an argument that is missing is not sent', async () => {
  const served = serveSessions({
    build: (server) => {
      server.registerResource('readme', 'file:///readme', {}, ({ href }) => ({
        contents: [{ uri: href, text: 'Read me.' }],
      }));
      server.server.removeRequestHandler('resources/templates/list');
    },
  });
  const { say, runner } = await play(toolsetOf(served, { useMcpResources: true }), [
    calling({ id: 'a', name: 'list_mcp_resources', args: {} }, { id: 'b', name: 'load_mcp_resource', args: {} }),
    'done',
  ]);
  expect(responsesOf(await say('go'))).toEqual([
    { resources: [expect.objectContaining({ uri: 'file:///readme' })] },
    { error: 'the argument uri is missing; write it as a text' },
  ]);
  expect(served.methods()).not.toContain('resources/read');
  await runner.close();
});

test('headers reach the server, and no event or error', async () => {
  const served = serveSessions({
    build: echoing,
    before: (_, { method }) =>
      method === 'tools/call' ? new Response('the key secret-1 is not valid', { status: 403 }) : undefined,
  });
  const connectionParams = new StreamableHTTPConnectionParams({
    url: URL_OF_TESTS,
    fetch: served.fetch,
    headers: { 'x-key': 'secret-1' },
  });
  const toolset = toolsetOf(served, { connectionParams, headerProvider: ({ userId }) => ({ 'x-user': userId }) });
  const { say, runner, errors } = await play(toolset, [calling(echo('a')), 'done']);
  const events = await say('go');
  expect(served.requests.at(-1)?.headers.get('x-key')).toBe('secret-1');
  expect(served.requests.at(-1)?.headers.get('x-user')).toBe('u');
  expect(responsesOf(events)).toEqual([
    { error: 'MCP server "mcp.test": http://mcp.test/mcp answered with HTTP status 403' },
  ]);
  expect(JSON.stringify(events)).not.toContain('secret-1');
  expect(errors).toEqual([]);
  await runner.close();
});

test.each(ERAS)('a call to a server %s continues the trace of its tool', async (_kind, serve) => {
  const served = serve({ build: echoing });
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const active = { run: <T>(step: () => T): T => step(), end: () => undefined };
  const start: Instrumentation['start'] = ({ kind }) =>
    kind === 'tool' ? { ...active, traceHeaders: () => ({ traceparent, tracestate: 'vendor=1' }) } : active;
  const { say, runner } = await play(toolsetOf(served), [calling(echo('a')), 'done'], { instrumentation: [{ start }] });
  expect(responsesOf(await say('go'))).toEqual([{ result: 'a' }]);
  const call = served.requests.find(({ method }) => method === 'tools/call');
  expect(call?.headers.get('traceparent')).toBe(traceparent);
  expect(call?.headers.get('tracestate')).toBe('vendor=1');
  expect(call?.message).toMatchObject({ params: { _meta: { traceparent, tracestate: 'vendor=1' } } });
  await runner.close();
});

test("a call of a user whose connection was closed for another user's is sent with the user's own headers", async () => {
  const callers: (string | null)[] = [];
  const served = serveSessions({
    build: echoing,
    before: ({ headers }, { method }) => {
      if (method === 'tools/call') callers.push(headers.get('x-user'));
      return undefined;
    },
  });
  const toolset = toolsetOf(served, { maxConnections: 1, headerProvider: ({ userId }) => ({ 'x-user': userId }) });
  const gate = new Gate();
  const { runner, model } = await play(toolset, [{ gate, calls: [echo('e')] }, 'hello', 'done']);
  const runFor = (userId: string) => runner.run({ userId, sessionId: userId, newMessage: { parts: [{ text: 'go' }] } });
  const waiting = runFor('ann');
  await expect.poll(() => model.requests.length).toBe(1);
  await runFor('bob');
  gate.open();
  expect(responsesOf(await waiting)).toEqual([{ result: 'e' }]);
  expect(callers).toEqual(['ann']);
  await runner.close();
});
