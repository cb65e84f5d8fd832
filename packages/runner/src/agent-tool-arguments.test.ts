import type { Event } from '@eventloom/core';
import { AgentTool, type AgentToolConfig } from '@eventloom/multi-agent';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { CustomAgent } from './fixtures/custom-agent.ts';
import { caller, modelOf } from './fixtures/agent-tool-run.ts';
import { responsesOf, scenario, scripted } from './fixtures/scenario.ts';

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

  test('requests a confirmation before the agent runs', async () => {
    const helper = scripted('helper', ['It is done.']);
    const { run, runner } = await scenario({ agent: caller(helper, { requireConfirmation: true }) });
    const id = asking(await run());
    expect(modelOf(helper).calls).toBe(0);
    expect(responsesOf(await runner.run(reply(id, true)))).toEqual([{ result: 'It is done.' }]);
  });

  test('does not run the agent if the person rejects', async () => {
    const { run, runner } = await scenario({
      agent: caller(scripted('helper', []), { requireConfirmation: () => true }),
    });
    const id = asking(await run());
    expect(responsesOf(await runner.run(reply(id, false)))).toEqual([{ error: 'This tool call is rejected.' }]);
  });

  test('may be a function of the arguments', async () => {
    const requireConfirmation = (args: unknown): boolean => JSON.stringify(args) !== '{"request":"do it"}';
    const { run } = await scenario({ agent: caller(scripted('helper', ['ok']), { requireConfirmation }) });
    expect(responsesOf(await run())).toEqual([{ result: 'ok' }]);
  });
});

describe('the arguments', () => {
  test("follow the agent's input schema and are passed on as JSON", async () => {
    const helper = scripted('helper', ['ok'], {
      inputSchema: z.object({ city: z.string(), days: z.number().default(3) }),
    });
    const lead = caller(helper, {}, { city: 'Rome' });
    const { run } = await scenario({ agent: lead });
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
  ])('that are not %s are answered with an error, and the agent is not called', async (_, config, args) => {
    const helper = scripted('helper', [], config);
    const { run } = await scenario({ agent: caller(helper, {}, args) });
    expect(responsesOf(await run())).toEqual([
      { error: expect.stringContaining('the arguments of helper are not valid') },
    ]);
  });
});

describe('a tool made of', () => {
  test.each([
    ['no agent', { agent: {} }, 'agent: expected an agent'],
    [
      'an agent whose name models refuse',
      { agent: scripted('$name', []) },
      'beginning with a letter or _, got "$name"',
    ],
    [
      'a confirmation that is not a rule',
      { agent: scripted('helper', []), requireConfirmation: 'yes' },
      'tool "helper": requireConfirmation: expected true, false or a function',
    ],
    ['an unknown option', { agent: scripted('helper', []), stream: true }, 'tool "helper": has no option "stream"'],
  ])('%s is a configuration error', (_, config, fault) => {
    expect(() => new AgentTool(config as AgentToolConfig)).toThrow(fault);
  });

  test('closing an agent closes the agents of its AgentTools', async () => {
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
