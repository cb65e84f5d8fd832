import { CallbackContext, createEventActions, StateKeyError, StateValueError } from '@eventloom/core';
import { modelEvent } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { CustomAgent } from './fixtures/custom-agent.ts';
import { call, scenario } from './fixtures/scenario.ts';

// Dirty reads.

test('a state change is visible immediately in the invocation and stored with the next event', async () => {
  const reads: unknown[] = [];
  const { run, state: storedState } = await scenario({
    model: [{ calls: [call('f')] }, 'done'],
    agent: {
      instruction: 'Step {step?}.',
      beforeModelCallback: async ({ context, request }) => {
        reads.push([request.config.systemInstruction, context.state.get('step')]);
        context.state.set('step', reads.length);
        expect(await storedState()).toEqual(reads.length === 1 ? {} : { step: 'tool' });
      },
      tools: [
        new FunctionTool({
          name: 'f',
          description: '',
          execute: async (_, { state }) => {
            reads.push(state.get('step'));
            expect(await storedState()).toEqual({ step: 1 });
            state.set('step', 'tool');
            expect(state.get('step')).toBe('tool');
            expect(await storedState()).toEqual({ step: 1 });
          },
        }),
      ],
    },
  });
  await run();
  const identity = 'You are an agent. Your internal name is "bot".';
  expect(reads).toEqual([[`Step .\n\n${identity}`, undefined], 1, [`Step tool.\n\n${identity}`, 'tool']]);
});

test('a removal is visible immediately and stored with the next event, and null is a value', async () => {
  const { run, state } = await scenario({
    model: [{ calls: [call('f')] }, 'done'],
    agent: {
      tools: [
        new FunctionTool({
          name: 'f',
          description: '',
          execute: (_, { state }) => {
            state.remove('gone');
            state.set('none', null);
            expect([state.has('gone'), state.get('gone', 'default'), state.has('none'), state.get('none')]).toEqual([
              false,
              'default',
              true,
              null,
            ]);
          },
        }),
      ],
    },
    state: { gone: 1, 'user:gone': 2 },
  });
  const events = await run();
  expect(events[1]?.actions).toEqual({ stateDelta: { none: null }, removedState: ['gone'], artifactDelta: {} });
  expect(await state()).toEqual({ none: null, 'user:gone': 2 });
});

test('a key removed by one tool and set by a later one is set', async () => {
  const tool = (name: string, execute: (state: CallbackContext['state']) => void) =>
    new FunctionTool({ name, description: '', execute: (_, { state }) => execute(state) });
  const calls = [
    { name: 'remove', args: {} },
    { name: 'set', args: {} },
  ];
  const { run, state } = await scenario({
    model: [{ calls }, 'done'],
    agent: {
      tools: [tool('remove', (state) => state.remove('key')), tool('set', (state) => state.set('key', 2))],
    },
    state: { key: 1 },
  });
  await run();
  expect(await state()).toEqual({ key: 2 });
});

// Refused state changes

test.each([
  ['an empty key', '', 1, StateKeyError],
  ['an empty key behind a prefix', 'user:', 1, StateKeyError],
  ['a map', 'when', new Map(), StateValueError],
  ['a function', 'nothing', () => 1, StateValueError],
])('set throws at once for %s', async (_, key, value, error) => {
  let thrown: unknown;
  const { run, state } = await scenario({
    model: [{ calls: [call('f')] }, 'done'],
    agent: {
      tools: [
        new FunctionTool({
          name: 'f',
          description: '',
          execute: (__, { state }) => {
            try {
              state.set(key, value);
            } catch (fault) {
              thrown = fault;
            }
          },
        }),
      ],
    },
  });
  await run();
  expect(thrown).toBeInstanceOf(error);
  expect(await state()).toEqual({});
});

test('changing an object after set or get does not change state', async () => {
  const { run, state } = await scenario({
    model: [{ calls: [call('f')] }, 'done'],
    agent: {
      tools: [
        new FunctionTool({
          name: 'f',
          description: '',
          execute: (_, { state }) => {
            const list = [1];
            state.set('list', list);
            list.push(2);
            state.get<number[]>('list')?.push(3);
          },
        }),
      ],
    },
  });
  await run();
  expect(await state()).toEqual({ list: [1] });
});

test('keys such as __proto__ are data', async () => {
  const { run, state } = await scenario({
    agent: new CustomAgent('bot', async function* (context) {
      const { state } = new CallbackContext({ invocationContext: context, eventActions: createEventActions() });
      expect([state.has('constructor'), state.get('toString')]).toEqual([false, undefined]);
      const stateDelta = JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}') as Record<string, unknown>;
      yield modelEvent('bot', 'one', { actions: { stateDelta } });
      expect(state.get('__proto__')).toEqual({ polluted: true });
    }),
  });
  await run();
  expect(Object.entries((await state()) ?? {})).toEqual([
    ['__proto__', { polluted: true }],
    ['constructor', 1],
  ]);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});
