import { describe, expect, test, vi } from 'vitest';
import { InvocationContext } from '../context/invocation-context.ts';
import { ConfigurationError } from '../errors.ts';
import { createEvent } from '../event/create-event.ts';
import type { Event } from '../event/event.ts';
import { BaseAgent, isBaseAgent } from './base-agent.ts';
import { contextOf, fail, run, said, say, Worker } from './fixtures/worker-agent.ts';

describe('the name', () => {
  test.each(['a', '_a', '$a', 'a1', 'my-agent', 'агент', '助手', 'User', '__proto__'])('may be %s', (name) => {
    expect(new Worker({ name }).name).toBe(name);
  });

  test.each(['', '1a', '-a', 'a b', 'a.b', 'a\n', 'user', undefined, null, 5])('may not be %j', (name) => {
    expect(() => new Worker({ name: name as string })).toThrow(ConfigurationError);
  });
});

test('the description is empty by default', () => {
  expect(new Worker({ description: 'works' }).description).toBe('works');
  expect(new Worker().description).toBe('');
});

test('an agent without callbacks yields its own events, authored by it', async () => {
  const [event, ...more] = await run(new Worker());
  expect(event).toMatchObject({ author: 'worker', invocationId: 'e-1', executionId: 'e-1', content: say('work') });
  expect(more).toEqual([]);
});

describe('the events of an agent that another one runs', () => {
  const lead = new Worker({ name: 'lead' });

  async function completed(...events: Event[]): Promise<Event[]> {
    const agent = new Worker({}, async function* () {
      yield* events;
    });
    return run(agent, contextOf().forAgent(lead, { branch: 'par.lead' }));
  }

  test('get a missing author, branch and execution', async () => {
    const [event] = await completed(createEvent({ content: say('bare') }));
    expect(event).toMatchObject({
      author: 'worker',
      branch: 'par.lead',
      parentExecutionId: 'e-1',
      invocationId: 'e-1',
    });
    expect(event?.executionId).not.toBe('e-1');
    expect(event?.id).not.toBe('');
    expect(event?.timestamp).toBeGreaterThan(0);
  });

  test('keep the fields that they have', async () => {
    const said = { id: 'mine', author: 'node', timestamp: 5, content: say('more') };
    expect((await completed(createEvent(said)))[0]).toMatchObject(said);
    const whole = createEvent({ executionId: 'e-9' });
    expect((await completed(whole))[0]).toBe(whole);
  });

  test('have a timestamp in milliseconds as seconds', async () => {
    const [event] = await completed({ timestamp: 1_770_714_900_500, content: say('more') } as Event);
    expect(event?.timestamp).toBe(1_770_714_900.5);
  });

  test('are passed on unchanged if they are not events', async () => {
    expect(await completed(null as unknown as Event, 5 as unknown as Event)).toEqual([null, 5]);
  });

  test('are passed on unchanged by an agent with makesCompleteEvents', async () => {
    class Whole extends Worker {
      protected override get makesCompleteEvents(): boolean {
        return true;
      }
    }
    const bare = createEvent();
    const agent = new Whole({}, async function* () {
      yield bare;
    });
    expect((await run(agent, contextOf().forAgent(lead)))[0]).toBe(bare);
  });
});

test('closing the generator of a run closes the agent', async () => {
  const log: string[] = [];
  async function* work(context: InvocationContext): AsyncGenerator<Event, void, void> {
    try {
      yield context.createEvent({ content: say('first') });
      yield context.createEvent({ content: say('second') });
    } finally {
      log.push('ended');
    }
  }
  for (const config of [{}, { afterAgentCallback: () => void log.push('after') }]) {
    for await (const _event of new Worker(config, work).runAsync(contextOf())) break;
  }
  expect(log).toEqual(['ended', 'ended']);
});

test('one agent serves several runs at once', async () => {
  const agent = new Worker({ beforeAgentCallback: (context) => context.state.set('a', 1) });
  const runs = await Promise.all([said(agent), said(agent), said(agent)]);
  expect(runs).toEqual(Array.from({ length: 3 }, () => [{ a: 1 }, 'work']));
});

test('isBaseAgent is true for agents of another loaded copy of this package, and false for other values', async () => {
  vi.resetModules();
  const copy = await import('./base-agent.ts');
  const { isBaseAgent: copiedIsBaseAgent } = await import('./base-agent.ts');
  expect(copy.BaseAgent).not.toBe(BaseAgent);
  class Foreign extends copy.BaseAgent {
    protected runAsyncImpl(): AsyncGenerator<Event, void, void> {
      return fail();
    }
  }
  for (const agent of [new Worker(), new Foreign({ name: 'worker' })]) {
    expect(isBaseAgent(agent)).toBe(true);
    expect(copiedIsBaseAgent(agent)).toBe(true);
  }
  for (const value of [undefined, null, 'worker', Worker, { name: 'worker' }]) expect(isBaseAgent(value)).toBe(false);
});

class Quiet extends BaseAgent {
  protected async *runAsyncImpl(): AsyncGenerator<Event, void, void> {}
}

function agentOf(name: string, ...subAgents: BaseAgent[]): Quiet {
  return new Quiet({ name, subAgents });
}

test('an agent without parent and sub-agents is its own root', () => {
  const agent = new Quiet({ name: 'a' });
  expect(agent.subAgents).toEqual([]);
  expect(agent.parentAgent).toBeUndefined();
  expect(agent.rootAgent).toBe(agent);
  expect(agent.findAgent('a')).toBe(agent);
  expect(agent.findSubAgent('a')).toBeUndefined();
});

test('agents find their parent, root and sub-agents', () => {
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

test('the agent copies the list of sub-agents', () => {
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
        'agent "second": sub-agent "shared" has the parent "first" already; create an agent object for each place',
      ),
    );
  });

  test.each<[string, () => BaseAgent]>([
    ['an agent twice among the sub-agents', () => ((agent) => agentOf('top', agent, agent))(agentOf('a'))],
    ['two agents of one name side by side', () => agentOf('top', agentOf('a'), agentOf('a'))],
    ['one far below the other', () => agentOf('a', agentOf('b', agentOf('c', agentOf('a'))))],
    ['one in another part of the tree', () => agentOf('top', agentOf('b', agentOf('a')), agentOf('c', agentOf('a')))],
  ])('%s', (_, create) => {
    expect(create).toThrow(/two agents of its tree have the name "a"; give one of them another name$/);
  });

  test('a sub-agent that is not an agent', () => {
    expect(() => new Quiet({ name: 'top', subAgents: [{} as BaseAgent] })).toThrow(
      /subAgents\[0\]: expected an agent, got an object/,
    );
  });
});

test('the agents of a rejected tree can be used in another tree', () => {
  const free = agentOf('a');
  expect(() => agentOf('top', free, agentOf('a'))).toThrow(ConfigurationError);
  expect(agentOf('top', free).subAgents).toEqual([free]);
});

test('an agent of another loaded copy of this package can be a sub-agent', async () => {
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

test('closing an agent closes its sub-agents', async () => {
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

test.each([
  ['my agent', 'my_agent'],
  ['1st', '_1st'],
  ['!', 'helper'],
])('the error for the name %j suggests %s', (name, valid) => {
  expect(() => new Worker({ name })).toThrow(`got ${JSON.stringify(name)}; write name: '${valid}'`);
});

test.each(['push', 'unshift', 'splice', 'pop', 'shift'] as const)('a list of an agent refuses %s', (method) => {
  const lists = [new Worker().subAgents, new Worker({ subAgents: [new Worker({ name: 'b' })] }).subAgents];
  for (const list of lists as BaseAgent[][])
    expect(() => Reflect.apply(list[method], list, [])).toThrow(
      'the lists of an agent cannot be changed after its construction; write all entries in its options',
    );
});

test('the error for a class without runAsyncImpl names the method', async () => {
  const agent = new Worker();
  Object.defineProperty(agent, 'runAsyncImpl', { value: undefined });
  await expect(run(agent)).rejects.toThrow(
    'agent "worker": runAsyncImpl: expected an async generator, got nothing; write async *runAsyncImpl(context) { yield … }',
  );
});

test.each<[object, string]>([
  [{ descripton: 'works' }, 'agent "worker": has no option "descripton"; did you mean "description"?'],
  [{ sub_agents: [] }, 'agent "worker": has no option "sub_agents"; did you mean "subAgents"?'],
  [{ beforeAgentCallbacks: [] }, 'has no option "beforeAgentCallbacks"; did you mean "beforeAgentCallback"?'],
  [{ name: undefined, nmae: 'worker' }, 'Worker: has no option "nmae"; did you mean "name"?'],
  [{ description: 5 }, 'agent "worker": description: expected a string, got the number 5'],
])('a subclass that passes the options %o on to BaseAgent is refused', (options, message) => {
  expect(() => new Worker(options)).toThrow(ConfigurationError);
  expect(() => new Worker(options)).toThrow(message);
});

test('a subclass may pass options of its own on to BaseAgent', () => {
  const own = { name: 'worker', names: ['a'], descriptions: {}, subAgent: new Worker(), retries: 3, mode: 'fast' };
  expect(new Worker(own).name).toBe('worker');
});

test.each([
  ['inputSchema', 'inputSchema cannot be assigned; write get inputSchema() { return z.object({ … }); } in its class'],
  ['parentAgent', 'parentAgent cannot be assigned; list the agent in the subAgents of its parent'],
  ['rootAgent', 'rootAgent cannot be assigned; list the agent in the subAgents of its parent'],
  ['canRunLive', 'canRunLive cannot be assigned; write async *runLiveImpl(context, queue) { yield … } in its class'],
])('assigning %s of an agent throws ConfigurationError with what to write', (property, message) => {
  const assign = (): void => void Object.assign(new Worker(), { [property]: undefined });
  expect(assign).toThrow(ConfigurationError);
  expect(assign).toThrow(`agent "worker": ${message}`);
});
