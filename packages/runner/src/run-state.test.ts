import {
  BaseAgent,
  CallbackContext,
  createEventActions,
  type Event,
  type InvocationContext,
  StateKeyError,
  StateValueError,
} from '@eventloom/core';
import { LlmAgent, type LlmAgentConfig } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, modelEvent, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';

type Script = (context: InvocationContext) => AsyncGenerator<Event, void, void>;

class CustomAgent extends BaseAgent {
  readonly #script: Script;

  constructor(script: Script) {
    super({ name: 'bot' });
    this.#script = script;
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return this.#script(context);
  }
}

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };

async function setUp(agent: BaseAgent, state: Record<string, unknown> = {}) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession({ ...KEY, state });
  const runner = new Runner({ appName: 'app', agent, sessionService, platform });
  const run = (): Promise<Event[]> =>
    runner.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } });
  const stored = async () => (await sessionService.getSession(KEY))?.state;
  return { runner, run, stored, sessionService };
}

function llm(steps: readonly ScriptedStep[], config: Partial<LlmAgentConfig> = {}): LlmAgent {
  return new LlmAgent({ name: 'bot', model: new ScriptedModel(steps), ...config });
}

const calling: ScriptedStep = { calls: [{ name: 'f', args: {} }] };

// Dirty reads.

test('a write shows at once to everything in the invocation and is stored with the next event', async () => {
  const reads: unknown[] = [];
  const { run, stored } = await setUp(
    llm([calling, 'done'], {
      instruction: 'Step {step?}.',
      beforeModelCallback: async ({ context, request }) => {
        reads.push([request.config.systemInstruction, context.state.get('step')]);
        context.state.set('step', reads.length);
        expect(await stored()).toEqual(reads.length === 1 ? {} : { step: 'tool' });
      },
      tools: [
        new FunctionTool({
          name: 'f',
          description: '',
          execute: async (_, { state }) => {
            reads.push(state.get('step'));
            expect(await stored()).toEqual({ step: 1 });
            state.set('step', 'tool');
            expect(state.get('step')).toBe('tool');
            expect(await stored()).toEqual({ step: 1 });
          },
        }),
      ],
    }),
  );
  await run();
  const identity = 'You are an agent. Your internal name is "bot".';
  expect(reads).toEqual([[`Step .\n\n${identity}`, undefined], 1, [`Step tool.\n\n${identity}`, 'tool']]);
});

test('a removal shows at once and is stored with the next event, and null stays a value', async () => {
  const { run, stored } = await setUp(
    llm([calling, 'done'], {
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
    }),
    { gone: 1, 'user:gone': 2 },
  );
  const events = await run();
  expect(events[1]?.actions).toEqual({ stateDelta: { none: null }, removedState: ['gone'], artifactDelta: {} });
  expect(await stored()).toEqual({ none: null, 'user:gone': 2 });
});

test('a key that one tool removes and a later one sets is set', async () => {
  const tool = (name: string, execute: (state: CallbackContext['state']) => void) =>
    new FunctionTool({ name, description: '', execute: (_, { state }) => execute(state) });
  const calls = [
    { name: 'remove', args: {} },
    { name: 'set', args: {} },
  ];
  const { run, stored } = await setUp(
    llm([{ calls }, 'done'], {
      tools: [tool('remove', (state) => state.remove('key')), tool('set', (state) => state.set('key', 2))],
    }),
    { key: 1 },
  );
  await run();
  expect(await stored()).toEqual({ key: 2 });
});

// temp:

test('temp: state is seen by the rest of the invocation, stored nowhere, and gone in the next', async () => {
  const seen: unknown[] = [];
  const agent = new CustomAgent(async function* (context) {
    seen.push(context.session.state['temp:note']);
    yield modelEvent('bot', 'one', { actions: { stateDelta: { 'temp:note': 'here', kept: 1 } } });
    seen.push(context.session.state['temp:note']);
    new CallbackContext({ invocationContext: context }).state.set('temp:other', 2);
    seen.push(context.session.state['temp:other']);
  });
  const { run, stored, sessionService } = await setUp(agent);
  const [event] = await run();
  await run();
  expect(seen).toEqual([undefined, 'here', 2, undefined, 'here', 2]);
  expect(await stored()).toEqual({ kept: 1 });
  expect(event?.actions.stateDelta).toEqual({ kept: 1 });
  const session = await sessionService.getSession(KEY);
  expect(session?.events.map((stored_) => stored_.actions.stateDelta)).toEqual([{}, { kept: 1 }, {}, { kept: 1 }]);
});

test('temp: state of a tool is read by later callbacks and instructions', async () => {
  const { run } = await setUp(
    llm([calling, { text: 'done', expect: { systemInstruction: 'Note: secret' } }], {
      instruction: 'Note: {temp:note?}',
      tools: [
        new FunctionTool({ name: 'f', description: '', execute: (_, { state }) => state.set('temp:note', 'secret') }),
      ],
    }),
  );
  expect((await run())[1]?.actions.stateDelta).toEqual({});
});

// Scopes.

test('app: and user: state is shared as far as it reaches', async () => {
  const agent = new CustomAgent(async function* (context) {
    const { state } = context.session;
    yield modelEvent('bot', JSON.stringify(state), {
      actions: { stateDelta: { 'app:a': 1, 'user:b': 2, c: 3 } },
    });
  });
  const { runner, run } = await setUp(agent);
  for (const [userId, sessionId] of [
    ['u', 'other'],
    ['v', 's'],
  ] as const) {
    await runner.sessionService.createSession({ appName: 'app', userId, sessionId });
  }
  const textIn = async (userId: string, sessionId: string): Promise<string | undefined> => {
    const events = await runner.run({ userId, sessionId, newMessage: { parts: [{ text: 'hi' }] } });
    return events[0]?.content?.parts?.[0]?.text;
  };
  await run();
  expect(JSON.parse((await textIn('u', 'other')) ?? '')).toEqual({ 'app:a': 1, 'user:b': 2 });
  expect(JSON.parse((await textIn('v', 's')) ?? '')).toEqual({ 'app:a': 1 });
});

test('state that somebody changed between two runs is what the second run reads', async () => {
  const agent = new CustomAgent(async function* (context) {
    yield modelEvent('bot', String(context.session.state['key']), { actions: { stateDelta: { key: 'run' } } });
  });
  const { run, sessionService } = await setUp(agent);
  await run();
  await run();
  const session = (await sessionService.getSession(KEY)) ?? expect.unreachable();
  const event = modelEvent('user', 'patched', { id: 'patch', actions: { stateDelta: { key: 'patched' } } });
  await sessionService.appendEvent({ session, event });
  expect((await run())[0]?.content?.parts?.[0]?.text).toBe('patched');
});

// What is refused.

test.each([
  ['an empty key', '', 1, StateKeyError],
  ['an empty key behind a prefix', 'user:', 1, StateKeyError],
  ['a date', 'when', new Date(), StateValueError],
  ['undefined', 'nothing', undefined, StateValueError],
])('a tool that sets %s is told so at once', async (_, key, value, error) => {
  let thrown: unknown;
  const { run, stored } = await setUp(
    llm([calling, 'done'], {
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
    }),
  );
  await run();
  expect(thrown).toBeInstanceOf(error);
  expect(await stored()).toEqual({});
});

test('an object that was set or got can be changed without changing state', async () => {
  const { run, stored } = await setUp(
    llm([calling, 'done'], {
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
    }),
  );
  await run();
  expect(await stored()).toEqual({ list: [1] });
});

test('keys that objects inherit are data', async () => {
  const { run, stored } = await setUp(
    new CustomAgent(async function* (context) {
      const { state } = new CallbackContext({ invocationContext: context, eventActions: createEventActions() });
      expect([state.has('constructor'), state.get('toString')]).toEqual([false, undefined]);
      const stateDelta = JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}') as Record<string, unknown>;
      yield modelEvent('bot', 'one', { actions: { stateDelta } });
      expect(state.get('__proto__')).toEqual({ polluted: true });
    }),
  );
  await run();
  expect(Object.entries((await stored()) ?? {})).toEqual([
    ['__proto__', { polluted: true }],
    ['constructor', 1],
  ]);
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
});

// Failure.

test('state of a failed run that no event carried is seen by nobody afterwards', async () => {
  let run_ = 0;
  const agent = new CustomAgent(async function* (context) {
    const { state } = new CallbackContext({ invocationContext: context });
    if (run_++ > 0) {
      yield modelEvent('bot', String(state.get('lost')));
      return;
    }
    yield modelEvent('bot', 'one');
    state.set('lost', 1);
    throw new TypeError('broken');
  });
  const { run, stored } = await setUp(agent);
  await expect(run()).rejects.toThrow('broken');
  expect(await stored()).toEqual({});
  expect((await run())[0]?.content?.parts?.[0]?.text).toBe('undefined');
});
