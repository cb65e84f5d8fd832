import {
  type A2aUserBuilder,
  FunctionTool,
  InMemorySessionService,
  LlmAgent,
  RemoteA2AAgent,
  Runner,
  toA2a,
  type ToA2aOptions,
} from '@google/adk';
import { jsonReply, sseReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { serveLater } from '../local-servers.ts';
import type { Program, Tell } from '../stage.ts';

const model = 'gemini-flash-latest';
const checkPrimes = new FunctionTool({
  name: 'check_primes',
  description: 'Returns the primes of a list of numbers.',
  parameters: z.object({ numbers: z.array(z.number()).describe('The numbers to check.') }),
  execute: ({ numbers }) => ({ primes: numbers.filter((each) => [2, 3, 5].includes(each)) }),
});
const primeAgent = new LlmAgent({
  name: 'prime_agent',
  model,
  description: 'Checks whether numbers are prime.',
  instruction: 'Use check_primes, then answer in one sentence.',
  tools: [checkPrimes],
});
const roll = new FunctionTool({
  name: 'roll',
  description: 'Rolls a die.',
  parameters: z.object({ sides: z.number() }),
  execute: ({ sides }) => ({ rolled: sides - 1 }),
});

/** Runs one message in a session of its own, and reports what a page of the ADK prints. */
async function ask(tell: Tell, agent: LlmAgent | RemoteA2AAgent, text: string): Promise<void> {
  const sessionService = new InMemorySessionService();
  const runner = new Runner({ appName: 'team', agent, sessionService });
  const { id: sessionId } = await sessionService.createSession({ appName: 'team', userId: 'ann' });
  const newMessage = { role: 'user', parts: [{ text }] };
  for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) {
    if (event.errorMessage) tell(`${event.author} failed`);
    if (event.errorMessage || event.partial) continue;
    for (const { functionCall, text: said } of event.content?.parts ?? []) {
      if (functionCall) tell(`${event.author} calls ${functionCall.name}(${JSON.stringify(functionCall.args)})`);
      if (said) tell(`${event.author}: ${said}`);
    }
  }
}

/** Serves the agent while the use of its address lasts. */
async function serve(options: ToA2aOptions, use: (url: string) => Promise<void>): Promise<void> {
  await using server = await serveLater();
  const app = await toA2a(primeAgent, { host: '127.0.0.1', port: server.port, ...options });
  server.listen((request, response) => void app(request, response));
  await use(server.url);
}

/** Refuses requests without the token. */
const authentication: A2aUserBuilder = async ({ headers }) => {
  if (headers.authorization !== 'Bearer secret') throw new Error('a wrong token');
  return { isAuthenticated: true, userName: 'ann' };
};

const called = (name: string, args: Record<string, unknown>) => wireResponse({ calls: [{ name, args }] });
const program: Program = {
  replies: [
    sseReply([called('check_primes', { numbers: [7, 5] })]),
    sseReply([wireResponse('5 is prime.')]),
    jsonReply(called('transfer_to_agent', { agentName: 'roller' })),
    jsonReply(called('roll', { sides: 6 })),
    jsonReply(called('transfer_to_agent', { agentName: 'prime' })),
    sseReply([called('check_primes', { numbers: [5] })]),
    sseReply([wireResponse('It is prime.')]),
  ],
  async main(tell) {
    await serve({ allowUnauthenticated: true }, async (agentCard) => {
      const remote = () => new RemoteA2AAgent({ name: 'prime', description: 'Checks primes.', agentCard });
      await ask(tell, remote(), 'Is 7 or 5 prime?');
      const roller = new LlmAgent({ name: 'roller', model, description: 'Rolls dice.', tools: [roll] });
      const root = new LlmAgent({
        name: 'root',
        model,
        instruction: 'Delegate rolling to roller, and questions about primes to prime.',
        subAgents: [roller, remote()],
      });
      await ask(tell, root, 'Roll a die. Is the number prime?');
      const wrong = new RemoteA2AAgent({ name: 'lost', agentCard: `${agentCard}/missing` });
      await ask(tell, wrong, 'Is 7 prime?').catch((error: unknown) => tell(`refused: ${error instanceof Error}`));
    });
    await serve({ authentication }, async (agentCard) => {
      await ask(tell, new RemoteA2AAgent({ name: 'stranger', agentCard }), 'Is 7 prime?');
    });
  },
};
export default program;
