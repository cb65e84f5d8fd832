import type { Event } from '@eventloom/core';
import { AgentTool, type AgentToolConfig } from '@eventloom/multi-agent';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { CustomAgent } from './fixtures/custom-agent.ts';
import { agentOf, answers, caller, modelOf, setUp } from './fixtures/agent-tool-run.ts';

describe('requireConfirmation', () => {
  const asking = (events: readonly Event[]) =>
    events
      .flatMap((event) => event.content?.parts ?? [])
      .find(({ functionCall }) => functionCall?.name === 'adk_request_confirmation')?.functionCall?.id ?? '';
  const reply = (id: string, confirmed: boolean) => ({
    userId: 'u',
    sessionId: 's',
    newMessage: { parts: [{ functionResponse: { id, name: 'adk_request_confirmation', response: { confirmed } } }] },
  });

  test('has a person asked before the agent is run', async () => {
    const helper = agentOf('helper', ['It is done.']);
    const { run, runner } = await setUp(caller(helper, { requireConfirmation: true }));
    const id = asking(await run());
    expect(modelOf(helper).calls).toBe(0);
    expect(answers(await runner.run(reply(id, true)))).toEqual([{ result: 'It is done.' }]);
  });

  test('keeps an agent from being run that the person rejects', async () => {
    const { run, runner } = await setUp(caller(agentOf('helper', []), { requireConfirmation: () => true }));
    const id = asking(await run());
    expect(answers(await runner.run(reply(id, false)))).toEqual([{ error: 'This tool call is rejected.' }]);
  });

  test('asks nobody when it says so of the arguments', async () => {
    const requireConfirmation = (args: unknown): boolean => JSON.stringify(args) !== '{"request":"do it"}';
    const { run } = await setUp(caller(agentOf('helper', ['ok']), { requireConfirmation }));
    expect(answers(await run())).toEqual([{ result: 'ok' }]);
  });
});

describe('its arguments', () => {
  test('are those of the agent’s input schema, passed on as JSON', async () => {
    const helper = agentOf('helper', ['ok'], {
      inputSchema: z.object({ city: z.string(), days: z.number().default(3) }),
    });
    const lead = caller(helper, {}, { city: 'Rome' });
    const { run } = await setUp(lead);
    await run();
    expect(modelOf(helper).requests[0]?.request.contents[0]?.parts).toEqual([{ text: '{"city":"Rome","days":3}' }]);
    const tools = modelOf(lead).requests[0]?.request.config.tools;
    expect(tools).toMatchObject([
      {
        functionDeclarations: [{ name: 'helper', parametersJsonSchema: { properties: { city: { type: 'string' } } } }],
      },
    ]);
  });

  test.each([
    ['of the schema', { inputSchema: z.object({ city: z.string() }) }, { town: 'Rome' }],
    ['one text', {}, { request: 5 }],
  ])('that are not %s are told to the model, and the agent is not called', async (_, config, args) => {
    const helper = agentOf('helper', [], config);
    const { run } = await setUp(caller(helper, {}, args));
    expect(answers(await run())).toEqual([{ error: expect.stringContaining('the arguments of helper are not valid') }]);
  });
});

describe('a tool made of', () => {
  test.each([
    ['no agent', { agent: {} }, 'agent must be an agent'],
    ['an agent whose name models refuse', { agent: agentOf('$name', []) }, 'tool name "$name"'],
    [
      'a confirmation that is no rule',
      { agent: agentOf('helper', []), requireConfirmation: 'yes' },
      'tool "helper": requireConfirmation must be true, false or a function',
    ],
    ['an unknown option', { agent: agentOf('helper', []), stream: true }, 'tool "helper": has no option "stream"'],
    [
      'a schema that is none',
      { agent: agentOf('helper', [], { inputSchema: 5 as never }) },
      'tool "helper": the schema must be',
    ],
  ])('%s is a configuration error', (_, config, fault) => {
    expect(() => new AgentTool(config as AgentToolConfig)).toThrow(fault);
  });

  test('an agent closes it with the agents that have it', async () => {
    let isClosed = false;
    class Closing extends CustomAgent {
      override async close(): Promise<void> {
        isClosed = true;
      }
    }
    await caller(new Closing('helper', async function* () {})).close();
    expect(isClosed).toBe(true);
  });
});
