import { describe, expect, test, vi } from 'vitest';
import { ConfigurationError } from '../errors.ts';
import type { Event } from '../event/event.ts';
import { BaseAgent } from './base-agent.ts';

class Quiet extends BaseAgent {
  protected async *runAsyncImpl(): AsyncGenerator<Event, void, void> {}
}

function agentOf(name: string, ...subAgents: BaseAgent[]): Quiet {
  return new Quiet({ name, subAgents });
}

test('an agent alone is a tree of one', () => {
  const agent = new Quiet({ name: 'a' });
  expect(agent.subAgents).toEqual([]);
  expect(agent.parentAgent).toBeUndefined();
  expect(agent.rootAgent).toBe(agent);
  expect(agent.findAgent('a')).toBe(agent);
  expect(agent.findSubAgent('a')).toBeUndefined();
});

test('agents know those above and below them', () => {
  const leaf = agentOf('leaf');
  const middle = agentOf('middle', leaf);
  const other = agentOf('other');
  const top = agentOf('top', middle, other);
  expect(top.subAgents).toEqual([middle, other]);
  expect([leaf, middle, other, top].map((agent) => agent.parentAgent)).toEqual([middle, top, top, undefined]);
  expect([leaf, middle, top].map((agent) => agent.rootAgent)).toEqual([top, top, top]);
  expect(top.findAgent('leaf')).toBe(leaf);
  expect(top.findSubAgent('middle')).toBe(middle);
  expect(middle.findAgent('other')).toBeUndefined();
});

test('the list of sub-agents is the agent’s own', () => {
  const subAgents = [agentOf('a')];
  const top = new Quiet({ name: 'top', subAgents });
  subAgents.push(agentOf('b'));
  expect(top.subAgents).toHaveLength(1);
});

describe('a configuration error is', () => {
  test('an agent with two parents', () => {
    const shared = agentOf('shared');
    agentOf('first', shared);
    expect(() => agentOf('second', shared)).toThrow(
      new ConfigurationError(
        'agent "second": sub-agent "shared" has the parent "first" already; make an agent for each place',
      ),
    );
  });

  test.each<[string, () => BaseAgent]>([
    ['an agent twice among the sub-agents', () => ((agent) => agentOf('top', agent, agent))(agentOf('a'))],
    ['two agents of one name side by side', () => agentOf('top', agentOf('a'), agentOf('a'))],
    ['one far below the other', () => agentOf('a', agentOf('b', agentOf('c', agentOf('a'))))],
    ['one in another part of the tree', () => agentOf('top', agentOf('b', agentOf('a')), agentOf('c', agentOf('a')))],
  ])('%s', (_, create) => {
    expect(create).toThrow(/two agents of its tree have the name "a"/);
  });

  test('a sub-agent that is none', () => {
    expect(() => new Quiet({ name: 'top', subAgents: [{} as BaseAgent] })).toThrow(
      /subAgents must be agents, one is an object/,
    );
  });
});

test('a tree that was refused leaves its agents free for another', () => {
  const free = agentOf('a');
  expect(() => agentOf('top', free, agentOf('a'))).toThrow(ConfigurationError);
  expect(agentOf('top', free).subAgents).toEqual([free]);
});

test('an agent of another loaded copy of this package has its place like any other', async () => {
  vi.resetModules();
  const copy = await import('./base-agent.ts');
  class Foreign extends copy.BaseAgent {
    protected async *runAsyncImpl(): AsyncGenerator<Event, void, void> {}
  }
  const foreign = new Foreign({ name: 'foreign' });
  const top = new Quiet({ name: 'top', subAgents: [foreign] });
  expect(foreign.parentAgent).toBe(top);
  expect(top.findAgent('foreign')).toBe(foreign);
});

test('closing an agent closes those below it', async () => {
  const closed: string[] = [];
  class Closing extends Quiet {
    override async close(): Promise<void> {
      closed.push(this.name);
      await super.close();
    }
  }
  const leaf = new Closing({ name: 'leaf' });
  await new Closing({ name: 'top', subAgents: [new Closing({ name: 'middle', subAgents: [leaf] })] }).close();
  expect(closed).toEqual(['top', 'middle', 'leaf']);
});
