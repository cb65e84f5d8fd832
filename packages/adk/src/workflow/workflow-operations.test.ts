import type { ActiveOperation, BaseAgent, Instrumentation, Operation, OperationEnd } from '@eventloom/core';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { answer, talk } from '../fixtures/workflow-talk.ts';
import {
  AgentTool,
  type EdgeItem,
  FunctionTool,
  LlmAgent,
  LoopAgent,
  node,
  type NodeContext,
  RequestInput,
  Workflow,
} from '../index.ts';

/** Records the operations of runs, each with its parent and its outcome. */
class OperationTree implements Instrumentation {
  readonly #roots: Recorded[] = [];

  start(operation: Operation, parent: ActiveOperation | undefined): ActiveOperation {
    const recorded = new Recorded(operation);
    if (parent instanceof Recorded) parent.children.push(recorded);
    else this.#roots.push(recorded);
    return recorded;
  }

  /** One line an operation, indented below its parent; since the last call. */
  take(): string[] {
    return this.#roots.splice(0).flatMap((each) => each.lines(''));
  }
}

class Recorded implements ActiveOperation {
  readonly children: Recorded[] = [];
  readonly #name: string;
  #outcome = ' (open)';

  constructor(operation: Operation) {
    const { kind } = operation;
    const subject = 'name' in operation ? operation.name : operation.context.agent.name;
    this.#name = kind === 'run' || kind === 'model' ? kind : `${kind} ${subject}`;
  }

  run<T>(step: () => T): T {
    return step();
  }

  end(end: OperationEnd): void {
    this.#outcome = end.status === 'ok' ? '' : ` (${end.status === 'error' ? end.error.name : end.status})`;
  }

  lines(indent: string): string[] {
    return [`${indent}${this.#name}${this.#outcome}`, ...this.children.flatMap((each) => each.lines(`${indent}  `))];
  }
}

async function talkObserved(agent: BaseAgent | readonly EdgeItem[]) {
  const tree = new OperationTree();
  return { tree, ...(await talk(agent, { instrumentation: tree })) };
}

const model = (...steps: ScriptedStep[]) => new ScriptedModel(steps);
const calling = (name: string, args: Record<string, unknown> = {}): ScriptedStep => ({
  parts: [{ functionCall: { name, args } }],
});
const look = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => ({ seen: 1 }) });

test('agents, tools and workflows in nodes are inside the operation of their node', async () => {
  const writer = new LlmAgent({ name: 'writer', model: model(calling('look'), { text: 'text' }), tools: [look] });
  const critic = new LlmAgent({ name: 'critic', model: model({ text: 'good' }) });
  const inner = new Workflow({ name: 'inner', edges: [['START', look, critic]] });
  const start = node(() => ({}), { name: 'start' });
  const { tree, send } = await talkObserved([['START', start, writer, node(() => ({}), { name: 'clear' }), inner]]);
  await send('go');
  expect(tree.take()).toEqual([
    'run',
    '  agent w',
    '    node start',
    '    node writer',
    '      agent writer',
    '        model',
    '        tool look',
    '        model',
    '    node clear',
    '    node inner',
    '      node look',
    '        tool look',
    '      node critic',
    '        agent critic',
    '          model',
  ]);
});

test('nodes that run at the same time are siblings with their own agents', async () => {
  const agents = ['left', 'right'].map(
    (name) => new LlmAgent({ name, model: model(calling('look'), { text: name }), tools: [look] }),
  );
  const join = node(() => undefined, { name: 'join' });
  const { tree, send } = await talkObserved(agents.map((each): EdgeItem => ['START', each, join]));
  await send('go');
  const inner = ['        model', '        tool look', '        model'];
  const of = (name: string) => [`    node ${name}`, `      agent ${name}`, ...inner];
  expect(tree.take().slice(0, 12)).toEqual(['run', '  agent w', ...of('left'), ...of('right')]);
});

test('each attempt has its own operation, and a node that another one runs is inside it', async () => {
  let attempts = 0;
  const fetchIt = node(
    () => {
      if (++attempts === 1) throw new TypeError('lost');
      return 'found';
    },
    { name: 'fetch', retryConfig: { maxAttempts: 2, initialDelay: 0 } },
  );
  const outer = node(async (context: NodeContext) => (await context.runNode(fetchIt)).output, { name: 'outer' });
  const { tree, send } = await talkObserved([['START', outer]]);
  await send('go');
  expect(tree.take()).toEqual([
    'run',
    '  agent w',
    '    node outer',
    '      node fetch (TypeError)',
    '      node fetch',
  ]);
});

test('a node whose time is up, and a tool that throws, have failed', async () => {
  const slow = node(() => new Promise<void>(() => undefined), { name: 'slow', timeout: 0.001 });
  const failing = new FunctionTool({
    name: 'fails',
    description: 'Fails.',
    execute: () => {
      throw new TypeError('lost');
    },
  });
  const { tree, sendToFailure } = await talkObserved([['START', node(() => ({}), { name: 'start' }), failing, slow]]);
  await sendToFailure('go');
  expect(tree.take()).toEqual([
    'run (NodeTimeoutError)',
    '  agent w (NodeTimeoutError)',
    '    node start',
    '    node fails',
    '      tool fails (TypeError)',
    '    node slow (NodeTimeoutError)',
  ]);
});

test('a node that waits for a person has not failed, and the answer continues it in a run of its own', async () => {
  const ask = node(() => new RequestInput({ interruptId: 'city', message: 'Which city?' }), { name: 'ask' });
  const { tree, send } = await talkObserved([['START', ask, node(() => 'done', { name: 'last' })]]);
  await send('go');
  expect(tree.take()).toEqual(['run', '  agent w', '    node ask']);
  await send(answer('city', { result: 'Oslo' }));
  expect(tree.take()).toEqual(['run', '  agent w', '    node last']);
});

test('a workflow that an agent calls as a tool, and an agent without a model in a node, are inside their callers', async () => {
  const critic = new LlmAgent({ name: 'critic', model: model({ text: 'one' }, { text: 'two' }) });
  const loop = new LoopAgent({ name: 'loop', maxIterations: 2, subAgents: [critic] });
  const flow = new Workflow({ name: 'flow', description: 'Flows.', edges: [['START', loop]] });
  const boss = new LlmAgent({
    name: 'boss',
    model: model(calling('flow', { request: 'go' }), { text: 'done' }),
    tools: [new AgentTool({ agent: flow })],
  });
  const { tree, send } = await talkObserved(boss);
  await send('go');
  const round = ['            agent critic', '              model'];
  expect(tree.take()).toEqual([
    'run',
    '  agent boss',
    '    model',
    '    tool flow',
    '      agent flow',
    '        node loop',
    '          agent loop',
    ...round,
    ...round,
    '    model',
  ]);
});
