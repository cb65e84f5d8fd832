import { type Platform, systemPlatform, toError } from '@eventloom/core';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { StreamableHTTPConnectionParams } from './connection-params.ts';
import { calling, play, responsesOf, toolsetOf, URL_OF_TESTS } from './fixtures/play.ts';
import { serveModern, serveSessions } from './fixtures/served.ts';

/** A server that answers these methods as given, and all others correctly. */
function lying(answers: Readonly<Record<string, (id: unknown) => Response | Promise<Response>>>) {
  return serveSessions({
    build: (server) => server.server.registerCapabilities({ tools: {} }),
    before: (_, { method, id }) => answers[String(method)]?.(id),
  });
}

const listing = (tools: readonly unknown[]) => ({
  'tools/list': (id: unknown) => Response.json({ jsonrpc: '2.0', id, result: { tools } }),
});
const inputSchema = { type: 'object' };
const f = { name: 'f', inputSchema };
const call = calling({ id: 'c', name: 'f', args: {} });

/** Returns the response to one call of `f` at a server that answers calls with `answer`. */
async function responseTo(answer: (id: unknown) => Response | Promise<Response>, limits: object = {}) {
  const served = lying({ ...listing([f]), 'tools/call': answer });
  const connectionParams = new StreamableHTTPConnectionParams({ url: URL_OF_TESTS, fetch: served.fetch, ...limits });
  const { say, runner } = await play(toolsetOf(served, { name: 'liar', connectionParams }), [call, 'done']);
  const [response] = responsesOf(await say('go'));
  await runner.close();
  return { response, calls: served.methods().filter((method) => method === 'tools/call').length };
}

describe('a list', () => {
  test('of names that models refuse gets unique names that models accept', async () => {
    const names = ['a b', 'a_b', '1st', 'größe', 'x'.repeat(200), 'ok', '', 'a/b'];
    const toolset = toolsetOf(lying(listing(names.map((name) => ({ name, inputSchema })))));
    const tools = await toolset.getTools();
    const offered = tools.map(({ name }) => name);
    expect(offered).toContain('a_b');
    expect(offered).toContain('ok');
    expect(new Set(offered).size).toBe(names.length);
    for (const name of offered) expect(name).toMatch(/^[A-Za-z_][\w.:-]{0,63}$/);
  });

  test('with reserved names, a repeated name and a schema that is too deep offers the other tools, and reports each refused one', async () => {
    let deep: object = {};
    for (let level = 0; level < 500; level++) deep = { properties: { a: deep } };
    const tools = ['transfer_to_agent', 'adk_request_credential'].map((name) => ({ name, inputSchema }));
    const served = lying(listing([...tools, f, f, { name: 'deep', inputSchema: { type: 'object', ...deep } }]));
    const { say, model, errors, runner } = await play(toolsetOf(served), ['done']);
    await say('go');
    const offered = Object.keys(model.requests[0]?.request.toolsDict ?? {});
    expect(offered.filter((name) => name === 'transfer_to_agent' || name.startsWith('adk_'))).toEqual([]);
    expect(offered).toContain('f');
    expect(errors).toHaveLength(4);
    for (const error of errors) expect(error).toMatchObject({ code: 'MCP_TOOL_REFUSED' });
    await runner.close();
  });

  test('that has no tool of a name in toolFilter is reported with the name that is meant', async () => {
    const served = lying(listing([{ name: 'get-sum', inputSchema }, f]));
    const { say, errors, runner } = await play(toolsetOf(served, { toolFilter: ['get_sum', 'f'] }), ['done', 'done']);
    await say('go');
    await say('again');
    expect(errors.map((error) => toError(error).message)).toEqual([
      expect.stringMatching(
        /toolFilter names "get_sum", and the server has no tool of that name; did you mean "get-sum"\?$/,
      ),
    ]);
    await runner.close();
  });

  test('that is read in every turn reports each tool that is not offered once', async () => {
    const list = listing([f, { name: 'transfer_to_agent', inputSchema }])['tools/list'];
    const served = serveSessions({
      build: (server) => server.server.registerCapabilities({ tools: { listChanged: true } }),
      before: (request, { method, id }) => {
        if (request.method === 'GET') return new Response(null, { status: 405 });
        return method === 'tools/list' ? list(id) : undefined;
      },
    });
    const { say, errors, runner } = await play(toolsetOf(served), ['one', 'two']);
    await say('go');
    await say('on');
    expect(served.methods().filter((method) => method === 'tools/list')).toHaveLength(2);
    expect(errors).toMatchObject([{ code: 'MCP_TOOL_REFUSED' }]);
    await runner.close();
  });

  test('with names of other tools of the agent does not offer these tools, and reports them by name', async () => {
    const own = new FunctionTool({ name: 'f', description: '', execute: () => 'mine' });
    const served = lying(listing(['f', 'g', 'h'].map((name) => ({ name, inputSchema }))));
    const other = toolsetOf(lying(listing([{ name: 'g', inputSchema }])), { name: 'other' });
    const { say, model, errors, runner } = await play(toolsetOf(served), [call, 'done'], {}, [other, own]);
    expect(responsesOf(await say('go'))).toEqual([{ result: 'mine' }]);
    expect(Object.keys(model.requests[0]?.request.toolsDict ?? {})).toEqual(['g', 'h', 'f']);
    expect(errors.map(String)).toEqual([
      expect.stringContaining('tool "f" is not offered, because another tool has the name'),
      expect.stringContaining('tool "g" is not offered'),
    ]);
    await runner.close();
  });

  test('of 10,000 tools is refused with a coded error', async () => {
    const tools = Array.from({ length: 10_000 }, (_, index) => ({ name: `f${index}`, inputSchema }));
    await expect(toolsetOf(lying(listing(tools))).getTools()).rejects.toMatchObject({ code: 'MCP_LIMIT' });
  });

  test('of more tools than an agent may get is an error that says what to write', async () => {
    const tools = Array.from({ length: 200 }, (_, index) => ({ name: `f${index}`, inputSchema }));
    await expect(toolsetOf(lying(listing(tools))).getTools()).rejects.toThrow('select some with toolFilter');
  });

  test('whose pages never end is refused', async () => {
    let page = 0;
    const served = lying({
      'tools/list': (id) => Response.json({ jsonrpc: '2.0', id, result: { tools: [], nextCursor: String(page++) } }),
    });
    await expect(toolsetOf(served).getTools()).rejects.toMatchObject({ code: 'MCP_LIMIT' });
  });

  test('with entries that are not tools offers the others, and reports each with its fault', async () => {
    const wrong = [
      { name: 'text', inputSchema: { type: 'string' } },
      { name: 'bare' },
      { name: 'hint', inputSchema, annotations: { readOnlyHint: 'yes' } },
      { inputSchema },
      null,
    ];
    const served = lying(listing([...wrong, { name: 'untyped', inputSchema: { properties: {} } }, f]));
    const { say, model, errors, runner } = await play(toolsetOf(served), ['done']);
    await say('go');
    expect(Object.keys(model.requests[0]?.request.toolsDict ?? {})).toEqual(['untyped', 'f']);
    expect(errors.map(String)).toEqual([
      expect.stringContaining('tool "text" is not offered: inputSchema.type: '),
      expect.stringContaining('tool "bare" is not offered: its input schema is not an object'),
      expect.stringContaining('tool "hint" is not offered: annotations.readOnlyHint: '),
      expect.stringContaining('tool "" is not offered: name: '),
      expect.stringContaining('tool "" is not offered: its input schema is not an object'),
    ]);
    await runner.close();
  });

  test('with a tool whose input schema refers to itself is offered with that schema unchanged', async () => {
    const circular = { type: 'object', properties: { next: { $ref: '#' } } };
    const [tool] = await toolsetOf(lying(listing([{ name: 'f', inputSchema: circular }]))).getTools();
    expect(tool?._getDeclaration()?.parametersJsonSchema).toEqual(circular);
  });
});

describe('an answer to a call', () => {
  test('of 10 MB of text is an error for the model', async () => {
    const text = 'x'.repeat(10_000_000);
    const { response } = await responseTo((id) =>
      Response.json({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } }),
    );
    expect(response).toEqual({ error: expect.stringContaining('at most 262144 are allowed') });
  });

  test('above maxMessageBytes is not read to its end', async () => {
    const { response } = await responseTo(
      (id) => Response.json({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'x'.repeat(100_000) }] } }),
      { maxMessageBytes: 50_000 },
    );
    expect(response).toEqual({ error: expect.stringContaining('has more than 50000 bytes') });
  });

  test('that is not JSON, or not a message, is an error, and the request is not repeated', async () => {
    for (const body of ['<html>', '{"jsonrpc":"2.0"}']) {
      const headers = { 'content-type': 'application/json' };
      const { response, calls } = await responseTo(() => new Response(body, { headers }));
      expect(response).toEqual({ error: 'MCP server "liar": sent a message that is not one of the protocol' });
      expect(calls).toBe(1);
    }
  });

  test('that ends without a message is an error soon, and the call is not repeated', async () => {
    const headers = { 'content-type': 'text/event-stream' };
    const { response, calls } = await responseTo(() => new Response(': nothing\n\n', { headers }));
    expect(response).toEqual({ error: expect.stringContaining('the call may or may not have had its effect') });
    expect(calls).toBe(1);
  });

  test.each([
    [502, '; the call may or may not have had its effect'],
    [403, ''],
  ])('with the status %i says whether the call may have had its effect', async (status, effect) => {
    const { response, calls } = await responseTo(() => new Response('', { status }));
    expect(response).toEqual({
      error: `MCP server "liar": http://mcp.test/mcp answered with HTTP status ${status}${effect}`,
    });
    expect(calls).toBe(1);
  });

  test('that never arrives is an error after callTimeoutMs', async () => {
    const { response } = await responseTo(() => new Promise(() => undefined), { callTimeoutMs: 50 });
    expect(response).toEqual({ error: expect.stringContaining('did not answer in time') });
  });
});

/** A server that reports progress with these messages during a call. */
function reporting(reports: readonly object[]) {
  return serveSessions({
    build: (server) => server.server.registerCapabilities({ tools: {} }),
    before: (_, { method, id, params }) => {
      if (method === 'tools/list') return Response.json({ jsonrpc: '2.0', id, result: { tools: [f] } });
      if (method !== 'tools/call') return undefined;
      const { progressToken } = (params as { readonly _meta: { readonly progressToken: string } })._meta;
      const messages = [
        ...reports.map((report) => ({
          jsonrpc: '2.0',
          method: 'notifications/progress',
          params: { progressToken, ...report },
        })),
        { jsonrpc: '2.0', id, result: { content: [] } },
      ];
      const body = messages.map((message) => `data: ${JSON.stringify(message)}\n\n`).join('');
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    },
  });
}

test('a progress message of 1 MB reaches readers shortened', async () => {
  const served = reporting([{ progress: 1, message: 'm'.repeat(1_000_000) }]);
  const { say, runner } = await play(toolsetOf(served), [call, 'done']);
  const shown = (await say('go')).filter(({ partial }) => partial);
  expect(JSON.stringify(shown)).toContain('mmm');
  expect(JSON.stringify(shown).length).toBeLessThan(10_000);
  await runner.close();
});

test('readers get the first and the newest of many progress messages within 100 ms', async () => {
  const served = reporting(Array.from({ length: 5000 }, (_, progress) => ({ progress })));
  // The clock does not advance during the pause between two messages.
  const schedule: Platform['schedule'] = (delayMs, ...rest) =>
    delayMs === 100 ? () => undefined : systemPlatform.schedule(delayMs, ...rest);
  const platform = { ...systemPlatform, schedule };
  const { say, runner } = await play(toolsetOf(served), [call, 'done'], { platform });
  const shown = (await say('go')).flatMap(({ partial, content }) => (partial && content?.parts) || []);
  const reports = shown.flatMap(({ functionResponse }) => functionResponse?.response?.['output'] ?? []);
  expect(reports).toEqual([{ progress: 0 }, { progress: 4999 }]);
  await runner.close();
});

test.each([
  [401, 'MCP_AUTHORIZATION', "write headers: { authorization: 'Bearer …' } in the connectionParams, or authCredential"],
  [403, 'MCP_PROTOCOL', 'check what the key or the token in headers may do'],
])(
  'a server that answers %i is unavailable with %s, and the error says what to write',
  async (status, code, advice) => {
    const fetch = () => Promise.resolve(new Response('no', { status }));
    await expect(toolsetOf({ fetch }).getTools()).rejects.toMatchObject({
      code,
      message: expect.stringContaining(advice),
    });
  },
);

test('an HTTP server that was unreachable gets another request for its protocol version', async () => {
  const served = serveModern({ build: (server) => server.registerTool('f', {}, () => ({ content: [] })) });
  let isUnavailable = true;
  const toolset = toolsetOf({
    fetch: (url, init) => (isUnavailable ? Promise.reject(new TypeError('fetch failed')) : served.fetch(url, init)),
  });
  await expect(toolset.getTools()).rejects.toMatchObject({ code: 'MCP_CONNECTION' });
  isUnavailable = false;
  expect(await toolset.getTools()).toHaveLength(1);
  await toolset.close();
});

test.each([
  [1, ['f'], 2],
  [2, 'MCP server "mcp.test": cannot connect to http://mcp.test/mcp: UND_ERR_SOCKET', 2],
])('a connection whose socket is lost %i times while it is opened is opened twice', async (times, expected, opened) => {
  let initialized = 0;
  const served = serveSessions({
    build: (server) => server.server.registerCapabilities({ tools: {} }),
    before: (_, { method, id }) => {
      if (method === 'tools/list') return listing([f])['tools/list'](id);
      if (method !== 'initialize' || ++initialized > times) return undefined;
      return Promise.reject(new TypeError('fetch failed', { cause: { code: 'UND_ERR_SOCKET' } }));
    },
  });
  const toolset = toolsetOf(served);
  const listed = await toolset.getTools().then(
    (tools) => tools.map(({ name }) => name),
    (error: unknown) => (error instanceof Error ? error.message : error),
  );
  expect([listed, initialized]).toEqual([expected, opened]);
  await toolset.close();
});

test('a server whose socket is lost during discovery gets another request for its version', async () => {
  let asked = 0;
  const served = serveModern({
    build: (server) => server.server.registerCapabilities({ tools: {} }),
    before: (_, { method, id }) => {
      if (method === 'tools/list')
        return Response.json({
          jsonrpc: '2.0',
          id,
          result: { resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools: [f] },
        });
      if (method !== 'server/discover' || ++asked > 1) return undefined;
      return Promise.reject(new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } }));
    },
  });
  const toolset = toolsetOf(served);
  expect((await toolset.getTools()).map(({ name }) => name)).toEqual(['f']);
  expect(asked).toBe(2);
  await toolset.close();
});

test('an unreachable server is skipped, by name', async () => {
  const fetch = () => Promise.reject(new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } }));
  const toolset = toolsetOf({ fetch }, { name: 'weather', onUnavailable: 'skip' });
  const { say, model, runner, errors } = await play(toolset, ['sorry']);
  const events = await say('go');
  expect(events[0]).toMatchObject({ customMetadata: { unavailableToolsets: ['weather'] } });
  expect(errors).toMatchObject([{ code: 'TOOLSET_UNAVAILABLE', message: expect.stringContaining('ECONNREFUSED') }]);
  expect(model.requests[0]?.request.config.systemInstruction).toContain('"weather"');
  await expect(toolset.getTools()).rejects.toMatchObject({
    code: 'MCP_CONNECTION',
    message:
      'MCP server "weather": cannot connect to http://mcp.test/mcp: ECONNREFUSED: nothing listens there; start the server, or correct the url',
  });
  await runner.close();
});
