import { encodeBase64, type Event, ModelError } from '@eventloom/core';
import { GROUNDING_METADATA_KEY } from '@eventloom/multi-agent';
import {
  errorReply,
  type FakeGeminiReply,
  FakeGeminiServer,
  jsonReply,
  wireResponse,
} from '@eventloom/testing/fake-gemini';
import { expect, test } from 'vitest';
import { FunctionTool, InMemoryRunner, LlmAgent, type LlmAgentConfig } from '../index.ts';
import {
  createGoogleSearchAgent,
  ENTERPRISE_WEB_SEARCH,
  ExampleTool,
  GOOGLE_MAPS_GROUNDING,
  GOOGLE_SEARCH,
  GoogleSearchAgentTool,
  LOAD_ARTIFACTS,
  LOAD_WEB_PAGE,
  URL_CONTEXT,
  VertexAiSearchTool,
  VertexRagRetrievalTool,
} from './index.ts';

type Tools = NonNullable<LlmAgentConfig['tools']>;

const IDS = { userId: 'u', sessionId: 's' };
const MODEL = 'gemini-2.5-flash';
const STORE = 'projects/p/locations/l/collections/c/dataStores/d';

const book = new FunctionTool({ name: 'book', description: 'Books a table.', execute: () => ({ booked: true }) });

/** Plays one message through the real client against a fake Gemini, and returns its events and the request bodies. */
async function play(tools: Tools, replies: FakeGeminiReply[], files: Record<string, string> = {}) {
  await using server = await FakeGeminiServer.start(replies);
  const runner = new InMemoryRunner({
    agent: new LlmAgent({ name: 'bot', model: MODEL, tools }),
    gemini: { apiKey: 'a-test-key', baseUrl: server.url, retry: { attempts: 1 } },
    autoCreateSession: true,
  });
  for (const [filename, text] of Object.entries(files))
    await runner.artifactService?.saveArtifact({
      appName: runner.appName,
      ...IDS,
      filename,
      artifact: { inlineData: { mimeType: 'text/csv', data: encodeBase64(new TextEncoder().encode(text)) } },
    });
  const events: Event[] = await runner.run({ ...IDS, newMessage: { parts: [{ text: 'Hi' }] } });
  server.assertConsumed();
  return { events, bodies: server.requests.map(({ body }) => body) };
}

test.each<[Tools, object[]]>([
  [[GOOGLE_SEARCH], [{ googleSearch: {} }]],
  [[URL_CONTEXT], [{ urlContext: {} }]],
  [[GOOGLE_MAPS_GROUNDING], [{ googleMaps: {} }]],
  [
    [GOOGLE_SEARCH, URL_CONTEXT],
    [{ googleSearch: {} }, { urlContext: {} }],
  ],
])('built-in tools are sent in the format of the service: %#', async (tools, wire) => {
  const { bodies } = await play(tools, [jsonReply(wireResponse('Hello'))]);
  expect(bodies[0]?.tools).toEqual(wire);
});

test.each([
  [ENTERPRISE_WEB_SEARCH, { enterpriseWebSearch: {} }],
  [
    new VertexAiSearchTool({ dataStoreId: STORE, maxResults: 3 }),
    { retrieval: { vertexAiSearch: { datastore: STORE, maxResults: 3 } } },
  ],
  [
    new VertexRagRetrievalTool({ ragResources: [{ ragCorpus: 'c' }], similarityTopK: 5 }),
    { retrieval: { vertexRagStore: { ragResources: [{ ragCorpus: 'c' }], similarityTopK: 5 } } },
  ],
])('$name is sent to Vertex AI, and is an error with the Gemini API', async (tool, wire) => {
  await using server = await FakeGeminiServer.start([jsonReply(wireResponse('Hello'))]);
  const agent = new LlmAgent({ name: 'bot', model: MODEL, tools: [tool] });
  const connection = { baseUrl: server.url, retry: { attempts: 1 } };
  const google = new InMemoryRunner({
    agent,
    gemini: { ...connection, apiKey: 'a-test-key' },
    autoCreateSession: true,
  });
  const message = { ...IDS, newMessage: { parts: [{ text: 'Hi' }] } };
  await expect(google.run(message)).rejects.toThrow(ModelError);
  const vertex = new InMemoryRunner({
    agent,
    gemini: { ...connection, vertexai: true, apiKey: 'a-test-key' },
    autoCreateSession: true,
  });
  await vertex.run(message);
  expect(server.requests.map(({ body }) => body.tools)).toEqual([[wire]]);
});

test('a search beside functions is sent, and a refusal of the service says what to write', async () => {
  const refusal = {
    code: 400,
    status: 'INVALID_ARGUMENT',
    message: 'Built-in tools ({google_search}) and Function Calling cannot be combined in the same request.',
  };
  await expect(play([GOOGLE_SEARCH, book], [errorReply(refusal)])).rejects.toThrow(
    'cannot be combined in the same request; give the search to an agent of its own: new GoogleSearchAgentTool(createGoogleSearchAgent(model))',
  );
});

test('GoogleSearchAgentTool searches in a separate request, and passes the sources on', async () => {
  const groundingMetadata = {
    webSearchQueries: ['rome weather'],
    groundingChunks: [{ web: { uri: 'https://a', title: 'A' } }],
  };
  const found = wireResponse('It is sunny.') as { candidates: object[] };
  const grounded = { ...found, candidates: found.candidates.map((candidate) => ({ ...candidate, groundingMetadata })) };
  const tool = new GoogleSearchAgentTool(createGoogleSearchAgent(MODEL));
  const { events, bodies } = await play(
    [tool, book],
    [
      jsonReply(
        wireResponse({ calls: [{ id: 'c1', name: 'google_search_agent', args: { request: 'Weather in Rome?' } }] }),
      ),
      jsonReply(grounded),
      jsonReply(wireResponse('Sunny.')),
    ],
  );
  expect(bodies.map(({ tools }) => tools?.map((entry) => Object.keys(entry)))).toEqual([
    [['functionDeclarations']],
    [['googleSearch']],
    [['functionDeclarations']],
  ]);
  expect(events.map((event) => [event.author, event.groundingMetadata])).toEqual([
    ['bot', undefined],
    ['bot', undefined],
    ['bot', groundingMetadata],
  ]);
  expect(events[1]?.actions.stateDelta).not.toHaveProperty(GROUNDING_METADATA_KEY);
});

test('GoogleSearchAgentTool refuses a value that is not an agent', () => {
  expect(() => new GoogleSearchAgentTool('gemini-2.5-flash' as never)).toThrow(
    "GoogleSearchAgentTool: expected an agent, got a string; write new GoogleSearchAgentTool(createGoogleSearchAgent('gemini-2.5-flash'))",
  );
});

test('LOAD_ARTIFACTS puts the file at the end of the next request only', async () => {
  const load = { id: 'c1', name: 'load_artifacts', args: { artifact_names: ['a.csv'] } };
  const { bodies } = await play(
    [LOAD_ARTIFACTS, book],
    [
      jsonReply(wireResponse({ calls: [load] })),
      jsonReply(wireResponse({ calls: [{ id: 'c2', name: 'book' }] })),
      jsonReply(wireResponse('Booked.')),
    ],
    { 'a.csv': 'x,y' },
  );
  for (const { systemInstruction, contents } of bodies) {
    expect(JSON.stringify(systemInstruction)).not.toContain('a.csv');
    expect(contents?.[0]).toEqual({ role: 'user', parts: [{ text: 'Artifacts: ["a.csv"]' }] });
  }
  expect(bodies.map(({ contents }) => contents?.at(-1)?.parts?.map(({ text }) => text))).toEqual([
    ['Hi'],
    ['Artifact a.csv is:', 'x,y'],
    [undefined],
  ]);
});

test('LOAD_WEB_PAGE answers a call for an internal address with a refusal', async () => {
  const load = { id: 'c1', name: 'load_web_page', args: { url: 'http://169.254.169.254/latest/meta-data' } };
  const { bodies } = await play(
    [LOAD_WEB_PAGE],
    [jsonReply(wireResponse({ calls: [load] })), jsonReply(wireResponse('No.'))],
  );
  expect(JSON.stringify(bodies[1]?.contents?.at(-1))).toContain('the host 169.254.169.254 is not public');
});

test('ExampleTool adds its examples to the system instruction', async () => {
  const examples = new ExampleTool([
    { input: { role: 'user', parts: [{ text: 'Hi' }] }, output: [{ role: 'model', parts: [{ text: 'Ahoy!' }] }] },
  ]);
  const { bodies } = await play([examples], [jsonReply(wireResponse('Ahoy!'))]);
  expect(JSON.stringify(bodies[0]?.systemInstruction)).toContain('[model]\\nAhoy!');
  expect(bodies[0]?.tools).toBeUndefined();
});
