import { BaseTool, createEventActions, createLlmRequest } from '@eventloom/core';
import { ScriptedModel, testContext } from '@eventloom/testing';
import { expect, test, vi } from 'vitest';
import { createTurn } from './agent-turn.ts';
import { LlmAgent } from './llm-agent.ts';
import type { ToolUnion } from './llm-agent-config.ts';
import { addTools } from './tools.ts';

/** The names of the tools that a model is offered. */
async function offered(...tools: ToolUnion[]): Promise<string[]> {
  const model = new ScriptedModel([]);
  const agent = new LlmAgent({ name: 'bot', model, tools });
  const turn = createTurn(agent, testContext({ agent }));
  const request = createLlmRequest();
  await addTools(request, turn, createEventActions());
  return Object.keys(request.toolsDict);
}

test('tools and toolsets of another loaded copy of core are offered to the model', async () => {
  vi.resetModules();
  const core = await import('@eventloom/core');
  class ForeignTool extends core.BaseTool {
    async runAsync(): Promise<unknown> {
      return '';
    }
  }
  class ForeignTools extends core.BaseToolset {
    async getTools(): Promise<BaseTool[]> {
      return [new ForeignTool({ name: 'inner', description: '' })];
    }

    async close(): Promise<void> {}
  }
  const foreign = new ForeignTool({ name: 'outer', description: '' });
  expect(foreign).not.toBeInstanceOf(BaseTool);
  expect(await offered(foreign)).toEqual(['outer']);
  expect(await offered(foreign, new ForeignTools())).toEqual(['outer', 'inner']);
});
