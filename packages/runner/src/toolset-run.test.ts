import { BaseTool, BaseToolset } from '@eventloom/core';
import { expect, test } from 'vitest';
import { setUp } from './fixtures/llm-run.ts';

class Echo extends BaseTool {
  constructor(name: string) {
    super({ name, description: '' });
  }

  override _getDeclaration() {
    return { name: this.name };
  }

  override async runAsync(): Promise<unknown> {
    return this.name;
  }
}

class PerUser extends BaseToolset {
  isClosed = false;

  override async getTools(context?: { readonly userId: string }): Promise<BaseTool[]> {
    return [new Echo(`for_${context?.userId}`), new Echo('shared')];
  }

  override async close(): Promise<void> {
    this.isClosed = true;
  }
}

test('a toolset gives the tools of an invocation, and they run', async () => {
  const { model, run } = await setUp([{ calls: [{ id: 'c', name: 'for_u', args: {} }] }, 'ok'], {
    tools: [new Echo('first'), new PerUser(), new Echo('last')],
  });
  const events = await run();
  expect(Object.keys(model.requests[0]?.request.toolsDict ?? {})).toEqual(['first', 'for_u', 'shared', 'last']);
  expect(events[1]?.content?.parts?.[0]?.functionResponse?.response).toEqual({ result: 'for_u' });
});

test('a tool of a toolset with a name that is taken fails the run', async () => {
  const { run } = await setUp([], { tools: [new Echo('shared'), new PerUser()] });
  await expect(run()).rejects.toThrow('agent "bot": two tools have the name "shared"');
});

test('a tool may change the request in another way than adding itself', async () => {
  class Grounding extends Echo {
    override processLlmRequest({ llmRequest }: Parameters<BaseTool['processLlmRequest']>[0]): void {
      llmRequest.config.tools = [...(llmRequest.config.tools ?? []), { googleSearch: {} }];
    }
  }
  const { model, run } = await setUp(['ok'], { tools: [new Echo('f'), new Grounding('search')] });
  await run();
  expect(model.requests[0]?.request.config.tools).toEqual([
    { functionDeclarations: [{ name: 'f' }] },
    { googleSearch: {} },
  ]);
});

test('closing the runner closes the toolsets of its agent', async () => {
  const toolset = new PerUser();
  const { runner } = await setUp([], { tools: [toolset] });
  await runner.close();
  expect(toolset.isClosed).toBe(true);
});
