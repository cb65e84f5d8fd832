import { FunctionTool, LlmAgent, node, type NodeContext, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const search = z.object({ from: z.string(), to: z.string(), passengers: z.number() });
const flight = z.object({ carrier: z.string(), price: z.number() });
const found = z.object({ flights: z.array(flight), cheapest: z.number() });

const searchFlights = new FunctionTool({
  name: 'search_flights',
  description: 'Searches flights.',
  parameters: search,
  execute: ({ passengers }) => [{ carrier: 'AF', price: 400 * passengers }],
});

const readRequest = node(
  (_context: NodeContext, text: string): z.infer<typeof search> => {
    const [from = 'SFO', to = 'CDG'] = text.match(/\b[A-Z]{3}\b/g) ?? [];
    return { from, to, passengers: 2 };
  },
  { name: 'read_request', outputSchema: search },
);

const searcher = new LlmAgent({
  name: 'searcher',
  model: 'gemini-flash-latest',
  mode: 'single_turn',
  instruction: 'Report the flights.',
  inputSchema: search,
  outputSchema: found,
  tools: [searchFlights],
});

const render = node(
  (_context: NodeContext, { cheapest, flights }: z.infer<typeof found>) => `${cheapest}: ${flights.length}`,
  {
    name: 'render',
    inputSchema: found,
  },
);

const wrong = node(() => ({ from: 'SFO' }), { name: 'wrong', outputSchema: search });

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'search_flights', args: { from: 'OSL', to: 'FCO', passengers: 2 } }] })),
    jsonReply(wireResponse('{"flights":[{"carrier":"AF","price":800}],"cheapest":800}')),
  ],
  async main(tell) {
    const flights = new Workflow({
      name: 'flights',
      edges: [['START', readRequest, node(searcher, { inputSchema: search }), render]],
    });
    await converse(tell, flights, ['From OSL to FCO.']);
    try {
      await converse(tell, new Workflow({ name: 'wrongs', edges: [['START', wrong]] }), ['Go.']);
    } catch (error) {
      tell(`failed: ${(error as Error).name}`);
    }
  },
};
export default program;
