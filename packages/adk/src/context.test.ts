import { BaseTool, type CallbackContext as Context, ConfigurationError, type LlmRequest } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { AdkInMemoryRunner } from './in-memory-runner.ts';

test('one context type serves callbacks of agents, tools, and callbacks of tools', async () => {
  const ids: (string | undefined)[] = [];
  const noteId = (context: Context): undefined => void ids.push(context.functionCallId);
  const clock = new FunctionTool({
    name: 'clock',
    description: 'Tells the time.',
    execute: (_args, context: Context) => noteId(context),
  });
  const agent = new LlmAgent({
    name: 'helper',
    model: new ScriptedModel([{ calls: [{ id: 'c1', name: 'clock', args: {} }] }, { text: 'Noon.' }]),
    tools: [clock],
    beforeAgentCallback: noteId,
    beforeToolCallback: ({ context }: { context: Context }) => noteId(context),
  });
  await new AdkInMemoryRunner({ agent, autoCreateSession: true }).run({
    userId: 'u',
    sessionId: 's',
    newMessage: { role: 'user', parts: [{ text: 'What time is it?' }] },
  });
  expect(ids).toEqual([undefined, 'c1', 'c1']);
});

test('a tool of the program gives the context of a model request to processLlmRequest of BaseTool', async () => {
  class Clock extends BaseTool {
    override _getDeclaration() {
      return { name: this.name, description: this.description };
    }

    override runAsync(): string {
      return 'noon';
    }

    override async processLlmRequest(request: { toolContext: Context; llmRequest: LlmRequest }): Promise<void> {
      const { toolContext, llmRequest } = request;
      await super.processLlmRequest({ toolContext, llmRequest });
      llmRequest.contents.push({ role: 'user', parts: [{ text: `I am ${toolContext.userId}.` }] });
    }
  }
  const model = new ScriptedModel([{ text: 'Noon.' }]);
  const agent = new LlmAgent({
    name: 'helper',
    model,
    tools: [new Clock({ name: 'clock', description: 'Tells it.' })],
  });
  const newMessage = { role: 'user', parts: [{ text: 'What time is it?' }] };
  const runner = new AdkInMemoryRunner({ agent, autoCreateSession: true });
  await runner.run({ userId: 'ann', sessionId: 's', newMessage });
  const request = model.requests[0]?.request;
  expect(Object.keys(request?.toolsDict ?? {})).toEqual(['clock']);
  expect(request?.contents.at(-1)?.parts).toEqual([{ text: 'I am ann.' }]);
});

test('a context outside a tool call refuses to ask a person', async () => {
  const asking: unknown[] = [];
  const ask = (context: Context): undefined => {
    try {
      context.requestConfirmation({ hint: 'Sure?' });
    } catch (error) {
      asking.push(error);
    }
    return undefined;
  };
  const agent = new LlmAgent({ name: 'helper', model: new ScriptedModel([{ text: 'Hi.' }]), beforeAgentCallback: ask });
  await new AdkInMemoryRunner({ agent, autoCreateSession: true }).run({
    userId: 'u',
    sessionId: 's',
    newMessage: { role: 'user', parts: [{ text: 'Hello' }] },
  });
  expect(asking).toEqual([expect.any(ConfigurationError)]);
});
