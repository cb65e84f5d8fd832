import { type BaseTool, ConfigurationError, type LlmRequest } from '@eventloom/core';
import { BuiltInPlanner, LlmAgent, type LlmAgentConfig } from '@eventloom/llm-agent';
import { ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { InMemorySessionService } from '@eventloom/sessions';
import { Runner } from './runner.ts';

const look = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => ({}) });

/** A tool that Google's service runs. */
class Search extends FunctionTool {
  constructor() {
    super({ name: 'search', description: '', execute: () => ({}) });
  }

  override processLlmRequest({ llmRequest }: { llmRequest: LlmRequest }): Promise<void> {
    llmRequest.config.tools = [...(llmRequest.config.tools ?? []), { googleSearch: {} }];
    return Promise.resolve();
  }
}

const search: BaseTool = new Search();
const planner = new BuiltInPlanner({ thinkingConfig: { thinkingBudget: 1024 } });

async function run(model: ScriptedModel, config: Partial<LlmAgentConfig>): Promise<void> {
  const agent = new LlmAgent({ name: 'bot', model, ...config });
  const runner = new Runner({
    appName: 'app',
    agent,
    sessionService: new InMemorySessionService(),
    autoCreateSession: true,
  });
  await runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'Hi' }] } });
}

test.each([
  ['tools', { tools: [look] }, 'the model "scripted" cannot call tools, and the agent has look'],
  ['tools', { tools: [look], instruction: 'Answer {topic?}.' }, 'cannot call tools, and the agent has look'],
  ['builtInTools', { tools: [search] }, "Google's service runs the tool googleSearch"],
  ['thinking', { planner }, 'its planner sets thinkingConfig'],
] as const)(
  'a model without %s refuses an agent that needs it before the request',
  async (capability, config, message) => {
    const model = new ScriptedModel([], { capabilities: { [capability]: false } });
    const running = run(model, config as Partial<LlmAgentConfig>);
    await expect(running).rejects.toThrow(ConfigurationError);
    await expect(running).rejects.toThrow(message);
    expect(model.calls).toBe(0);
    await run(new ScriptedModel(['Hello']), config as Partial<LlmAgentConfig>);
  },
);
