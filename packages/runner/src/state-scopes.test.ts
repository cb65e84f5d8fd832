import { CallbackContext } from '@eventloom/core';
import { modelEvent } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { CustomAgent } from './fixtures/custom-agent.ts';
import { call, KEY, scenario } from './fixtures/scenario.ts';

// temp:

test('temp: state is visible in the invocation, never stored, and gone in the next', async () => {
  const seen: unknown[] = [];
  const agent = new CustomAgent('bot', async function* (context) {
    seen.push(context.session.state['temp:note']);
    yield modelEvent('bot', 'one', { actions: { stateDelta: { 'temp:note': 'here', kept: 1 } } });
    seen.push(context.session.state['temp:note']);
    new CallbackContext({ invocationContext: context }).state.set('temp:other', 2);
    seen.push(context.session.state['temp:other']);
  });
  const { run, state, sessionService } = await scenario({ agent });
  const [event] = await run();
  await run();
  expect(seen).toEqual([undefined, 'here', 2, undefined, 'here', 2]);
  expect(await state()).toEqual({ kept: 1 });
  expect(event?.actions.stateDelta).toEqual({ kept: 1 });
  const session = await sessionService.getSession(KEY);
  expect(session?.events.map((stored_) => stored_.actions.stateDelta)).toEqual([{}, { kept: 1 }, {}, { kept: 1 }]);
});

test('temp: state of a tool is read by later callbacks and instructions', async () => {
  const { run } = await scenario({
    model: [{ calls: [call('f')] }, { text: 'done', expect: { systemInstruction: 'Note: secret' } }],
    agent: {
      instruction: 'Note: {temp:note?}',
      tools: [
        new FunctionTool({ name: 'f', description: '', execute: (_, { state }) => state.set('temp:note', 'secret') }),
      ],
    },
  });
  expect((await run())[1]?.actions.stateDelta).toEqual({});
});

// Scopes.

test('app: and user: state is shared within its scope', async () => {
  const agent = new CustomAgent('bot', async function* (context) {
    const { state } = context.session;
    yield modelEvent('bot', JSON.stringify(state), {
      actions: { stateDelta: { 'app:a': 1, 'user:b': 2, c: 3 } },
    });
  });
  const { runner, run } = await scenario({ agent });
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

test('a run reads state that was changed between two runs', async () => {
  const agent = new CustomAgent('bot', async function* (context) {
    yield modelEvent('bot', String(context.session.state['key']), { actions: { stateDelta: { key: 'run' } } });
  });
  const { run, sessionService } = await scenario({ agent });
  await run();
  await run();
  const session = (await sessionService.getSession(KEY)) ?? expect.unreachable();
  const event = modelEvent('user', 'patched', { id: 'patch', actions: { stateDelta: { key: 'patched' } } });
  await sessionService.appendEvent({ session, event });
  expect((await run())[0]?.content?.parts?.[0]?.text).toBe('patched');
});

// Failure.

test('uncommitted state of a failed run is never visible', async () => {
  let run_ = 0;
  const agent = new CustomAgent('bot', async function* (context) {
    const { state } = new CallbackContext({ invocationContext: context });
    if (run_++ > 0) {
      yield modelEvent('bot', String(state.get('lost')));
      return;
    }
    yield modelEvent('bot', 'one');
    state.set('lost', 1);
    throw new TypeError('broken');
  });
  const { run, state } = await scenario({ agent });
  await expect(run()).rejects.toThrow('broken');
  expect(await state()).toEqual({});
  expect((await run())[0]?.content?.parts?.[0]?.text).toBe('undefined');
});
