import { ConfigurationError, type LlmRequest, type BaseTool, ToolContext, createLlmRequest } from '@eventloom/core';
import { testContext } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { ENTERPRISE_WEB_SEARCH, GOOGLE_MAPS_GROUNDING, GOOGLE_SEARCH, URL_CONTEXT } from './search-tools.ts';
import { VertexAiSearchTool, type VertexAiSearchToolParams, VertexRagRetrievalTool } from './vertex-tools.ts';

const STORE = 'projects/p/locations/l/collections/c/dataStores/d';
const ENGINE = 'projects/p/locations/l/collections/c/engines/e';

/** Returns the tools of a request, after the tool was added beside others. */
async function toolsOf(tool: BaseTool, model: string | undefined, ...others: object[]): Promise<unknown[] | undefined> {
  const llmRequest: LlmRequest = { ...createLlmRequest(), ...(model !== undefined && { model }) };
  if (others.length > 0) llmRequest.config.tools = others;
  const toolContext = new ToolContext({ invocationContext: testContext(), functionCallId: '' });
  await tool.processLlmRequest({ toolContext, llmRequest });
  expect(llmRequest.toolsDict).toEqual({});
  return llmRequest.config.tools;
}

const FUNCTIONS = { functionDeclarations: [{ name: 'f' }] };

test.each([
  ['gemini-2.5-flash', { googleSearch: {} }],
  ['gemini-flash-latest', { googleSearch: {} }],
  ['gemini-3-pro-preview', { googleSearch: {} }],
  ['models/gemini-2.0-flash', { googleSearch: {} }],
  ['projects/p/locations/l/publishers/google/models/gemini-2.5-pro', { googleSearch: {} }],
  ['projects/p/locations/l/endpoints/123', { googleSearch: {} }],
  ['gemini-1.5-pro', { googleSearchRetrieval: {} }],
])('GOOGLE_SEARCH is offered to %s', async (model, tool) => {
  expect(await toolsOf(GOOGLE_SEARCH, model)).toEqual([tool]);
});

test.each([
  [URL_CONTEXT, { urlContext: {} }],
  [GOOGLE_MAPS_GROUNDING, { googleMaps: {} }],
  [ENTERPRISE_WEB_SEARCH, { enterpriseWebSearch: {} }],
  [
    new VertexAiSearchTool({ dataStoreId: STORE, filter: 'a: ANY("b")' }),
    { retrieval: { vertexAiSearch: { datastore: STORE, filter: 'a: ANY("b")' } } },
  ],
  [
    new VertexAiSearchTool({ searchEngineId: ENGINE, dataStoreSpecs: [{ dataStore: STORE }], maxResults: 3 }),
    { retrieval: { vertexAiSearch: { engine: ENGINE, dataStoreSpecs: [{ dataStore: STORE }], maxResults: 3 } } },
  ],
  [
    new VertexRagRetrievalTool({ ragResources: [{ ragCorpus: 'c' }], similarityTopK: 5 }),
    { retrieval: { vertexRagStore: { ragResources: [{ ragCorpus: 'c' }], similarityTopK: 5 } } },
  ],
])('$name is added beside other tools', async (tool: BaseTool, entry) => {
  expect(await toolsOf(tool, 'gemini-2.5-flash', FUNCTIONS)).toEqual([FUNCTIONS, entry]);
  expect(
    await tool.runAsync({
      args: {},
      toolContext: new ToolContext({ invocationContext: testContext(), functionCallId: '' }),
    }),
  ).toBeUndefined();
});

test('a tool adds nothing to a request without a model, which is used only to collect tools', async () => {
  for (const tool of [GOOGLE_SEARCH, new VertexAiSearchTool({ dataStoreId: STORE })])
    expect(await toolsOf(tool, undefined)).toBeUndefined();
});

test.each([
  [
    GOOGLE_SEARCH,
    'gpt-5',
    "GOOGLE_SEARCH: Google's service runs this tool, but the model \"gpt-5\" is not a Gemini model; write model: 'gemini-flash-latest', or remove the tool",
  ],
  [
    URL_CONTEXT,
    'gemini-1.5-pro',
    'URL_CONTEXT: needs Gemini 2 or later, but the model is "gemini-1.5-pro"; write model: \'gemini-flash-latest\'',
  ],
  [GOOGLE_MAPS_GROUNDING, 'gemini-1.5-pro', 'GOOGLE_MAPS_GROUNDING: needs Gemini 2 or later'],
  [
    ENTERPRISE_WEB_SEARCH,
    'gemini-1.5-pro',
    'ENTERPRISE_WEB_SEARCH: the model "gemini-1.5-pro" cannot combine this tool with others; put the tool into a separate agent, and add that agent to tools as new AgentTool({ agent })',
  ],
  [GOOGLE_SEARCH, 'gemini-1.5-pro', 'GOOGLE_SEARCH: the model "gemini-1.5-pro" cannot combine this tool with others'],
  [
    new VertexAiSearchTool({ dataStoreId: STORE }),
    'gemini-1.5-pro',
    'VertexAiSearchTool: the model "gemini-1.5-pro" cannot combine',
  ],
])('$name is refused for $1 beside a function', async (tool, model, message) => {
  await expect(toolsOf(tool, model, FUNCTIONS)).rejects.toThrow(message);
  await expect(toolsOf(tool, model, FUNCTIONS)).rejects.toThrow(ConfigurationError);
});

test('bypassMultiToolsLimit offers Vertex AI Search beside other tools to Gemini 1', async () => {
  const tool = new VertexAiSearchTool({ dataStoreId: STORE, bypassMultiToolsLimit: true });
  expect(await toolsOf(tool, 'gemini-1.5-pro', FUNCTIONS)).toHaveLength(2);
});

test('a subclass of VertexAiSearchTool may set the search of each request', async () => {
  class OfTenant extends VertexAiSearchTool {
    protected override async buildVertexAiSearchConfig({ userId }: ToolContext) {
      return { datastore: STORE, filter: `user: ANY("${userId}")` };
    }
  }
  expect(await toolsOf(new OfTenant({ dataStoreId: STORE }), 'gemini-2.5-flash')).toEqual([
    { retrieval: { vertexAiSearch: { datastore: STORE, filter: 'user: ANY("u")' } } },
  ]);
});

test.each<[VertexAiSearchToolParams, string]>([
  [{}, "VertexAiSearchTool: needs either dataStoreId or searchEngineId; write dataStoreId: '"],
  [{ dataStoreId: STORE, searchEngineId: ENGINE }, 'VertexAiSearchTool: needs either'],
  [
    { dataStoreId: STORE, dataStoreSpecs: [] },
    'VertexAiSearchTool: dataStoreSpecs select stores of an engine; write searchEngineId instead of dataStoreId',
  ],
  [
    { dataStoreId: STORE, maxResults: 0 },
    'VertexAiSearchTool: maxResults: expected an integer of at least 1, got the number 0; write maxResults: 10',
  ],
  [{ dataStore: STORE } as object, 'VertexAiSearchTool: has no option "dataStore"; did you mean "dataStoreId"?'],
])('new VertexAiSearchTool(%j) is refused', (params, message) => {
  expect(() => new VertexAiSearchTool(params)).toThrow(ConfigurationError);
  expect(() => new VertexAiSearchTool(params)).toThrow(message);
});

test('a RAG tool without a corpus is refused', () => {
  expect(() => new VertexRagRetrievalTool({ ragResources: [] })).toThrow(
    "VertexRagRetrievalTool: needs a corpus; write ragResources: [{ ragCorpus: 'projects/P/locations/L/ragCorpora/C' }]",
  );
});
