import { BaseTool, type RunAsyncToolRequest, type ToolContext } from '@eventloom/core';
import { InMemoryCredentialService } from '@eventloom/credentials';
import { LlmAgent } from '@eventloom/llm-agent';
import { ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { END, type GraphAgent, node, START, StateGraph } from './index.ts';
import { questionsIn, setUp } from './fixtures/interrupted-run.ts';
import { outputOf } from './fixtures/read-output.ts';
import { KEY } from '../../runner/src/fixtures/scenario.ts';

test('a tool that requires confirmation runs when confirmed, and returns an error when rejected', async () => {
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
    expect(outputOf(events)).toEqual(confirmed ? { paid: 1 } : { error: 'This tool call is rejected.' });
    expect(paid).toBe(confirmed ? 1 : 0);
  }
});

const AUTH = {
  authScheme: { type: 'oauth2' },
  credentialKey: 'bank',
  rawAuthCredential: { authType: 'oauth2', oauth2: { clientId: 'us', clientSecret: 'hush' } },
} as const;

/** A graph with one tool, which records each of its runs. */
function toolGraph(ran: string[], work: (context: ToolContext) => unknown): () => GraphAgent {
  const pay = new FunctionTool({
    name: 'pay',
    description: '',
    execute: (_: object, context: ToolContext) => {
      ran.push('pay');
      return work(context);
    },
  });
  return () =>
    new StateGraph({ name: 'g' })
      .addNode('args', () => ({}))
      .addNode('pay', pay)
      .addEdge(START, 'args')
      .addEdge('args', 'pay')
      .addEdge('pay', END)
      .compile();
}

test('a tool does not run again when the user gives no credential', async () => {
  const ran: string[] = [];
  const makeAgent = toolGraph(ran, (context) => context.requestCredential(AUTH));
  const options = { credentialService: new InMemoryCredentialService(), requestTtlMs: 1000 };
  for (const isLate of [false, true]) {
    const { send, platform } = await setUp(makeAgent);
    const [question] = questionsIn(await send([{ text: 'hi' }], options));
    expect(question?.name).toBe('adk_request_credential');
    if (isLate) platform.advance(1001);
    const response = isLate ? { ...AUTH, exchangedAuthCredential: AUTH.rawAuthCredential } : {};
    const events = await send([{ functionResponse: { id: question?.id ?? '', response } }], options);
    const why = isLate ? 'it was answered too late' : 'no credential was given';
    expect(outputOf(events)).toEqual({ error: `This tool call was not run: ${why}.` });
  }
  expect(ran).toEqual(['pay', 'pay']);
});

test('secrets of a credential that a tool requests are in no event', async () => {
  const makeAgent = toolGraph([], (context) => {
    context.actions.requestedAuthConfigs = { [context.functionCallId]: AUTH };
  });
  const { send, sessionService } = await setUp(makeAgent);
  const options = { credentialService: new InMemoryCredentialService() };
  const [question] = questionsIn(await send([{ text: 'hi' }], options));
  expect(question).toMatchObject({ args: { authConfig: { credentialKey: 'bank' } } });
  expect(JSON.stringify((await sessionService.getSession(KEY))?.events)).not.toContain('hush');
  await expect(send([{ text: 'hi' }])).rejects.toThrow(/credentialService/);
});

test('a tool gets the confirmation with the hint of its request', async () => {
  const confirmations: unknown[] = [];
  const makeAgent = toolGraph([], (context) => {
    if (context.toolConfirmation) confirmations.push(context.toolConfirmation);
    else context.requestConfirmation({ hint: 'Pay?' });
  });
  const { ask, answer } = await setUp(makeAgent);
  const [question] = questionsIn(await ask());
  await answer([question?.id, { confirmed: true, payload: 3 }]);
  expect(confirmations).toEqual([{ hint: 'Pay?', confirmed: true, payload: 3 }]);
});

test('a tool node can request input, and an agent node can request confirmation', async () => {
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
  expect(outputOf(events)).toEqual({ size: 'XL', actor: 'did it' });
});

test('a tool that waits throws in a run that is not resumable', async () => {
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
