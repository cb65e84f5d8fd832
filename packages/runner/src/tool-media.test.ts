import {
  type BaseSessionService,
  type BaseTool,
  fromStrictAdk,
  type FunctionResponsePart,
  getFunctionResponses,
  parseEvent,
  type Part,
  toolResult,
  toStrictAdk,
} from '@eventloom/core';
import { isToolResult } from '@eventloom/core/internal';
import { LlmAgent, type LlmAgentConfig } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FinalToolResult, FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { scenario } from './fixtures/scenario.ts';
import { dying } from './stored-runs/fixtures/dying-service.ts';
import { Runner } from './runner.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const HI = { userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } };
const PNG: FunctionResponsePart = { inlineData: { mimeType: 'image/png', data: 'aGk=' } };
const CALL = { calls: [{ id: 'c1', name: 'shoot', args: {} }] } satisfies ScriptedStep;

/** A scripted model that takes images inside function responses, and no other media. */
class SeeingModel extends ScriptedModel {
  constructor(steps: readonly ScriptedStep[]) {
    super(steps, { capabilities: { responseMedia: { inlineData: ['image/*'], fileData: [] } } });
  }
}

const shoot = (execute: () => unknown = () => toolResult({ response: { page: 3 }, parts: [PNG] })): BaseTool =>
  new FunctionTool({ name: 'shoot', description: '', execute });

function setUp(model: ScriptedModel, config: Partial<LlmAgentConfig> = {}) {
  return scenario({ model, agent: { tools: [shoot()], ...config } });
}

const contentsOf = (model: ScriptedModel, request = 1) => model.requests[request]?.request.contents.slice(1);
const responsePart = (parts: FunctionResponsePart[] = [PNG]): Part => ({
  functionResponse: { id: 'c1', name: 'shoot', response: { page: 3 }, ...(parts.length > 0 ? { parts } : {}) },
});
const CALLED = { role: 'model', parts: [{ functionCall: CALL.calls[0] }] };

describe('media in a tool result', () => {
  test('is stored in the function response, and sent there to a model that accepts it', async () => {
    const model = new SeeingModel([CALL, 'I see.']);
    const { runner, stored } = await setUp(model);
    const events = await runner.run(HI);
    expect(events[1]?.content).toEqual({ role: 'user', parts: [responsePart()] });
    expect((await stored())[2]?.content).toEqual(events[1]?.content);
    expect(contentsOf(model)).toEqual([CALLED, { role: 'user', parts: [responsePart()] }]);
  });

  test('follows the response in the same content for a model that does not', async () => {
    const model = new ScriptedModel([CALL, 'I see.', 'Again.']);
    const { runner, stored } = await setUp(model);
    await runner.run(HI);
    expect(contentsOf(model)).toEqual([CALLED, { role: 'user', parts: [responsePart([]), PNG] }]);
    expect((await stored())[2]?.content?.parts).toEqual([responsePart()]);
    await runner.run(HI);
    expect(contentsOf(model, 2)?.slice(0, 2)).toEqual(contentsOf(model));
  });

  test('is placed part by part, after all responses of the content', async () => {
    const pdf: FunctionResponsePart = { fileData: { fileUri: 'gs://a.pdf', mimeType: 'application/pdf' } };
    const model = new SeeingModel([{ calls: [...CALL.calls, { id: 'c2', name: 'look', args: {} }] }, 'I see.']);
    const look = new FunctionTool({ name: 'look', description: '', execute: () => 1 });
    const tools = [shoot(() => toolResult({ response: { page: 3 }, parts: [pdf, PNG] })), look];
    const { runner } = await setUp(model, { tools });
    await runner.run(HI);
    const looked = { functionResponse: { id: 'c2', name: 'look', response: { result: 1 } } };
    expect(contentsOf(model)?.[1]?.parts).toEqual([responsePart([PNG]), looked, pdf]);
  });

  test('follows the text of the result for another agent', async () => {
    const other = new ScriptedModel(['ok']);
    const transfer = { calls: [{ id: 'c2', name: 'transfer_to_agent', args: { agent_name: 'other' } }] };
    const { runner } = await setUp(new SeeingModel([CALL, transfer]), {
      subAgents: [new LlmAgent({ name: 'other', model: other })],
    });
    await runner.run(HI);
    const parts = other.requests[0]?.request.contents.flatMap(({ parts = [] }) => parts);
    expect(parts).toContainEqual({ text: '[bot] tool `shoot` returned result: {"page":3}' });
    expect(parts).toContainEqual(PNG);
  });

  test('comes from a streaming tool as its return value or last chunk', async () => {
    for (const isYielded of [true, false]) {
      const result = toolResult({ response: { page: 3 }, parts: [PNG] });
      const model = new SeeingModel([CALL, 'I see.']);
      async function* execute() {
        yield 'working';
        if (isYielded) yield new FinalToolResult(result);
        else return result;
      }
      const { runner } = await setUp(model, { tools: [shoot(execute)] });
      await runner.run(HI);
      expect(contentsOf(model)?.[1]).toEqual({ role: 'user', parts: [responsePart()] });
    }
  });

  test('comes with the later response of a long-running call', async () => {
    const tool = new LongRunningFunctionTool({ name: 'shoot', description: '', execute: () => undefined });
    const model = new ScriptedModel([CALL, 'I see.']);
    const { runner } = await setUp(model, { tools: [tool] });
    await runner.run(HI);
    await runner.run({ ...HI, newMessage: { parts: [responsePart()] } });
    expect(contentsOf(model)?.[1]).toEqual({ role: 'user', parts: [responsePart([]), PNG] });
  });

  test('survives strict ADK form, JSON in both spellings, and export and import', async () => {
    const { runner, stored, sessionService, platform } = await setUp(new SeeingModel([CALL, 'I see.']));
    await runner.run(HI);
    const event = (await stored())[2];
    if (!event) throw new Error('no event');
    const strict = toStrictAdk(event);
    expect(strict.content?.parts).toEqual([responsePart()]);
    expect(fromStrictAdk(strict).content).toEqual(event.content);
    const snake = JSON.parse(
      JSON.stringify(strict).replaceAll('inlineData', 'inline_data').replaceAll('mimeType', 'mime_type'),
    );
    expect(parseEvent(snake).content).toEqual(event.content);
    const other = new InMemorySessionService({ platform });
    await other.importSession({ ...KEY, records: sessionService.exportSession(KEY) });
    expect((await other.getSession(KEY))?.events[2]?.content).toEqual(event.content);
  });

  test('of a completed call is kept if the process ends before the response is stored', async () => {
    let kills = 0;
    for (let at = 1; at < 10; at++) {
      const { sessionService, stored, platform } = await setUp(new SeeingModel([]));
      let ran = 0;
      const tool = shoot(() => {
        ran++;
        return toolResult({ response: { page: 3 }, parts: [PNG] });
      });
      const runnerOf = (model: ScriptedModel, service: BaseSessionService) => {
        const agent = new LlmAgent({ name: 'bot', model, tools: [tool] });
        return new Runner({ appName: 'app', agent, sessionService: service, platform, resumable: true });
      };
      await runnerOf(new SeeingModel([CALL, 'I see.']), dying(sessionService, at, true).service)
        .run(HI)
        .catch((error: unknown) => error);
      const [{ invocationId } = { invocationId: '' }] = await stored();
      const [call] = await sessionService.listToolCalls({ ...KEY, invocationId });
      const hasResponse = (await stored()).some((event) => getFunctionResponses(event).length > 0);
      if (call?.status !== 'finished' || hasResponse) continue;
      kills++;
      const model = new SeeingModel(['I see.']);
      await runnerOf(model, sessionService).run({ userId: 'u', sessionId: 's', invocationId });
      expect(contentsOf(model, 0)?.[1]).toEqual({ role: 'user', parts: [responsePart()] });
      expect(ran).toBe(1);
    }
    expect(kills).toBe(1);
  });
});

describe('callbacks around a tool result with media', () => {
  test('afterToolCallback keeps the media of a response that it changes in place', async () => {
    const seen: unknown[] = [];
    const model = new SeeingModel([CALL, 'I see.']);
    const { runner } = await setUp(model, {
      afterToolCallback: ({ response }) => {
        seen.push(structuredClone(response));
        response['page'] = 4;
      },
    });
    const events = await runner.run(HI);
    expect(seen).toEqual([{ page: 3 }]);
    expect(events[1]?.content?.parts?.[0]?.functionResponse).toMatchObject({ response: { page: 4 }, parts: [PNG] });
  });

  test('a replaced response has no media, unless it is a tool result', async () => {
    const jpeg: FunctionResponsePart = { inlineData: { mimeType: 'image/jpeg', data: 'aGk=' } };
    for (const [replacement, parts] of [
      [{ withheld: true }, undefined],
      [toolResult({ response: { withheld: true }, parts: [jpeg] }), [jpeg]],
    ] as const) {
      const { runner } = await setUp(new SeeingModel([CALL, 'ok']), { afterToolCallback: () => replacement });
      const response = (await runner.run(HI))[1]?.content?.parts?.[0]?.functionResponse;
      expect(response).toEqual({ id: 'c1', name: 'shoot', response: { withheld: true }, ...(parts && { parts }) });
    }
  });

  test('beforeToolCallback can return media', async () => {
    const { runner } = await setUp(new SeeingModel([CALL, 'ok']), {
      beforeToolCallback: () => toolResult({ response: { page: 3 }, parts: [PNG] }),
    });
    expect((await runner.run(HI))[1]?.content?.parts).toEqual([responsePart()]);
  });
});

test('a tool result whose response is not JSON is an error without media', async () => {
  const { runner } = await setUp(new SeeingModel([CALL, 'ok']), {
    tools: [shoot(() => toolResult({ response: { page: 3n }, parts: [PNG] }))],
  });
  expect((await runner.run(HI))[1]?.content?.parts?.[0]?.functionResponse).toEqual({
    id: 'c1',
    name: 'shoot',
    response: { error: 'tool shoot returned a value that is not JSON: the result at page is a bigint' },
  });
});

test('an object that resembles a tool result is plain JSON', async () => {
  const { runner } = await setUp(new SeeingModel([CALL, 'ok']), {
    tools: [shoot(() => ({ response: { page: 3 }, parts: [PNG] }))],
  });
  const [part] = (await runner.run(HI))[1]?.content?.parts ?? [];
  expect(part?.functionResponse?.response).toEqual({ response: { page: 3 }, parts: [PNG] });
  expect(isToolResult({ response: {}, parts: [] })).toBe(false);
});
