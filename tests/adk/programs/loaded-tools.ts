import { BaseTool, InMemoryRunner, LlmAgent, type RunAsyncToolRequest } from '@google/adk';
import { type Content, type FunctionDeclaration, Type } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

/** A query that a server of tools offers. */
interface Query {
  readonly name: string;
  readonly description: string;
  readonly parameter: string;
}

/** A tool whose declaration and result come from a server. */
class QueryTool extends BaseTool {
  readonly #query: Query;

  constructor(query: Query) {
    super({ name: query.name, description: query.description });
    this.#query = query;
  }

  override _getDeclaration(): FunctionDeclaration {
    const { name, description, parameter } = this.#query;
    const properties = { [parameter]: { type: Type.STRING, description: 'What to look for.' } };
    return { name, description, parameters: { type: Type.OBJECT, properties, required: [parameter] } };
  }

  override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    const found = args[this.#query.parameter];
    return `${this.name} of ${String(found)} for ${toolContext.agentName}`;
  }
}

/** Loads tools as the client of a server of tools does. */
async function loadToolset(): Promise<QueryTool[]> {
  const queries: Query[] = [
    { name: 'get_weather', description: 'Gives the weather.', parameter: 'city' },
    { name: 'get_time', description: 'Gives the time.', parameter: 'zone' },
  ];
  return queries.map((query) => new QueryTool(query));
}

const rootAgent = new LlmAgent({
  name: 'reporter',
  model: 'gemini-flash-latest',
  description: 'Knows the weather and the time.',
  instruction: 'Use your tools.',
  tools: await loadToolset(),
});

const program: Program = {
  replies: [
    jsonReply(
      wireResponse({
        calls: [
          { name: 'get_weather', args: { city: 'Oslo' } },
          { name: 'get_time', args: { zone: 'CET' } },
        ],
      }),
    ),
    jsonReply(wireResponse('Sunny, at noon.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent: rootAgent, appName: rootAgent.name });
    const session = await runner.sessionService.createSession({ appName: rootAgent.name, userId: 'ann' });
    const newMessage: Content = { role: 'user', parts: [{ text: 'Weather and time?' }] };
    for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) tell(event);
  },
};
export default program;
