import { BaseTool, type RunAsyncToolRequest, type ToolContext } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { END, node, START, StateGraph } from './index.ts';
import { answerOf, questionsIn, setUp } from './fixtures/interrupted-run.ts';

test('a tool that must be confirmed is run when it is, and answers that it was rejected when it is not', async () => {
  let paid = 0;
  const makeAgent = () => {
    const pay = new FunctionTool({
      name: 'pay',
      description: '',
      requireConfirmation: true,
      execute: () => ({ paid: ++paid }),
    });
    return new StateGraph({ name: 'g' })
      .addNode('amount', () => ({ amount: 3 }))
      .addNode('pay', pay)
      .addEdge(START, 'amount')
      .addEdge('amount', 'pay')
      .addEdge('pay', END)
      .compile();
  };
  for (const confirmed of [false, true]) {
    const { ask, answer } = await setUp(makeAgent);
    const [question] = questionsIn(await ask());
    expect(question).toMatchObject({
      name: 'adk_request_confirmation',
      args: { originalFunctionCall: { name: 'pay', args: { amount: 3 } } },
    });
    const events = await answer([question?.id, { confirmed }]);
    expect(answerOf(events)).toEqual(confirmed ? { paid: 1 } : { error: 'This tool call was rejected.' });
    expect(paid).toBe(confirmed ? 1 : 0);
  }
});

test('a tool asks for input, and an agent in a node confirms its tools', async () => {
  const makeAgent = () => {
    const size = new FunctionTool({
      name: 'size',
      description: '',
      execute: (_: object, context: ToolContext) =>
        context.getInput() ?? context.requestInput({ message: 'Which size?' }),
    });
    const act = new FunctionTool({ name: 'act', description: '', requireConfirmation: true, execute: () => 'acted' });
    const model = new ScriptedModel([{ calls: [{ name: 'act' }] }, 'did it']);
    const after = new ScriptedModel(['did it']);
    return {
      size,
      agent: (isAfter: boolean) => new LlmAgent({ name: 'actor', model: isAfter ? after : model, tools: [act] }),
    };
  };
  let processes = 0;
  const { ask, answer } = await setUp(() => {
    const { size, agent } = makeAgent();
    const none = node('none', () => ({}));
    return new StateGraph({ name: 'g' })
      .addNode(none)
      .addNode('size', size)
      .addNode('actor', agent(processes++ > 0))
      .addJoin('all')
      .addEdge(START, 'none')
      .addEdge('none', ['size', 'actor'])
      .addEdge('size', 'all')
      .addEdge('actor', 'all')
      .addEdge('all', END)
      .compile();
  });
  const questions = questionsIn(await ask());
  expect(new Set(questions.map(({ name }) => name))).toEqual(
    new Set(['adk_request_confirmation', 'adk_request_input']),
  );
  const events = await answer(
    ...questions.map(({ id, name }): [string | undefined, object] => [
      id,
      name === 'adk_request_input' ? { result: 'XL' } : { confirmed: true },
    ]),
  );
  expect(answerOf(events)).toEqual({ size: 'XL', actor: 'did it' });
});

test('in a run that cannot be resumed a tool that waits is an error too', async () => {
  class Waiting extends BaseTool {
    override runAsync({ toolContext }: RunAsyncToolRequest): Promise<unknown> {
      toolContext.pause();
      return Promise.resolve(undefined);
    }
  }
  const makeAgent = () =>
    new StateGraph({ name: 'g' })
      .addNode('none', () => ({}))
      .addNode('waiting', new Waiting({ name: 'waiting', description: '' }))
      .addEdge(START, 'none')
      .addEdge('none', 'waiting')
      .addEdge('waiting', END)
      .compile();
  const { ask } = await setUp(makeAgent, false);
  await expect(ask()).rejects.toThrow(/node "waiting".*resumable: true/);
});
