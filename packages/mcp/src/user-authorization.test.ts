import { type Event, getFunctionCalls, type Part } from '@eventloom/core';
import { isRecord } from '@eventloom/core/internal';
import { InMemoryCredentialService } from '@eventloom/credentials';
import { InMemorySessionService } from '@eventloom/sessions';
import type { McpServer } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { StreamableHTTPConnectionParams } from './connection-params.ts';
import { calling, play, responsesOf, toolsetOf } from './fixtures/play.ts';
import { serveSessions } from './fixtures/served.ts';
import { MCPToolset } from './mcp-toolset.ts';

const REDIRECT_URI = 'https://app.example/callback';
const authCredential = { authType: 'oauth2', oauth2: { redirectUri: REDIRECT_URI } };
const SECRET = 'access-token-';

/** Returns the key and the claims of a proof of possession; nothing for a request without one. */
function readProof(jwt: string | null) {
  const [header = '', claims = ''] = (jwt ?? '').split('.');
  const parse = (part: string): Readonly<Record<string, unknown>> =>
    part === '' ? {} : (JSON.parse(atob(part.replaceAll('-', '+').replaceAll('_', '/'))) as Record<string, unknown>);
  const { jwk } = parse(header);
  const { htm, htu } = parse(claims);
  return { key: isRecord(jwk) ? String(jwk['x']) : '', htm, htu };
}

/**
 * An MCP server that wants tokens, and its authorization server, at the same address.
 * @param bindsTokens true binds tokens to the key that the request for them proves
 */
function guarded({ bindsTokens = false } = {}) {
  const keys: string[] = [];
  let issued = 0;
  let isRefreshed = true;
  const valid = new Set<string>();
  const exchanged: URLSearchParams[] = [];
  const build = (server: McpServer) => {
    server.registerTool('secret', {}, () => ({ content: [{ type: 'text', text: 'the secret' }] }));
    server.registerResource('note', 'x://note', {}, () => ({ contents: [{ uri: 'x://note', text: 'the note' }] }));
    server.registerPrompt('hello', {}, () => ({
      messages: [{ role: 'user', content: { type: 'text', text: 'hello' } }],
    }));
  };
  const served = serveSessions({ build });
  const issue = (proof: string | null): Response => {
    const token = `${SECRET}${++issued}`;
    if (proof !== null) keys.push(readProof(proof).key);
    valid.add(`${proof === null ? 'Bearer' : 'DPoP'} ${token}`);
    return Response.json({
      access_token: token,
      token_type: proof === null ? 'Bearer' : 'DPoP',
      refresh_token: `refresh-${issued}`,
      expires_in: 60,
    });
  };
  const fetch = async (to: string | URL, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(to);
    if (url.pathname === '/.well-known/oauth-protected-resource/mcp')
      return Response.json({ resource: 'http://mcp.test/mcp', authorization_servers: ['https://auth.test'] });
    if (url.pathname === '/.well-known/oauth-authorization-server')
      return Response.json({
        issuer: 'https://auth.test',
        authorization_endpoint: 'https://auth.test/authorize',
        token_endpoint: 'https://auth.test/token',
        registration_endpoint: 'https://auth.test/register',
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        ...(bindsTokens && { dpop_signing_alg_values_supported: ['ES256'] }),
      });
    if (url.pathname === '/register')
      return Response.json({ client_id: 'client-1', redirect_uris: [REDIRECT_URI] }, { status: 201 });
    if (url.pathname === '/token') {
      const form = new URLSearchParams(init.body instanceof URLSearchParams ? init.body : '');
      exchanged.push(form);
      const isRefused = form.get('code') === 'bad' || (!isRefreshed && form.get('grant_type') === 'refresh_token');
      return isRefused
        ? Response.json({ error: 'invalid_grant' }, { status: 400 })
        : issue(new Headers(init.headers).get('dpop'));
    }
    const headers = new Headers(init.headers);
    const authorization = headers.get('authorization') ?? '';
    const proof = readProof(headers.get('dpop'));
    const isProved = !bindsTokens || (proof.key === keys.at(-1) && proof.htm === init.method && proof.htu === url.href);
    return valid.has(authorization) && isProved ? served.fetch(to, init) : new Response(null, { status: 401 });
  };
  const endConsent = (): void => {
    valid.clear();
    isRefreshed = false;
  };
  return { fetch, exchanged, keys, revoke: () => valid.clear(), endConsent };
}

function requestsOf(events: readonly Event[]) {
  return events.flatMap(getFunctionCalls).filter(({ name }) => name === 'adk_request_credential');
}

/** Answers the request for consent as the page would, with changes of the test. */
function consentTo(events: readonly Event[], changes: Readonly<Record<string, string>> = {}): Part {
  const [call] = requestsOf(events);
  const config = isRecord(call?.args?.['authConfig']) ? call.args['authConfig'] : {};
  const { oauth2 } = isRecord(config['exchangedAuthCredential']) ? config['exchangedAuthCredential'] : {};
  const state = isRecord(oauth2) ? String(oauth2['state']) : '';
  const query = new URLSearchParams({ code: 'good', state, ...changes });
  const response = { authType: 'oauth2', oauth2: { authResponseUri: `${REDIRECT_URI}?${query}` } };
  return { functionResponse: { id: call?.id ?? '', name: 'adk_request_credential', response } };
}

const services = () => ({
  sessionService: new InMemorySessionService(),
  credentialService: new InMemoryCredentialService(),
});
const connect = calling({ id: 'c', name: 'connect_vault', args: {} });
const secret = (id: string) => calling({ id, name: 'secret', args: {} });

test("a server's tools are offered after the user's consent, which another process exchanges", async () => {
  const { fetch, exchanged } = guarded();
  const shared = services();
  const options = { name: 'vault', authCredential };
  const first = await play(toolsetOf({ fetch }, options), [connect], shared);
  const asked = await first.say('go');
  await first.runner.close();
  expect(Object.keys(first.model.requests[0]?.request.toolsDict ?? {})).toEqual(['connect_vault']);
  expect(requestsOf(asked)[0]?.args?.['authConfig']).toMatchObject({
    authScheme: { type: 'oauth2' },
    exchangedAuthCredential: { oauth2: { authUri: expect.stringContaining('https://auth.test/authorize?') } },
  });

  const second = await play(toolsetOf({ fetch }, options), [secret('s'), 'done'], shared);
  const rest = await second.say(consentTo(asked));
  await second.runner.close();
  expect(responsesOf(rest)).toEqual([{ connected: true, tools: 1 }, { result: 'the secret' }]);
  expect(exchanged.map((form) => form.get('grant_type'))).toEqual(['authorization_code']);
  expect(exchanged[0]?.get('code_verifier')).toMatch(/^[\w.~-]{43,}$/);
  expect(JSON.stringify([...asked, ...rest])).not.toContain(SECRET);
  expect(JSON.stringify([...asked, ...rest])).not.toContain(exchanged[0]?.get('code_verifier'));
});

test('a token that is bound to a key is used and renewed with proofs by this key, also by another process', async () => {
  const { fetch, exchanged, keys, revoke } = guarded({ bindsTokens: true });
  const shared = services();
  const first = await play(toolsetOf({ fetch }, { name: 'vault', authCredential }), [connect, 'connected'], shared);
  const asked = await first.say('go');
  const connected = await first.say(consentTo(asked));
  await first.runner.close();
  revoke();
  const second = await play(toolsetOf({ fetch }, { name: 'vault', authCredential }), [secret('s'), 'done'], shared);
  const called = await second.say('go on');
  await second.runner.close();
  expect(responsesOf([...connected, ...called])).toEqual([{ connected: true, tools: 1 }, { result: 'the secret' }]);
  expect(exchanged.map((form) => form.get('grant_type'))).toEqual(['authorization_code', 'refresh_token']);
  expect(new Set(keys).size).toBe(1);
  const key = { appName: 'app', userId: 'u', credentialKey: 'mcp:http://mcp.test/mcp' };
  const { mcp } = (await shared.credentialService.loadCredential(key)) as { readonly mcp?: object };
  const { d } = (mcp as { readonly proofKey: { readonly d: string } }).proofKey;
  expect(JSON.stringify([...asked, ...connected, ...called])).not.toContain(d);
});

test('a token that the server refuses is renewed once for concurrent calls', async () => {
  const { fetch, exchanged, revoke } = guarded();
  const shared = services();
  const three = calling(...['x', 'y', 'z'].map((id) => ({ id, name: 'secret', args: {} })));
  const forget = () => {
    revoke();
    return three as object;
  };
  const { say, runner } = await play(
    toolsetOf({ fetch }, { name: 'vault', authCredential }),
    [connect, 'connected', forget, 'done'],
    shared,
  );
  await say(consentTo(await say('go')));
  expect(responsesOf(await say('again'))).toEqual(Array.from({ length: 3 }, () => ({ result: 'the secret' })));
  expect(exchanged.map((form) => form.get('grant_type'))).toEqual(['authorization_code', 'refresh_token']);
  await runner.close();
});

test.each([
  ['load_mcp_resource', { uri: 'x://note' }, 'the note'],
  ['get_mcp_prompt', { name: 'hello' }, 'hello'],
  ['secret', {}, 'the secret'],
])('%s asks for the consent again after it ended, and then runs', async (name, args, expected) => {
  const { fetch, endConsent } = guarded();
  const toolset = toolsetOf({ fetch }, { name: 'vault', authCredential, useMcpResources: true, useMcpPrompts: true });
  const step = () => {
    endConsent();
    return calling({ id: 'r', name, args }) as object;
  };
  const { say, runner } = await play(toolset, [connect, 'connected', step, 'done'], services());
  await say(consentTo(await say('go')));
  const asked = await say('read');
  expect(requestsOf(asked)).toHaveLength(1);
  expect(JSON.stringify(responsesOf(await say(consentTo(asked))))).toContain(expected);
  await runner.close();
});

test.each([
  ['of another request', { state: 'forged' }],
  ['with a code that the server refuses', { code: 'bad' }],
])('an answer %s gives no access, and the user is asked again', async (_, changes) => {
  const { fetch } = guarded();
  const { say, errors, runner } = await play(
    toolsetOf({ fetch }, { name: 'vault', authCredential }),
    [connect, secret('s'), 'done'],
    services(),
  );
  const again = await say(consentTo(await say('go'), changes));
  expect(errors).toMatchObject([{ code: 'MCP_AUTHORIZATION' }]);
  expect(requestsOf(again)).toHaveLength(1);
  expect(responsesOf(await say(consentTo(again)))).toContainEqual({ connected: true, tools: 1 });
  await runner.close();
});

test('a user who refuses leaves the model with an error', async () => {
  const { fetch } = guarded();
  const { say, runner } = await play(
    toolsetOf({ fetch }, { name: 'vault', authCredential }),
    [connect, 'done'],
    services(),
  );
  const [call] = requestsOf(await say('go'));
  const events = await say({
    functionResponse: { id: call?.id ?? '', name: 'adk_request_credential', response: { error: 'refused' } },
  });
  expect(responsesOf(events)).toEqual([{ error: expect.any(String) }]);
  await runner.close();
});

test('without a credential service the run fails with an error that says what to write', async () => {
  const { fetch } = guarded();
  const { say } = await play(toolsetOf({ fetch }, { name: 'vault', authCredential }), [connect]);
  await expect(say('go')).rejects.toThrow('credentialService: new InMemoryCredentialService()');
});

test.each([
  [{ authCredential: { authType: 'apiKey', apiKey: 'k' } }, 'write headers in the connectionParams'],
  [{ authCredential, connectionPerUser: false }, 'needs a connection for each user'],
])('options that cannot work are refused', (options, message) => {
  expect(() => toolsetOf({ fetch }, options)).toThrow(message);
});

/** A public MCP server that wants tokens, and names this authorization server. */
function naming(authorizationServer: string, metadata: Readonly<Record<string, string>>) {
  const asked: string[] = [];
  const fetch = async (to: string | URL): Promise<Response> => {
    const url = new URL(to);
    asked.push(url.host);
    if (url.host === 'mcp.example.com' && url.pathname === '/.well-known/oauth-protected-resource/mcp')
      return Response.json({ resource: PUBLIC_URL, authorization_servers: [authorizationServer] });
    if (url.host === 'mcp.example.com') return new Response(null, { status: 401 });
    return Response.json({
      issuer: authorizationServer,
      authorization_endpoint: `${authorizationServer}/authorize`,
      token_endpoint: `${authorizationServer}/token`,
      registration_endpoint: `${authorizationServer}/register`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      ...metadata,
    });
  };
  const connectionParams = new StreamableHTTPConnectionParams({ url: PUBLIC_URL, fetch });
  return { asked, toolset: new MCPToolset({ name: 'vault', connectionParams, authCredential }) };
}

const PUBLIC_URL = 'https://mcp.example.com/mcp';

test.each<[string, Record<string, string>?]>([
  ['http://169.254.169.254'],
  ['http://127.0.0.1:6379'],
  ['http://[::1]:8080'],
  ['http://localhost:9000'],
  ['https://vault.internal'],
  ['https://93.184.215.14', { registration_endpoint: 'http://10.0.0.7/register' }],
])('a public server cannot make the process send a request to %s', async (address, metadata = {}) => {
  const { asked, toolset } = naming(address, metadata);
  const { say, runner } = await play(toolset, [connect, 'done'], services());
  const [response] = responsesOf(await say('go'));
  expect(String(response?.['error'])).toMatch(/MCP server "vault": names an authorization server that may not be used/);
  expect(new Set(asked)).toEqual(
    new Set(['mcp.example.com', ...(address.startsWith('https://93') ? ['93.184.215.14'] : [])]),
  );
  await runner.close();
});
