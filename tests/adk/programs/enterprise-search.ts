import {
  BaseLlm,
  type BaseLlmConnection,
  ENTERPRISE_WEB_SEARCH,
  GOOGLE_SEARCH,
  InMemoryRunner,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
} from '@google/adk';
import { createUserContent, type GroundingMetadata } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const groundingMetadata: GroundingMetadata = {
  webSearchQueries: ['height of the tower'],
  groundingChunks: [{ web: { uri: 'https://tower.test', title: 'tower.test' } }],
  groundingSupports: [{ segment: { startIndex: 0, endIndex: 5, text: '330 m' }, groundingChunkIndices: [0] }],
};

/** A model that answers with the tools of its request, as Gemini Enterprise would run them. */
class SearchingModel extends BaseLlm {
  override async *generateContentAsync({ config }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const text = JSON.stringify(config?.tools);
    yield { content: { role: 'model', parts: [{ text }] }, groundingMetadata };
  }

  override async connect(): Promise<BaseLlmConnection> {
    throw new Error('no live connections');
  }
}

const instruction = 'Answer by searching, with sources.';
const description = 'Searches the web.';
const agents = [
  new LlmAgent({ name: 'google', model: 'gemini-flash-latest', description, instruction, tools: [GOOGLE_SEARCH] }),
  new LlmAgent({
    name: 'enterprise',
    model: new SearchingModel({ model: 'gemini-flash-latest' }),
    instruction,
    tools: [ENTERPRISE_WEB_SEARCH],
  }),
];

const wire = wireResponse('330 m') as { readonly candidates: readonly object[] };
const candidates = wire.candidates.map((candidate) => ({ ...candidate, groundingMetadata }));

const program: Program = {
  replies: [jsonReply({ ...wire, candidates })],
  async main(tell) {
    for (const agent of agents) {
      const runner = new InMemoryRunner({ agent, appName: 'search' });
      const { id: sessionId } = await runner.sessionService.createSession({ appName: 'search', userId: 'ann' });
      const newMessage = createUserContent('How high is the tower?');
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) {
        tell(event);
        tell({ groundingMetadata: event.groundingMetadata });
      }
    }
  },
};
export default program;
