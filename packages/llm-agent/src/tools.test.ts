import {
  AbortGuard,
  BaseTool,
  createEventActions,
  createLlmRequest,
  InvocationContext,
  PluginManager,
} from '@eventloom/core';
import { fixedPlatform, ScriptedModel } from '@eventloom/testing';
import { expect, test, vi } from 'vitest';
import { LlmAgent } from './llm-agent.ts';
import type { ToolUnion } from './llm-agent-config.ts';
import { addTools } from './tools.ts';

/** The names of the tools that a model is offered. */
async function offered(...tools: ToolUnion[]): Promise<string[]> {
  const model = new ScriptedModel([]);
  const agent = new LlmAgent({ name: 'bot', model, tools });
  const context = InvocationContext.create({
    invocationId: 'e-1',
    rootAgent: agent,
    session: {
      id: 's',
      appName: 'app',
      userId: 'u',
      state: {},
      events: [],
      lastUpdateTime: 0,
      lastSeq: 0,
      incarnation: 'i',
    },
    runConfig: {},
    userContent: undefined,
    abort: new AbortGuard(),
    platform: fixedPlatform(),
    plugins: new PluginManager(),
    artifactService: undefined,
    memoryService: undefined,
    models: undefined,
    derived: new Map(),
    recordToolCall: async () => undefined,
    runAgent: (started) => started.agent.runIn(started),
  }).forAgent(agent);
  const request = createLlmRequest();
  await addTools(request, { agent, model, context }, createEventActions());
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
