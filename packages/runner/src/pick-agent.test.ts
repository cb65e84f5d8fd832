import {
  BaseAgent,
  createEvent,
  type Event,
  type EventActions,
  type EventParams,
  InvalidMessageError,
} from '@eventloom/core';
import { LlmAgent, type LlmAgentConfig } from '@eventloom/llm-agent';
import { SequentialAgent } from '@eventloom/multi-agent';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { LongRunningFunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { agentOfCalls, lastSpeaker } from './pick-agent.ts';
import { scenario, transferTo } from './fixtures/scenario.ts';

function agentOf(name: string, config: Partial<LlmAgentConfig> = {}, steps: ScriptedStep[] = []): LlmAgent {
  return new LlmAgent({ name, model: new ScriptedModel(steps), ...config });
}

class Broken extends BaseAgent {
  // eslint-disable-next-line require-yield -- the agent throws before it yields
  protected override async *runAsyncImpl(): AsyncGenerator<Event, void, void> {
    throw new TypeError('broken');
  }
}

function by(author: string, params: EventParams = {}): Event {
  return createEvent({ author, content: { parts: [{ text: 'x' }] }, ...params });
}

/** An event without content. */
function silent(author: string, actions: Partial<EventActions>): Event {
  return createEvent({ author, actions });
}

/** top → (open → deep), (closed → below), (steps → worker) */
function tree(): BaseAgent {
  const open = agentOf('open', { subAgents: [agentOf('deep')] });
  const closed = agentOf('closed', { disallowTransferToParent: true, subAgents: [agentOf('below')] });
  const steps = new SequentialAgent({ name: 'steps', subAgents: [agentOf('worker')] });
  return agentOf('top', { subAgents: [open, closed, steps] });
}

const pick = (events: Event[], derived = new Map<unknown, never>()): string =>
  lastSpeaker(tree(), events, derived).name;

describe('a user message goes to', () => {
  test.each<[string, Event[], string]>([
    ['the root at first', [], 'top'],
    ['the last agent that spoke', [by('user'), by('top'), by('deep')], 'deep'],
    ['the root when it spoke last', [by('deep'), by('user'), by('top')], 'top'],
    ['the one before an agent that may not hand back', [by('open'), by('user'), by('closed')], 'open'],
    ['the one before an agent below such a one', [by('open'), by('below')], 'open'],
    ['the one before a workflow agent and what is below it', [by('deep'), by('steps'), by('worker')], 'deep'],
    ['an agent of the tree, not one that is gone', [by('deep'), by('retired')], 'deep'],
    ['nobody who spoke in an agent tool', [by('open'), by('deep', { branch: 'helper@1' })], 'open'],
    ['nobody who only noted how far it is', [by('open'), silent('deep', { agentState: { step: 1 } })], 'open'],
    ['nobody who only said that it is done', [by('open'), silent('deep', { endOfAgent: true })], 'open'],
  ])('%s', (_, events, expected) => {
    expect(pick(events)).toBe(expected);
  });

  test('the last speaker before a rewind', () => {
    const events = [
      by('open', { invocationId: 'e-1' }),
      by('user', { invocationId: 'e-2' }),
      by('deep', { invocationId: 'e-2' }),
    ];
    const rewind = by('user', { invocationId: 'e-3', actions: { rewindBeforeInvocationId: 'e-2' } });
    expect(pick([...events, rewind])).toBe('open');
    expect(pick([...events, rewind, by('deep', { invocationId: 'e-4' })])).toBe('deep');
    const lost = by('user', { invocationId: 'e-3', actions: { rewindBeforeInvocationId: 'e-9' } });
    expect(pick([...events, lost])).toBe('deep');
  });

  test('the root if no agent below it may transfer back', () => {
    const root = new SequentialAgent({ name: 'steps', subAgents: [agentOf('a')] });
    expect(lastSpeaker(root, [by('a')], new Map()).name).toBe('steps');
  });
});

test('every message goes to a root that may not transfer to a parent', async () => {
  const helper = agentOf('helper', {}, ['first']);
  const root = agentOf('top', { disallowTransferToParent: true, subAgents: [helper] }, [
    transferTo('helper'),
    'back at the top',
  ]);
  const { run } = await scenario({ agent: root });
  expect((await run()).at(-1)).toMatchObject({ author: 'helper' });
  expect(await run()).toMatchObject([{ author: 'top', content: { parts: [{ text: 'back at the top' }] } }]);
});

describe('a long history', () => {
  /** A list that counts how many of its items were read. */
  function watched(events: Event[]): { readonly events: Event[]; readonly looks: () => number } {
    let looks = 0;
    const proxy = new Proxy(events, {
      get(target, key, receiver) {
        if (typeof key === 'string' && /^\d+$/.test(key)) looks++;
        return Reflect.get(target, key, receiver) as unknown;
      },
    });
    return { events: proxy, looks: () => looks };
  }

  test('is read backwards up to the last agent that spoke', () => {
    const history = Array.from({ length: 1000 }, () => by('open'));
    const { events, looks } = watched([...history, by('user'), by('deep'), by('worker')]);
    expect(pick(events)).toBe('deep');
    expect(looks()).toBe(2);
  });

  test('without a suitable agent is read once', () => {
    const derived = new Map<unknown, never>();
    const { events, looks } = watched(Array.from({ length: 1000 }, () => by('worker')));
    expect(pick(events, derived)).toBe('top');
    expect(looks()).toBe(1000);
    events.push(by('user'), by('worker'));
    expect(pick(events, derived)).toBe('top');
    // The remembered agent says at which event the search stops.
    expect(looks()).toBe(1003);
  });

  test('is read again if the found event was rewound', () => {
    const derived = new Map<unknown, never>();
    const events = [by('open', { invocationId: 'e-1' }), by('deep', { invocationId: 'e-2' })];
    expect(pick(events, derived)).toBe('deep');
    events.push(by('user', { actions: { rewindBeforeInvocationId: 'e-2' } }));
    expect(pick(events, derived)).toBe('open');
  });
});

describe('function responses go to', () => {
  const callOf = (author: string, branch?: string) => ({ event: by(author), branch, about: undefined });
  const pickedFor = (root: BaseAgent, ...calls: ReturnType<typeof callOf>[]) => {
    const { agent, branch } = agentOfCalls(root, calls, (asked) => asked);
    return [agent.name, branch];
  };

  test('the agent that made the calls, on its branch', () => {
    expect(pickedFor(tree(), callOf('worker', 'par.worker'))).toEqual(['worker', 'par.worker']);
    expect(pickedFor(tree(), callOf('below'), callOf('below'))).toEqual(['below', undefined]);
  });

  test('the root if the agent no longer exists', () => {
    expect(pickedFor(tree(), callOf('retired'), callOf('gone'))).toEqual(['top', undefined]);
  });

  test('exactly one agent per message', () => {
    expect(() => pickedFor(tree(), callOf('worker'), callOf('open'))).toThrow(InvalidMessageError);
    expect(() => pickedFor(tree(), callOf('open'), callOf('open', 'x'))).toThrow(InvalidMessageError);
  });

  test('an agent around those that made the calls, once', () => {
    const root = tree();
    const calls = [callOf('worker', 'par.worker'), callOf('open', 'x')];
    expect(agentOfCalls(root, calls, () => root)).toEqual({ agent: root, branch: undefined });
  });
});

test('the agent that got control by a transfer keeps it in later turns', async () => {
  const helper = agentOf('helper', {}, ['first', 'second']);
  const { run } = await scenario({ agent: agentOf('top', { subAgents: [helper] }, [transferTo('helper')]) });
  await run();
  const [event, ...more] = await run();
  expect(event).toMatchObject({ author: 'helper', content: { parts: [{ text: 'second' }] } });
  expect(event?.executionId).toBe(event?.invocationId);
  expect(more).toEqual([]);
});

test('an agent that may not transfer back gets one turn', async () => {
  const helper = agentOf('helper', { disallowTransferToParent: true }, ['first']);
  const { run } = await scenario({
    agent: agentOf('top', { subAgents: [helper] }, [transferTo('helper'), 'back at the top']),
  });
  await run();
  expect((await run())[0]).toMatchObject({ author: 'top' });
});

test('a response to a call of an agent in a sequence goes only to that agent', async () => {
  const ask = new LongRunningFunctionTool({ name: 'ask', description: '', execute: () => undefined });
  const worker = agentOf('worker', { tools: [ask] }, [{ calls: [{ name: 'ask', id: 'c1' }] }, 'thanks']);
  const next = agentOf('next', {}, ['next']);
  const { run } = await scenario({ agent: new SequentialAgent({ name: 'steps', subAgents: [worker, next] }) });
  await run();
  const events = await run({ functionResponse: { id: 'c1', name: 'ask', response: { ok: true } } });
  expect(events.map((event) => event.author)).toEqual(['worker']);
});

test('a sub-agent that failed gets the next message', async () => {
  const helper = agentOf('helper', {}, [new TypeError('no network'), 'again']);
  const { run } = await scenario({ agent: agentOf('top', { subAgents: [helper] }, [transferTo('helper')]) });
  await expect(run()).rejects.toThrow('no network');
  expect((await run()).map((event) => event.author)).toEqual(['helper']);
});

test("the author of a run's error event is the active agent", async () => {
  const { run, stored } = await scenario({
    agent: agentOf('top', { subAgents: [new Broken({ name: 'helper' })] }, [transferTo('helper')]),
  });
  await expect(run()).rejects.toThrow('broken');
  const events = await stored();
  const [handedOver] = events.filter((event) => event.author === 'top');
  expect(events.at(-1)).toMatchObject({
    author: 'helper',
    errorMessage: expect.stringContaining('agent "helper"'),
  });
  expect(events.at(-1)?.parentExecutionId).toBe(handedOver?.executionId);
});

test('a message with responses for two agents is refused before anything is written', async () => {
  const ask = new LongRunningFunctionTool({ name: 'ask', description: '', execute: () => undefined });
  const asking = (name: string, id: string) => agentOf(name, { tools: [ask] }, [{ calls: [{ name: 'ask', id }] }]);
  const root = new SequentialAgent({ name: 'steps', subAgents: [asking('a', 'c1'), asking('b', 'c2')] });
  const { run, stored } = await scenario({ agent: root });
  await run();
  const before = await stored();
  const answer = (id: string) => ({ functionResponse: { id, name: 'ask', response: {} } });
  await expect(run([answer('c1'), answer('c2')])).rejects.toBeInstanceOf(InvalidMessageError);
  expect(await stored()).toEqual(before);
});
