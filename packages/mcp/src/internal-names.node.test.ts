import { promises as dns } from 'node:dns';
import { InMemoryCredentialService } from '@eventloom/credentials';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { StreamableHTTPConnectionParams } from './connection-params.ts';
import { calling, play, responsesOf } from './fixtures/play.ts';
import { MCPToolset } from './mcp-toolset.ts';

// Names of the tests do not resolve.
beforeEach(() => {
  const addressOf = (name: string) => {
    if (name === 'unknown.example.com') return Promise.reject(new Error('getaddrinfo ENOTFOUND'));
    return Promise.resolve([{ address: name === 'auth.example.com' ? '93.184.215.14' : '10.0.0.7', family: 4 }]);
  };
  const lookup = vi.spyOn(dns, 'lookup').mockImplementation(addressOf as never);
  onTestFinished(() => lookup.mockRestore());
});

/**
 * Calls the tool for consent at a public server that names this authorization server. Returns the response, and the
 * hosts that were asked.
 */
async function connectAt(authorizationServer: string) {
  const asked: string[] = [];
  const fetch = (to: string | URL): Promise<Response> => {
    const { host, pathname } = new URL(to);
    asked.push(host);
    if (host === 'mcp.example.com' && pathname.startsWith('/.well-known/oauth-protected-resource'))
      return Promise.resolve(
        Response.json({ resource: 'https://mcp.example.com/mcp', authorization_servers: [authorizationServer] }),
      );
    return Promise.resolve(new Response(null, { status: host === 'mcp.example.com' ? 401 : 404 }));
  };
  const toolset = new MCPToolset({
    name: 'vault',
    connectionParams: new StreamableHTTPConnectionParams({ url: 'https://mcp.example.com/mcp', fetch }),
    authCredential: { authType: 'oauth2', oauth2: { redirectUri: 'https://app.example/callback' } },
  });
  const steps = [calling({ id: 'c', name: 'connect_vault', args: {} }), 'done'];
  const { say, runner } = await play(toolset, steps, { credentialService: new InMemoryCredentialService() });
  const [response] = responsesOf(await say('go'));
  await runner.close();
  return { error: String(response?.['error']), asked };
}

test('a name that resolves to an internal address gets no request, even with a fetch of the application', async () => {
  const { error, asked } = await connectAt('https://rebound.example.com');
  expect(error).toMatch(
    /names an authorization server that may not be used: the host rebound.example.com is not public/,
  );
  expect(new Set(asked)).toEqual(new Set(['mcp.example.com']));
});

test.each(['auth', 'unknown'])(
  'the name %s.example.com, which is public or left to a proxy, gets the request',
  async (name) => {
    expect((await connectAt(`https://${name}.example.com`)).asked).toContain(`${name}.example.com`);
  },
);
