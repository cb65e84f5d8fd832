import { isFinalResponse } from '@eventloom/core';
import { describe, expect, test } from 'vitest';
import { outputsOf, talk } from '../fixtures/workflow-talk.ts';
import {
  BasePlugin,
  type BaseNode,
  InMemoryRunner,
  JoinNode,
  LoggingPlugin,
  node,
  type NodeContext,
  RequestInput,
  Workflow,
} from '../index.ts';

interface Called {
  readonly node: BaseNode;
  readonly nodeContext: NodeContext;
}

describe('outputs that a plugin returned', () => {
  class Gate extends BasePlugin {
    override beforeNodeCallback({ node: { name } }: Called): unknown {
      return name === 'closed' ? 'closed today' : undefined;
    }
    override afterNodeCallback({ node: { name } }: Called): unknown {
      return name === 'corrected' ? 'right' : undefined;
    }
  }

  test('are kept when the workflow is continued after a question', async () => {
    const closed = node(() => expect.unreachable(), { name: 'closed' });
    const corrected = node(() => 'wrong', { name: 'corrected' });
    const ask = node(() => new RequestInput({ interruptId: 'city' }), { name: 'ask' });
    const join = new JoinNode({ name: 'join' });
    const edges = [closed, corrected, ask].map((each) => ['START', each, join] as const);
    const { send } = await talk(edges, { plugins: [new Gate('gate')] });
    await send('go');
    expect(outputsOf(await send('Oslo')).at(-1)).toEqual({ closed: 'closed today', corrected: 'right', ask: 'Oslo' });
  });
});

test('state that a plugin writes around a node is stored', async () => {
  class Notes extends BasePlugin {
    override beforeNodeCallback({ nodeContext }: Called): unknown {
      nodeContext.state.set('before', nodeContext.nodePath);
      return undefined;
    }
    override afterNodeCallback({ nodeContext }: Called): unknown {
      nodeContext.state.set('after', nodeContext.nodePath);
      return undefined;
    }
  }
  const work = node(() => 'done', { name: 'work' });
  const { send, read } = await talk([['START', work]], { plugins: [new Notes('notes')] });
  await send('go');
  expect((await read()).state).toEqual({ before: 'w.work', after: 'w' });
});

test('a plugin that throws before a node fails the run, and the node does not run', async () => {
  class Broken extends BasePlugin {
    override beforeNodeCallback({ node: { name } }: Called): unknown {
      if (name === 'work') throw new Error('no gate');
      return undefined;
    }
  }
  const work = node(() => expect.unreachable(), { name: 'work' });
  const { send } = await talk([['START', work]], { plugins: [new Broken('broken')] });
  await expect(send('go')).rejects.toThrow('no gate');
});

test.each(['beforeContextCompaction', 'afterContextCompaction'])(
  'a plugin with %s is refused, because no run calls it',
  (callback) => {
    const plugin = Object.assign(new (class extends BasePlugin {})('watch'), { [callback]: () => undefined });
    const agent = new Workflow({ name: 'w', edges: [['START', node(() => 1, { name: 'work' })]] });
    expect(() => new InMemoryRunner({ agent, plugins: [plugin] })).toThrow(
      expect.objectContaining({
        code: 'CONFIGURATION',
        message: expect.stringMatching(`^Runner: plugin "watch": ${callback} is not called, .*; remove it, and write`),
      }),
    );
  },
);

test('plugins of other packages are instances of BasePlugin, and objects of other classes are not', () => {
  class Own extends BasePlugin {}
  expect(new LoggingPlugin()).toBeInstanceOf(BasePlugin);
  expect(new Own('own')).toBeInstanceOf(Own);
  expect(new LoggingPlugin()).not.toBeInstanceOf(Own);
  expect(isFinalResponse).not.toBeInstanceOf(BasePlugin);
});
