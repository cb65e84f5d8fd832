/**
 * Measures the time that an MCP toolset adds to a turn with one tool call: the first turn of a user, which connects and lists the tools,
 * and a later one. The same tool is offered by the agent itself, for comparison. The server works in this process behind a `fetch`
 * function, so that the figures include the server's time, but no network. Rounds are interleaved; prints medians in milliseconds of
 * processor time a turn, and the requests of a turn.
 *
 * node --expose-gc src/mcp-turns.ts
 */
import { LlmAgent } from '@eventloom/llm-agent';
import { MCPToolset, StreamableHTTPConnectionParams } from '@eventloom/mcp';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { ToolCallingModel } from './models.ts';
import { APP, createAgent, turn } from './setup.ts';

const ROUNDS = 15;
/** Number of users in a round, each with one first turn and one later turn. */
const USERS = 20;

let requests = 0;

/** Serves the protocol with sessions, to any number of users. */
function serveAdd(): (url: string | URL, init?: RequestInit) => Promise<Response> {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  return async (url, init) => {
    requests++;
    const request = new Request(url, init);
    const known = sessions.get(request.headers.get('mcp-session-id') ?? '');
    if (known) return known.handleRequest(request);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (session) => void sessions.set(session, transport),
    });
    const server = new McpServer({ name: 'bench', version: '1' });
    server.registerTool(
      'add',
      { description: 'Adds two numbers.', inputSchema: z.object({ a: z.number(), b: z.number() }) },
      ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }], structuredContent: { sum: a + b } }),
    );
    await server.connect(transport);
    return transport.handleRequest(request);
  };
}

function createRunner(kind: Kind): Runner {
  const sessionService = new InMemorySessionService();
  const model = new ToolCallingModel(1);
  if (kind === 'own tool') return new Runner({ appName: APP.appName, agent: createAgent(model), sessionService });
  const toolset = new MCPToolset({
    connectionParams: new StreamableHTTPConnectionParams({ url: 'http://mcp.test/mcp', fetch: serveAdd() }),
    maxConnections: USERS,
  });
  const agent = new LlmAgent({ name: 'agent', model, instruction: 'Be helpful.', tools: [toolset] });
  return new Runner({ appName: APP.appName, agent, sessionService });
}

type Kind = 'own tool' | 'MCP toolset';
const KINDS: readonly Kind[] = ['own tool', 'MCP toolset'];
const TURNS = ['first turn', 'later turn'] as const;

const times: Record<string, number[]> = {};
const counts: Record<string, number> = {};
for (let round = -3; round < ROUNDS; round++) {
  for (const kind of KINDS) {
    const runner = createRunner(kind);
    for (const which of TURNS) {
      globalThis.gc?.();
      requests = 0;
      const from = process.cpuUsage();
      for (let user = 0; user < USERS; user++) await playTurn(runner, `u${user}`, which);
      const { user, system } = process.cpuUsage(from);
      const name = `${kind}, ${which}`;
      counts[name] = requests / USERS;
      if (round >= 0) (times[name] ??= []).push((user + system) / USERS / 1000);
    }
    await runner.close();
  }
}
for (const which of TURNS) {
  const [own = 0, mcp = 0] = KINDS.map((kind) => median(times[`${kind}, ${which}`] ?? []));
  console.log(
    `${which}: ${own.toFixed(2)} ms with a tool of the agent, ${mcp.toFixed(2)} ms with an MCP toolset (+${(mcp - own).toFixed(2)} ms, ${counts[`MCP toolset, ${which}`]} requests)`,
  );
}

async function playTurn(runner: Runner, userId: string, which: string): Promise<void> {
  const session = { ...APP, userId, sessionId: which };
  await runner.sessionService.createSession(session);
  await turn(runner, which, undefined, userId);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}
