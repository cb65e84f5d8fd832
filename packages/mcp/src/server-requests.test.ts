import { acceptedContent, inputRequired, type McpServer } from '@modelcontextprotocol/server';
import { type Event, getFunctionCalls } from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { calling, play, responsesOf, toolsetOf } from './fixtures/play.ts';
import { serveModern, serveSessions } from './fixtures/served.ts';

const ERAS = [
  ['of before 2026-07-28', serveSessions],
  ['of 2026-07-28', serveModern],
] as const;

const FORM = {
  type: 'object' as const,
  properties: {
    size: { type: 'string' as const, title: 'Size', enum: ['S', 'L'], default: 'L' },
    name: { type: 'string' as const, title: 'Name' },
  },
  required: ['size', 'name'],
};

/** A tool that asks for a name and a size, and returns the answers. */
function asking(server: McpServer): void {
  server.registerTool('order', { inputSchema: z.object({}) }, (_, { mcpReq }) => {
    const given = acceptedContent(mcpReq.inputResponses, 'who');
    if (given) return { content: [{ type: 'text', text: JSON.stringify([given, mcpReq.requestState() ?? null]) }] };
    const declined = mcpReq.inputResponses?.['who'];
    if (declined) return { content: [{ type: 'text', text: 'nothing was ordered' }] };
    return inputRequired({
      inputRequests: { who: inputRequired.elicit({ message: 'For whom?', requestedSchema: FORM }) },
      requestState: 'state-1',
    });
  });
}

const ORDER = calling({ id: 'o', name: 'order', args: {} });

function questionsOf(events: readonly Event[]) {
  return events.flatMap(getFunctionCalls).filter(({ name }) => name === 'adk_request_input');
}

function answerTo(events: readonly Event[], ...results: readonly unknown[]) {
  return questionsOf(events).map(({ id = '' }, index) => ({
    functionResponse: { id, name: 'adk_request_input', response: { result: results[index] } },
  }));
}

describe.each(ERAS)('a question of a server %s', (era, serve) => {
  test('becomes a request for input, whose answer the server gets from another process', async () => {
    const served = serve({ build: asking });
    const sessionService = new InMemorySessionService();
    const first = await play(toolsetOf(served, { name: 'shop' }), [ORDER], { sessionService });
    const asked = await first.say('go');
    await first.runner.close();
    expect(questionsOf(asked)[0]?.args).toMatchObject({
      functionCallId: 'o',
      message: 'For whom?',
      payload: { server: 'shop', mode: 'form' },
      response_schema: {
        properties: { content: { properties: { size: { enum: ['S', 'L'], default: 'L' } }, required: ['name'] } },
      },
    });

    const second = await play(toolsetOf(served, { name: 'shop' }), ['done'], { sessionService });
    const [answer = {}] = answerTo(asked, { action: 'accept', content: { name: 'Ann' } });
    const rest = await second.say(answer);
    await second.runner.close();
    const state = era === 'of 2026-07-28' ? 'state-1' : expect.anything();
    const [response] = responsesOf(rest);
    expect(JSON.parse(String(response?.['result']))).toEqual([{ name: 'Ann', size: 'L' }, state]);
  });

  test('that the person declines is declined at the server', async () => {
    const { say, runner } = await play(toolsetOf(serve({ build: asking })), [ORDER, 'done']);
    const [answer = {}] = answerTo(await say('go'), { action: 'decline' });
    expect(responsesOf(await say(answer))).toEqual([{ result: 'nothing was ordered' }]);
    await runner.close();
  });

  test('is not asked if the toolset does not allow it', async () => {
    const toolset = toolsetOf(serve({ build: asking }), { allowElicitation: false });
    const { say, runner } = await play(toolset, [ORDER, 'done']);
    const events = await say('go');
    expect(questionsOf(events)).toEqual([]);
    expect(responsesOf(events)).toEqual([{ error: expect.any(String) }]);
    await runner.close();
  });

  test('that cannot be asked is an error of the call', async () => {
    const build = (server: McpServer) =>
      void server.registerTool('order', { inputSchema: z.object({}) }, (_, { mcpReq }) =>
        mcpReq.inputResponses?.['open']
          ? { content: [] }
          : inputRequired({
              inputRequests: {
                open: inputRequired.elicitUrl({ message: 'Look', url: 'javascript:alert(1)' }),
              },
            }),
      );
    const { say, runner } = await play(toolsetOf(serve({ build })), [ORDER, 'done']);
    const events = await say('go');
    expect(questionsOf(events)).toEqual([]);
    expect(JSON.stringify(responsesOf(events))).toContain('not HTTP');
    await runner.close();
  });

  test('to open an address shows the address, and the answer is the consent', async () => {
    const build = (server: McpServer) =>
      void server.registerTool('order', { inputSchema: z.object({}) }, (_, { mcpReq }) => {
        const given = mcpReq.inputResponses?.['open'];
        if (given) return { content: [{ type: 'text', text: JSON.stringify(given) }] };
        const url = 'https://bank.example/pay';
        return inputRequired({ inputRequests: { open: inputRequired.elicitUrl({ message: 'Pay', url }) } });
      });
    const { say, runner } = await play(toolsetOf(serve({ build })), [ORDER, 'done']);
    const asked = await say('go');
    expect(questionsOf(asked)[0]?.args).toMatchObject({ payload: { mode: 'url', url: 'https://bank.example/pay' } });
    const [answer = {}] = answerTo(asked, { action: 'accept' });
    expect(JSON.stringify(responsesOf(await say(answer)))).toContain('accept');
    await runner.close();
  });
});

test('questions of a server before 2026-07-28 in two concurrent calls are not asked, and the model gets an error', async () => {
  const { say, runner } = await play(toolsetOf(serveSessions({ build: asking })), [
    calling({ id: 'a', name: 'order', args: {} }, { id: 'b', name: 'order', args: {} }),
    'done',
  ]);
  const events = await say('go');
  expect(questionsOf(events)).toEqual([]);
  for (const response of responsesOf(events))
    expect(response).toMatchObject({ error: expect.stringContaining('Call its tools one after the other') });
  await runner.close();
});

test('a server of 2026-07-28 may ask in two concurrent calls', async () => {
  const { say, runner } = await play(toolsetOf(serveModern({ build: asking })), [
    calling({ id: 'a', name: 'order', args: {} }, { id: 'b', name: 'order', args: {} }),
    'done',
  ]);
  const asked = await say('go');
  expect(questionsOf(asked)).toHaveLength(2);
  await runner.close();
});

/** A tool that asks the model, and returns its reply. */
function sampling(server: McpServer): void {
  server.registerTool('think', { inputSchema: z.object({}) }, (_, { mcpReq }) => {
    const given = mcpReq.inputResponses?.['thought'];
    if (given) return { content: [{ type: 'text', text: JSON.stringify(given) }] };
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'What is it?' } }];
    const params = { messages, maxTokens: 50, systemPrompt: 'Be short.' };
    return inputRequired({ inputRequests: { thought: inputRequired.createMessage(params) } });
  });
}

const THINK = calling({ id: 't', name: 'think', args: {} });

describe.each(ERAS)('a request for the model by a server %s', (_, serve) => {
  test('is answered by the model of the agent, which gets only what the server sent', async () => {
    const toolset = toolsetOf(serve({ build: sampling }), { allowSampling: true });
    const { say, model, runner } = await play(toolset, [THINK, 'A cat.', 'done']);
    const [response] = responsesOf(await say('go'));
    expect(String(response?.['result'])).toContain('A cat.');
    expect(model.requests[1]?.request).toMatchObject({
      contents: [{ role: 'user', parts: [{ text: 'What is it?' }] }],
      config: { maxOutputTokens: 50, systemInstruction: 'Be short.' },
    });
    await runner.close();
  });

  test('is refused if the toolset does not allow it', async () => {
    const { say, model, runner } = await play(toolsetOf(serve({ build: sampling })), [THINK, 'done']);
    expect(responsesOf(await say('go'))).toEqual([{ error: expect.any(String) }]);
    expect(model.requests).toHaveLength(2);
    await runner.close();
  });
});
