// Starts servers.
import {
  type BaseLlm,
  type Event,
  getFunctionCalls,
  isFinalResponse,
  stringifyContent,
  toolResult,
} from '@eventloom/core';
import { Gemini } from '@eventloom/gemini';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { FakeGeminiServer, sseReply, type WireResponse, wireResponse } from '@eventloom/testing/fake-gemini';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { FakeService } from './fixtures/fake-service.ts';
import { ANTHROPIC, COMPATIBLE, ENCRYPTED, OPENAI, SIGNATURE, type Wire, type WireReply } from './fixtures/wires.ts';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUg==';
const CONFIG = { thinkingConfig: { thinkingLevel: 'LOW', includeThoughts: true } };

const look = new FunctionTool({
  name: 'look',
  description: 'Looks at a thing.',
  parameters: z.object({ at: z.string() }),
  execute: ({ at }) => ({ seen: `the ${at}` }),
});
const photograph = new FunctionTool({
  name: 'photograph',
  description: 'Takes a picture.',
  parameters: z.object({}),
  execute: () =>
    toolResult({ response: { taken: true }, parts: [{ inlineData: { mimeType: 'image/png', data: PIXEL } }] }),
});

/** A session with a runner whose agent has the model that was set last. */
class Desk implements AsyncDisposable {
  readonly #gemini: FakeGeminiServer;
  readonly #service: FakeService;
  readonly #sessions = new InMemorySessionService();
  readonly #runner: Runner;
  #model: BaseLlm;
  readonly gemini: BaseLlm;

  private constructor(gemini: FakeGeminiServer, service: FakeService) {
    this.#gemini = gemini;
    this.#service = service;
    this.gemini = new Gemini({ model: 'gemini-3-flash', apiKey: 'a-test-key', baseUrl: gemini.url });
    this.#model = this.gemini;
    const agent = new LlmAgent({
      name: 'clerk',
      model: 'today',
      instruction: 'Help.',
      tools: [look, photograph],
      generateContentConfig: CONFIG,
    });
    const models = () => this.#model;
    this.#runner = new Runner({ appName: 'desk', agent, models, sessionService: this.#sessions });
  }

  static async open(): Promise<Desk> {
    const desk = new Desk(await FakeGeminiServer.start(), await FakeService.start());
    await desk.#sessions.createSession({ appName: 'desk', userId: 'ann', sessionId: 's' });
    return desk;
  }

  /** Sends a message to Gemini, which sends these replies. Returns the bodies of the requests and the text of the last answer. */
  async askGemini(text: string, ...replies: readonly WireResponse[]) {
    this.#model = this.gemini;
    this.#gemini.enqueue(...replies.map((reply) => sseReply([wireResponse(reply)])));
    const from = this.#gemini.requests.length;
    const events = await this.#ask(text);
    return { ...events, bodies: this.#gemini.requests.slice(from).map(({ body }) => body.contents) };
  }

  /** Sends a message to the model of a wire, which sends these replies. */
  async ask(wire: Wire, text: string, ...replies: readonly WireReply[]) {
    this.#model = wire.model({ url: this.#service.url });
    this.#service.enqueue(...replies.map((reply) => ({ body: wire.stream(reply) })));
    const from = this.#service.requests.length;
    const events = await this.#ask(text);
    return { ...events, bodies: this.#service.requests.slice(from).map(({ body }) => body) };
  }

  async #ask(text: string) {
    const events: Event[] = [];
    const newMessage = { role: 'user', parts: [{ text }] };
    const target = { userId: 'ann', sessionId: 's', newMessage, runConfig: { streamingMode: 'sse' } } as const;
    for await (const event of this.#runner.runAsync(target)) events.push(event);
    expect(events.filter(({ errorCode }) => errorCode !== undefined)).toEqual([]);
    const whole = events.filter(({ partial }) => partial !== true);
    return {
      answer: whole.filter(isFinalResponse).map(stringifyContent),
      calls: whole.flatMap(getFunctionCalls).map(({ name }) => name),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#gemini.close();
    await this.#service[Symbol.asyncDispose]();
    this.#gemini.assertConsumed();
  }
}

const CALLS = (prefix: string) => [
  { id: `${prefix}_1`, name: 'look', args: { at: 'moon' } },
  { id: `${prefix}_2`, name: 'photograph', args: {} },
];

const listOf = (body: Record<string, unknown> | undefined, key: string) =>
  (body?.[key] ?? []) as Record<string, unknown>[];

/** Values of a key, wherever they are in a body, in order. */
function valuesOf(body: unknown, key: string): unknown[] {
  if (typeof body !== 'object' || body === null) return [];
  return Object.entries(body).flatMap(([name, value]) => [
    ...(name === key ? [value as unknown] : []),
    ...valuesOf(value, key),
  ]);
}

test('one session begins on Gemini, continues on Anthropic, OpenAI and a compatible server, and returns to Gemini', async () => {
  await using desk = await Desk.open();

  const first = await desk.askGemini(
    'one',
    {
      thought: 'gemini thinks',
      parts: [
        { functionCall: { name: 'look', args: { at: 'moon' } }, thoughtSignature: 'R2VtaW5p' },
        { functionCall: { name: 'photograph', args: {} } },
      ],
    },
    { text: 'gemini answers' },
  );
  expect([first.calls, first.answer]).toEqual([['look', 'photograph'], ['gemini answers']]);
  // Gemini 3 reads the picture inside the response.
  expect(valuesOf(first.bodies[1], 'functionResponse')).toMatchObject([
    { name: 'look', response: { seen: 'the moon' } },
    { name: 'photograph', parts: [{ inlineData: { data: PIXEL } }] },
  ]);

  const second = await desk.ask(
    ANTHROPIC,
    'two',
    { thought: 'claude thinks', calls: CALLS('toolu') },
    { thought: 'again', text: ['claude ', 'answers'] },
  );
  expect([second.calls, second.answer]).toEqual([['look', 'photograph'], ['claude answers']]);
  expect(second.bodies[0]?.['messages']).toMatchObject([
    { role: 'user', content: [{ text: 'one' }] },
    {
      role: 'assistant',
      content: [
        { type: 'tool_use', id: 'call00001', name: 'look' },
        { type: 'tool_use', id: 'call00002', name: 'photograph' },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'call00001' },
        { type: 'tool_result', tool_use_id: 'call00002' },
      ],
    },
    { role: 'assistant', content: [{ type: 'text', text: 'gemini answers' }] },
    { role: 'user', content: [{ text: 'two' }] },
  ]);
  expect(JSON.stringify(second.bodies[0])).not.toMatch(/gemini thinks|R2VtaW5p/);
  // The provider gets its own thought back with the signature, and its own calls with their ids.
  expect(listOf(second.bodies[1], 'messages').slice(-2)).toMatchObject([
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'claude thinks', signature: SIGNATURE },
        { type: 'tool_use', id: 'toolu_1' },
        { type: 'tool_use', id: 'toolu_2' },
      ],
    },
    {
      role: 'user',
      content: [
        { tool_use_id: 'toolu_1' },
        { tool_use_id: 'toolu_2', content: [{ type: 'text' }, { type: 'image', source: { data: PIXEL } }] },
      ],
    },
  ]);

  const third = await desk.ask(
    OPENAI,
    'three',
    { thought: 'gpt thinks', calls: CALLS('call_o') },
    { text: ['gpt answers'] },
  );
  expect([third.calls, third.answer]).toEqual([['look', 'photograph'], ['gpt answers']]);
  expect(valuesOf(third.bodies[0]?.['input'], 'call_id')).toEqual(
    ['call00001', 'call00002', 'call00003', 'call00004'].flatMap((id, index, all) =>
      index % 2 === 0 ? [id, all[index + 1], id, all[index + 1]] : [],
    ),
  );
  expect(JSON.stringify(third.bodies[0])).not.toMatch(/thinks|toolu_|R2VtaW5p|signed/);
  expect(JSON.stringify(third.bodies[0])).not.toContain(SIGNATURE);
  expect(listOf(third.bodies[1], 'input').slice(-5)).toMatchObject([
    { type: 'reasoning', encrypted_content: ENCRYPTED },
    { type: 'function_call', call_id: 'call_o_1' },
    { type: 'function_call', call_id: 'call_o_2' },
    { type: 'function_call_output', call_id: 'call_o_1' },
    { type: 'function_call_output', call_id: 'call_o_2', output: [{}, { type: 'input_image' }] },
  ]);

  const fourth = await desk.ask(COMPATIBLE, 'four', { calls: CALLS('local') }, { text: ['qwen answers'] });
  expect([fourth.calls, fourth.answer]).toEqual([['look', 'photograph'], ['qwen answers']]);
  // This wire has no pictures in results: each follows the results of its step, for the steps of the other vendors too.
  const roles = listOf(fourth.bodies[1], 'messages').map((message) =>
    JSON.stringify(message).includes(PIXEL) ? `${String(message['role'])} with picture` : message['role'],
  );
  const step = ['user', 'assistant', 'tool', 'tool', 'user with picture', 'assistant'];
  expect(roles).toEqual(['system', ...step, ...step, ...step, ...step.slice(0, -1)]);

  const fifth = await desk.askGemini('five', { text: 'gemini is back' });
  expect(fifth.answer).toEqual(['gemini is back']);
  const [contents] = fifth.bodies;
  expect(JSON.stringify(contents)).not.toMatch(/claude thinks|gpt thinks|madeBy/);
  expect(JSON.stringify(contents)).not.toContain(SIGNATURE);
  expect(valuesOf(contents, 'thoughtSignature')).toEqual([
    'R2VtaW5p',
    ...Array.from({ length: 6 }, () => 'skip_thought_signature_validator'),
  ]);
  expect(valuesOf(contents, 'functionResponse').map((response) => valuesOf(response, 'data'))).toEqual(
    Array.from({ length: 4 }, () => [[], [PIXEL]]).flat(),
  );
});
