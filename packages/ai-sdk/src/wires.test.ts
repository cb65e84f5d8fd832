import { contentText, type LlmResponse, ModelError } from '@eventloom/core';
import { type ByteSplit, splitBytes } from '@eventloom/testing/fake-gemini';
import { describe, expect, test } from 'vitest';
import { requestOf, responsesOf } from './fixtures/mock-model.ts';
import { ANTHROPIC, COMPATIBLE, OPENAI, type Wire, WIRES, type WireReply } from './fixtures/wires.ts';

const REPLY: WireReply = {
  thought: 'Two calls … ü',
  text: ['I look ', 'at the ☀️.'],
  calls: [
    { id: 'call_a1', name: 'look', args: { at: 'the ☀️' } },
    { id: 'call_b2', name: 'pay', args: { to: 'Ann', sum: 3 } },
  ],
};

/** A `fetch` that responds with these bytes, in these pieces, and then ends or breaks. */
function answering(pieces: readonly Uint8Array[], end: 'ends' | 'breaks' = 'ends'): typeof fetch {
  return () => {
    let at = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = pieces[at++];
        if (piece) controller.enqueue(piece);
        else if (end === 'ends') controller.close();
        else controller.error(new TypeError('terminated'));
      },
    });
    return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
  };
}

/** The chunks, the whole reply and the error of a call. */
async function play(wire: Wire, fetch: typeof globalThis.fetch) {
  const chunks: LlmResponse[] = [];
  let whole: LlmResponse | undefined;
  try {
    for await (const response of wire
      .model({ fetch }, { retry: { attempts: 1 } })
      .generateContentAsync(requestOf('Hi'), true)) {
      if (response.partial) chunks.push(response);
      else whole = response;
    }
  } catch (error) {
    return { chunks, whole, error };
  }
  return { chunks, whole, error: undefined };
}

const callsIn = ({ content }: LlmResponse) => content?.parts?.flatMap(({ functionCall }) => functionCall ?? []) ?? [];
const thoughtsIn = ({ content }: LlmResponse) =>
  content?.parts?.flatMap(({ text, thought }) => (thought ? (text ?? '') : [])) ?? [];

describe.each(WIRES)('$name', (wire) => {
  const bytes = new TextEncoder().encode(wire.stream(REPLY));

  test('a stream has thoughts, text, parallel calls and counts', async () => {
    const { chunks, whole = {}, error } = await play(wire, answering([bytes]));
    expect(error).toBeUndefined();
    const calls = REPLY.calls?.map(({ id, name, args }) => ({ id, name, args }));
    expect(chunks.map(({ content }) => contentText(content)).join('')).toBe('I look at the ☀️.');
    expect(chunks.flatMap(callsIn)).toEqual(calls);
    expect([contentText(whole.content), thoughtsIn(whole), callsIn(whole)]).toEqual([
      'I look at the ☀️.',
      [REPLY.thought],
      calls,
    ]);
    expect(whole).toMatchObject({
      finishReason: 'STOP',
      usageMetadata: { promptTokenCount: 20, cachedContentTokenCount: 5, totalTokenCount: 32 },
    });
    expect(whole.errorCode).toBeUndefined();
    expect(new Set(chunks.map(({ responseId }) => responseId))).toEqual(new Set([whole.responseId]));
  });

  test('an answer that is not streamed has the same content', async () => {
    const streamed = await play(wire, answering([bytes]));
    const fetch = () => Promise.resolve(Response.json(wire.json(REPLY)));
    const [reply = {}] = await responsesOf(wire.model({ fetch }));
    expect(reply.content).toEqual(streamed.whole?.content);
    expect([reply.finishReason, reply.usageMetadata]).toEqual([
      streamed.whole?.finishReason,
      streamed.whole?.usageMetadata,
    ]);
  });

  test('a stream in pieces of any size gives the same responses', async () => {
    const { responseId: _, ...expected } = (await play(wire, answering([bytes]))).whole ?? {};
    const splits: ByteSplit[] = [[1], [2, 3], [7], ...Array.from({ length: 10 }, (__, seed) => ({ seed, max: 60 }))];
    for (const split of splits) {
      const { whole, error } = await play(wire, answering(splitBytes(bytes, split)));
      expect(error, JSON.stringify(split)).toBeUndefined();
      expect(whole, JSON.stringify(split)).toMatchObject(expected);
    }
  });

  test('a stream in two pieces, split at a line or inside a character, gives the same responses', async () => {
    const { whole: { responseId: _, ...expected } = {} } = await play(wire, answering([bytes]));
    for (const at of [...cutsOf(bytes), ...insideCharacters(bytes)]) {
      const { whole, error } = await play(wire, answering([bytes.subarray(0, at), bytes.subarray(at)]));
      expect(error, `divided at ${at}`).toBeUndefined();
      expect(whole, `divided at ${at}`).toMatchObject(expected);
    }
  });

  test.each(['ends', 'breaks'] as const)(
    'a stream that %s anywhere is whole, or an error without calls',
    async (end) => {
      const expected = callsIn((await play(wire, answering([bytes]))).whole ?? {});
      for (const length of cutsOf(bytes)) {
        const { chunks, whole, error } = await play(wire, answering([bytes.subarray(0, length)], end));
        const place = `${end} after ${length} of ${bytes.length} bytes`;
        if (error) expect(error, place).toBeInstanceOf(ModelError);
        else if (whole?.errorCode !== undefined) expect(callsIn(whole), place).toEqual([]);
        else expect([callsIn(whole ?? {}), whole?.finishReason], place).toEqual([expected, 'STOP']);
        // A call that was shown is one that the model made, whole.
        for (const [index, call] of chunks.flatMap(callsIn).entries()) expect(call, place).toEqual(expected[index]);
      }
    },
  );
});

/** Lengths of the beginnings of a stream that end inside a character. */
function insideCharacters(bytes: Uint8Array): number[] {
  return [...bytes.keys()].filter((at) => ((bytes[at] ?? 0) & 0xc0) === 0x80);
}

/** Lengths of the beginnings of a stream: at, before and after the end of each line, and inside it. */
function cutsOf(bytes: Uint8Array): number[] {
  const lengths = new Set([0]);
  let start = 0;
  for (const [at, byte] of bytes.entries()) {
    if (byte !== 10) continue;
    for (const length of [Math.floor((start + at) / 2), at - 1, at, at + 1]) lengths.add(length);
    start = at + 1;
  }
  return [...lengths].filter((length) => length >= 0 && length < bytes.length);
}

/** A `fetch` that responds with this reply, and the bodies of the requests. */
function recording(wire: Wire, reply: WireReply) {
  const bodies: Record<string, unknown>[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    bodies.push((await new Request(input, init).json()) as Record<string, unknown>);
    return Response.json(wire.json(reply));
  };
  return { bodies, fetch };
}

/** Sends a request to a wire. Returns the body that the service gets, and the reply. */
async function send(wire: Wire, request = requestOf('Hi'), reply: WireReply = { text: ['ok'] }, options = {}) {
  const { bodies, fetch } = recording(wire, reply);
  const [response = {}] = await responsesOf(wire.model({ fetch }, options), request);
  return { body: bodies[0] ?? {}, response };
}

test.each([
  [COMPATIBLE, { candidatesTokenCount: 8, thoughtsTokenCount: 4 }],
  // Anthropic counts thoughts with the answer.
  [ANTHROPIC, { candidatesTokenCount: 12 }],
  [OPENAI, { candidatesTokenCount: 8, thoughtsTokenCount: 4 }],
])('$name: tokens of the answer, of thoughts and from a cache are counted', async (wire, counts) => {
  const { response } = await send(wire, requestOf('Hi'), REPLY);
  expect(response.usageMetadata).toEqual(
    expect.objectContaining({ promptTokenCount: 20, cachedContentTokenCount: 5, totalTokenCount: 32, ...counts }),
  );
  expect(response.usageMetadata?.thoughtsTokenCount).toBe('thoughtsTokenCount' in counts ? 4 : undefined);
});

test.each([
  [COMPATIBLE, { ollama: { reasoningEffort: 'high' } }, { reasoning_effort: 'high' }],
  [
    ANTHROPIC,
    { anthropic: { thinking: { type: 'enabled', budgetTokens: 2048 } } },
    { thinking: { type: 'enabled', budget_tokens: 2048 } },
  ],
  [OPENAI, { openai: { reasoningEffort: 'high', store: true } }, { reasoning: { effort: 'high' }, store: true }],
])('$name: provider options of the agent reach the service', async (wire, providerOptions, expected) => {
  expect((await send(wire, requestOf('Hi', { providerOptions }))).body).toMatchObject(expected);
});

test("the beginnings of a prompt are marked for Anthropic's cache, and for no other service", async () => {
  const request = {
    ...requestOf('Hi', { systemInstruction: 'Be brief.' }),
    cacheConfig: { minTokens: 100, ttlSeconds: 3600 },
  };
  const large = { ...request, cacheableContentsTokenCount: 100 };
  const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } };
  expect((await send(ANTHROPIC, large)).body).toMatchObject({
    system: [{ text: 'Be brief.', ...mark }],
    messages: [{ role: 'user', content: [{ text: 'Hi', ...mark }] }],
  });
  expect(JSON.stringify((await send(ANTHROPIC, request)).body)).not.toContain('cache_control');
  for (const wire of [COMPATIBLE, OPENAI])
    expect(JSON.stringify((await send(wire, large)).body)).not.toContain('cache');
});

const URL_OF_SOURCE = 'https://example.com/moon';

test.each(WIRES.filter((wire) => wire !== COMPATIBLE))(
  'sources of a reply of $name, streamed or not, are grounding metadata',
  async (wire) => {
    const reply = { text: ['The moon.'], source: { url: URL_OF_SOURCE, title: 'Moon' } };
    const expected = { groundingChunks: [{ web: { uri: URL_OF_SOURCE, title: 'Moon' } }] };
    const { response } = await send(wire, requestOf('Hi'), reply);
    expect(response.groundingMetadata).toEqual(expected);
    const bytes = new TextEncoder().encode(wire.stream(reply));
    const { whole, error } = await play(wire, answering([bytes]));
    expect(error).toBeUndefined();
    expect(whole?.groundingMetadata).toEqual(expected);
    for (const each of [response, whole ?? {}]) {
      expect(contentText(each.content)).toBe('The moon.');
      // The service made the search itself: there is no call to run.
      expect(callsIn(each)).toEqual([]);
    }
  },
);

test("metadata of Anthropic's reply is in customMetadata", async () => {
  const { response } = await send(ANTHROPIC);
  expect(response.customMetadata).toMatchObject({
    aiSdk: { providerMetadata: { anthropic: { usage: { cache_read_input_tokens: 5 } } } },
  });
});
