import { ScriptedModel } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { FunctionTool, InMemoryRunner, LiveRequestQueue, LlmAgent, type RunConfig } from './index.ts';

/** Runs an agent whose tool needs a confirmation, message by message, in one session. */
async function talk(model: ScriptedModel) {
  const pay = new FunctionTool({ name: 'pay', description: '', requireConfirmation: true, execute: () => 'paid' });
  const agent = new LlmAgent({ name: 'clerk', model, tools: [pay] });
  const runner = new InMemoryRunner({ agent, appName: 'app' });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'u' });
  const send = async (text: string, runConfig?: RunConfig) => {
    const events = [];
    const newMessage = { role: 'user', parts: [{ text }] };
    for await (const event of runner.runAsync({ userId: 'u', sessionId, newMessage, runConfig })) events.push(event);
    return events;
  };
  return { send, runner, sessionId };
}

const refusal = (start: string) =>
  expect.objectContaining({ code: 'CONFIGURATION', message: expect.stringMatching(`^${start}`) });

test.each([
  [{ supportCfc: true }, 'runConfig.supportCfc: true is not offered; remove it'],
  [{ supportCfc: 'no' }, 'runConfig: supportCfc: expected true or false, got a string'],
  [{ plainTextToolConfirmation: 1 }, 'runConfig: plainTextToolConfirmation: expected true or false, got the number 1'],
  [{ supportCfc: false, maxLLMCalls: 5 }, 'runConfig: has no option "maxLLMCalls"; did you mean "maxLlmCalls"'],
])('a run with %o is refused before anything is stored', async (runConfig, message) => {
  const { send, runner, sessionId } = await talk(new ScriptedModel([]));
  await expect(send('hi', runConfig as RunConfig)).rejects.toThrow(refusal(message));
  const key = { appName: 'app', userId: 'u', sessionId };
  expect((await runner.sessionService.getSession(key))?.events).toEqual([]);
});

test('a live run refuses supportCfc: true as well', async () => {
  const { runner, sessionId } = await talk(new ScriptedModel([]));
  const liveRequestQueue = new LiveRequestQueue();
  const run = runner.runLive({ userId: 'u', sessionId, liveRequestQueue, runConfig: { supportCfc: true } });
  await expect(run.next()).rejects.toThrow(refusal('runConfig.supportCfc'));
});

describe('the calls of one reply', () => {
  /** Runs three calls that each add an item to the list in state. */
  async function fillCart(runConfig?: RunConfig) {
    const add = new FunctionTool({
      name: 'add',
      description: 'Adds an item.',
      parameters: { type: 'object', properties: { item: { type: 'string' } } },
      execute: async ({ item }, { state }) => {
        const cart = state.get<unknown[]>('cart') ?? [];
        await Promise.resolve();
        state.set('cart', [...cart, item]);
      },
    });
    const calls = ['tea', 'milk', 'sugar'].map((item) => ({ name: 'add', args: { item } }));
    const agent = new LlmAgent({ name: 'shop', model: new ScriptedModel([{ calls }, 'Done.']), tools: [add] });
    const runner = new InMemoryRunner({ agent, appName: 'app', ...(runConfig && { runConfig }) });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'u' });
    const run = runner.runAsync({ userId: 'u', sessionId, newMessage: { role: 'user', parts: [{ text: 'three' }] } });
    for await (const event of run) void event;
    return (await runner.sessionService.getSession({ appName: 'app', userId: 'u', sessionId }))?.state;
  }

  test('run one after another, so that no change of state is lost', async () => {
    expect(await fillCart()).toEqual({ cart: ['tea', 'milk', 'sugar'] });
    expect(await fillCart({ maxLlmCalls: 5 })).toEqual({ cart: ['tea', 'milk', 'sugar'] });
  });

  test('run in parallel with maxParallelToolCalls', async () => {
    expect(await fillCart({ maxParallelToolCalls: 3 })).toEqual({ cart: ['sugar'] });
  });
});

describe('with plainTextToolConfirmation', () => {
  const runConfig: RunConfig = { plainTextToolConfirmation: true };
  const call = { calls: [{ id: 'c1', name: 'pay' }] };

  test('a text that says more than yes or no is a message, and the confirmation stays open', async () => {
    const model = new ScriptedModel([call, 'Which one?', 'Done.']);
    const { send } = await talk(model);
    await send('pay', runConfig);
    expect(await send('yes, but later', runConfig)).toMatchObject([{ content: { parts: [{ text: 'Which one?' }] } }]);
    // Another message stands between the question and this answer.
    expect(await send('yes', runConfig)).toMatchObject([{ content: { parts: [{ text: 'Done.' }] } }]);
  });

  test('two questions of a reply are answered one after the other', async () => {
    const model = new ScriptedModel([{ calls: [...call.calls, { id: 'c2', name: 'pay' }] }, 'One is paid.']);
    const { send } = await talk(model);
    await send('pay', runConfig);
    const events = await send('ok', runConfig);
    expect(events[0]?.content?.parts).toMatchObject([{ functionResponse: { id: 'c1', response: { result: 'paid' } } }]);
  });

  test('without it, a yes is a message', async () => {
    const { send } = await talk(new ScriptedModel([call, 'Yes to what?']));
    await send('pay');
    expect(await send('yes')).toMatchObject([{ content: { parts: [{ text: 'Yes to what?' }] } }]);
  });
});
