import {
  AGENT_CARD_PATH,
  bearerTokenUserBuilder,
  FunctionTool,
  getA2AAgentCard,
  LlmAgent,
  LoopAgent,
  RemoteA2AAgent,
  SequentialAgent,
  toA2a,
} from '@google/adk';
import { jsonReply, sseReply, wireResponse } from '@eventloom/testing/fake-gemini';
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from '@a2a-js/sdk/client';
import { z } from 'zod';
import { converse } from '../converse.ts';
import { serveLater } from '../local-servers.ts';
import type { Program, Tell } from '../stage.ts';

const TOKEN = 'a-token';

const check = new FunctionTool({
  name: 'check_prime',
  description: 'Says whether a number is prime.',
  parameters: z.object({ n: z.number() }),
  execute: ({ n }) => ({ n, prime: n === 7 }),
});
const prime = new LlmAgent({
  name: 'prime',
  model: 'gemini-flash-latest',
  description: 'Knows primes.',
  instruction: 'You check whether your numbers are prime.',
  tools: [check],
});
const steps = new SequentialAgent({
  name: 'steps',
  subAgents: [
    new LlmAgent({ name: 'one', model: 'gemini-flash-latest', description: 'write' }),
    new LoopAgent({
      name: 'two',
      maxIterations: 2,
      subAgents: [new LlmAgent({ name: 'three', model: 'gemini-flash-latest', instruction: () => 'You loop.' })],
    }),
  ],
});

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** A fetch that sends the token. */
const fetchWith =
  (token: string): typeof fetch =>
  (url, init) =>
    fetch(url, {
      ...init,
      headers: { ...(init?.headers as Record<string, string>), authorization: `Bearer ${token}` },
    });

const program: Program = {
  replies: [
    sseReply([wireResponse({ calls: [{ name: 'check_prime', args: { n: 7 } }] })]),
    sseReply([wireResponse('Seven '), wireResponse('is prime.')]),
    sseReply([wireResponse('Eight is not.')]),
    jsonReply(wireResponse('not reached')),
  ],
  async main(tell) {
    tell({ path: AGENT_CARD_PATH });
    for (const agent of [prime, steps])
      tell(await getA2AAgentCard(agent, [{ url: 'http://localhost:8000/jsonrpc', transport: 'JSONRPC' }]));
    await toA2a(prime).catch((error: unknown) => tell(`refused: ${error instanceof Error}`));

    await using server = await serveLater();
    const options = { host: '127.0.0.1', port: server.port, authentication: bearerTokenUserBuilder(TOKEN) };
    const app = await toA2a(prime, options);
    server.listen((request, response) => void app(request, response));
    const agentCard = `${server.url}/`;
    for (const token of [TOKEN, 'wrong']) {
      const fetchImpl = fetchWith(token);
      const clientFactory = new ClientFactory(
        ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
          transports: [new JsonRpcTransportFactory({ fetchImpl })],
          cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
        }),
      );
      const remote = new RemoteA2AAgent({
        name: 'remote',
        agentCard,
        clientFactory,
        beforeRequestCallbacks: [(_, { message }) => tell({ sent: message.parts, role: message.role })],
        afterRequestCallbacks: [(_, { kind }) => tell({ kind })],
      });
      // Errors have the port of the server.
      const say: Tell = (said) =>
        tell(isRecord(said) && said['errorMessage'] ? { failed: true, author: said['author'] } : said);
      await converse(say, remote, token === TOKEN ? ['Is 7 prime?', 'And 8?'] : ['Is 7 prime?']);
    }
  },
};
export default program;
