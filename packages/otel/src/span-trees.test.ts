import { type BaseAgent, ModelError, ShuttingDownError } from '@eventloom/core';
import { END as GRAPH_END, node, START, StateGraph } from '@eventloom/graph';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool, LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { Gate, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { call, END, user } from '../../live/src/fixtures/live-messages.ts';
import { liveScenario } from '../../live/src/fixtures/live-scenario.ts';
import { readTurns } from '../../live/src/fixtures/live-turns.ts';
import { runToError, scenario, scripted } from '../../runner/src/fixtures/scenario.ts';
import { recordingSdks } from './fixtures/recording-sdks.ts';
import { openTelemetry } from './index.ts';

const calling = (name: string, args: Record<string, unknown> = {}): ScriptedStep => ({
  parts: [{ functionCall: { name, args } }],
});
const transferTo = (name: string): ScriptedStep => calling('transfer_to_agent', { agent_name: name });
const look = (idempotent = false): FunctionTool =>
  new FunctionTool({ name: 'look', description: 'Looks.', execute: () => ({ seen: 1 }), idempotent });

// No context manager is registered: the parents must be right without one.
describe.each(recordingSdks)('%s', (_, createSdk) => {
  async function setUp(agent: BaseAgent) {
    const sdk = createSdk();
    return {
      sdk,
      ...(await scenario({ agent, instrumentation: openTelemetry({ tracerProvider: sdk.tracerProvider }) })),
    };
  }

  test('a reader that stops ends all spans', async () => {
    const { sdk, start } = await setUp(scripted('bot', [{ chunks: ['a', 'b', 'c'] }]));
    for await (const event of start('hi', { runConfig: { streamingMode: 'sse' } })) if (event.partial) break;
    expect(sdk.tree()).toEqual(['invoke_workflow app (left)', '  invoke_agent bot (left)', '    chat scripted (left)']);
  });

  test('a run that is resumed after its process was lost has a trace with the calls that it still makes', async () => {
    const gate = new Gate();
    const stuck = (): FunctionTool =>
      new FunctionTool({ name: 'look', description: 'Looks.', execute: () => gate.pass(), idempotent: true });
    const { sdk, start, restart } = await setUp(scripted('bot', [calling('look')], { tools: [stuck()] }));
    const abort = new AbortController();
    const stream = start('hi', { abortSignal: abort.signal, runConfig: { resumable: true } });
    const { value: asked } = await stream.next();
    const pending = stream.next();
    await gate.reached;
    abort.abort(new ShuttingDownError('the process ends'));
    await expect(pending).rejects.toThrow();
    gate.open();
    expect(sdk.tree()).toEqual([
      'invoke_workflow app (left)',
      '  invoke_agent bot (left)',
      '    chat scripted',
      '    execute_tool look (left)',
    ]);
    const again = createSdk();
    const { runner } = restart({
      agent: scripted('bot', ['done'], { tools: [look(true)] }),
      instrumentation: openTelemetry({ tracerProvider: again.tracerProvider }),
    });
    await runner.run({ userId: 'u', sessionId: 's', invocationId: asked?.invocationId ?? '' });
    expect(again.tree()).toEqual([
      'invoke_workflow app (resumed)',
      '  invoke_agent bot',
      '    execute_tool look',
      '    chat scripted',
    ]);
    expect(again.spans()[0]?.attributes['eventloom.invocation_id']).toBe(asked?.invocationId);
  });

  test('agents in tools, at any depth and concurrent, are children of their calls', async () => {
    const deep = (name: string): AgentTool =>
      new AgentTool({
        agent: scripted(name, [calling('deep', { request: 'x' }), `${name} answer`], {
          tools: [new AgentTool({ agent: scripted('deep', ['deep answer']) })],
        }),
      });
    const both: ScriptedStep = {
      parts: ['left', 'right'].map((name) => ({ functionCall: { name, args: { request: name } } })),
    };
    const { sdk, run } = await setUp(scripted('bot', [both, 'done'], { tools: [deep('left'), deep('right')] }));
    await run();
    const inner = (name: string): string[] => [
      `    execute_tool ${name}`,
      `      invoke_agent ${name}`,
      '        chat scripted',
      '        execute_tool deep',
      '          invoke_agent deep',
      '            chat scripted',
      '        chat scripted',
    ];
    expect(sdk.tree()).toEqual([
      'invoke_workflow app',
      '  invoke_agent bot',
      '    chat scripted',
      ...inner('left'),
      ...inner('right'),
      '    chat scripted',
    ]);
  });

  test('agents that run in parallel are siblings with their own calls', async () => {
    const left = scripted('left', [calling('look'), 'l'], { tools: [look()] });
    const { sdk, run } = await setUp(
      new ParallelAgent({
        name: 'par',
        subAgents: [left, scripted('right', [calling('look'), 'r'], { tools: [look()] })],
      }),
    );
    await run();
    const inner = ['      chat scripted', '      execute_tool look', '      chat scripted'];
    expect(sdk.tree()).toEqual([
      'invoke_workflow app',
      '  invoke_agent par',
      '    invoke_agent left',
      ...inner,
      '    invoke_agent right',
      ...inner,
    ]);
  });

  test('each round of a loop is a span of its agent', async () => {
    const { sdk, run } = await setUp(
      new LoopAgent({ name: 'loop', maxIterations: 2, subAgents: [scripted('critic', ['one', 'two'])] }),
    );
    await run();
    const round = ['    invoke_agent critic', '      chat scripted'];
    expect(sdk.tree()).toEqual(['invoke_workflow app', '  invoke_agent loop', ...round, ...round]);
  });

  test('an agent that got control by a transfer is a sibling of the agent that transferred', async () => {
    const target = scripted('target', [transferTo('last')], { subAgents: [scripted('last', ['there'])] });
    const first = scripted('first', [transferTo('target')], { subAgents: [target] });
    const { sdk, run } = await setUp(new SequentialAgent({ name: 'seq', subAgents: [first] }));
    await run();
    const handing = ['      chat scripted', '      execute_tool transfer_to_agent'];
    expect(sdk.tree()).toEqual([
      'invoke_workflow app',
      '  invoke_agent seq',
      '    invoke_agent first',
      ...handing,
      '    invoke_agent target',
      ...handing,
      '    invoke_agent last',
      '      chat scripted',
    ]);
  });

  test('agents and tools in nodes of a graph are children of the node', async () => {
    const graph = new StateGraph({ name: 'flow' })
      .addNode('start', () => ({}))
      .addNode('see', look())
      .addNode('writer', scripted('writer', [calling('look'), 'text'], { tools: [look()] }))
      .addEdge(START, 'start')
      .addEdge('start', 'see')
      .addEdge('see', 'writer')
      .addEdge('writer', GRAPH_END)
      .compile();
    const { sdk, run } = await setUp(graph);
    await run();
    expect(sdk.tree()).toEqual([
      'invoke_workflow app',
      '  invoke_agent flow',
      '    execute_node start',
      '    execute_node see',
      '      execute_tool look',
      '    execute_node writer',
      '      invoke_agent writer',
      '        chat scripted',
      '        execute_tool look',
      '        chat scripted',
    ]);
    const see = sdk.spans().find(({ name }) => name === 'execute_node see');
    expect(see?.attributes).toMatchObject({
      'gen_ai.operation.name': 'execute_node',
      'gen_ai.agent.name': 'flow',
      'eventloom.node.name': 'see',
    });
  });

  test('each attempt of a node has its own span, and nodes that a node runs are inside it', async () => {
    let attempts = 0;
    const fetchIt = node(
      'fetch',
      () => {
        if (++attempts === 1) throw new TypeError('lost');
        return 'found';
      },
      { retry: { maxAttempts: 2, initialDelayMs: 0 } },
    );
    const graph = new StateGraph({ name: 'flow' })
      .addNode('outer', (_: unknown, context) => context.runNode(fetchIt, 'x'))
      .addEdge(START, 'outer')
      .addEdge('outer', GRAPH_END)
      .compile();
    const { sdk, run } = await setUp(graph);
    await run();
    expect(sdk.tree()).toEqual([
      'invoke_workflow app',
      '  invoke_agent flow',
      '    execute_node outer',
      '      execute_node fetch (TypeError)',
      '      execute_node fetch',
    ]);
  });

  test('each connection of a live run is one call, with its tools beside it', async () => {
    const sdk = createSdk();
    const { queue, stream } = await liveScenario({
      model: [[{ heard: 'content' }, call('look', 'c1'), { heard: 'toolResponses' }, 'It is ', 'here', END]],
      agent: { tools: [look()] },
      instrumentation: openTelemetry({ tracerProvider: sdk.tracerProvider }),
    });
    queue.sendContent(user('where?'));
    await readTurns(stream, queue);
    expect(sdk.tree()).toEqual([
      'invoke_workflow app',
      '  invoke_agent bot',
      '    chat scripted-live',
      '    execute_tool look',
    ]);
    expect(sdk.spans().find(({ name }) => name.startsWith('chat'))?.attributes['eventloom.live']).toBe(true);
  });

  test('each model call has its own span, with its error code if it failed', async () => {
    const overloaded = new ModelError('the secret of ann', { errorCode: 'UNAVAILABLE' });
    const agent = new LlmAgent({
      name: 'bot',
      model: new ScriptedModel([calling('look'), overloaded]),
      tools: [look()],
      onModelErrorCallback: () => ({ content: { role: 'model', parts: [{ text: 'sorry' }] } }),
    });
    const { sdk, run } = await setUp(agent);
    await run();
    expect(sdk.tree()).toEqual([
      'invoke_workflow app',
      '  invoke_agent bot',
      '    chat scripted',
      '    execute_tool look',
      '    chat scripted (UNAVAILABLE)',
    ]);
    const failing = await setUp(scripted('bot', [overloaded]));
    await runToError(failing.start());
    expect(failing.sdk.tree()).toEqual([
      'invoke_workflow app (UNAVAILABLE)',
      '  invoke_agent bot (UNAVAILABLE)',
      '    chat scripted (UNAVAILABLE)',
    ]);
    expect(failing.sdk.text()).not.toContain('secret');
  });

  test('the spans of a tool that throws and of a tool that does not exist have failed', async () => {
    const failing = new FunctionTool({
      name: 'fails',
      description: 'Fails.',
      execute: () => {
        throw new TypeError('the secret of ann');
      },
    });
    const { sdk, run } = await setUp(
      scripted('bot', [calling('fails'), calling('missing'), 'done'], { tools: [failing] }),
    );
    await run();
    expect(sdk.tree()).toEqual([
      'invoke_workflow app',
      '  invoke_agent bot',
      '    chat scripted',
      '    execute_tool fails (TypeError)',
      '    chat scripted',
      '    execute_tool missing (CONFIGURATION)',
      '    chat scripted',
    ]);
    expect(sdk.text()).not.toContain('secret');
  });

  test('a call is one span with any number of chunks', async () => {
    const chunks = Array.from({ length: 200 }, (_each, index) => `${index} `);
    const { sdk, run } = await setUp(scripted('bot', [{ chunks }]));
    await run('hi', { runConfig: { streamingMode: 'sse' } });
    expect(sdk.spans()).toHaveLength(3);
    expect(sdk.spans().every(({ events }) => events.length === 0)).toBe(true);
  });
});
