import { ModelError } from '@eventloom/core';
import { ScriptedLiveModel, ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import {
  BaseAgent,
  BasePlugin,
  type Context,
  type Event,
  FunctionTool,
  InMemoryRunner,
  type InvocationContext,
  LiveRequestQueue,
  LlmAgent,
  LoggingPlugin,
  node,
  type NodeContext,
  type RunConfig,
  Workflow,
} from './index.ts';

/** Records the agents and runs that the plugin was called after, as plugins of the ADK do. */
class Ends extends BasePlugin {
  readonly calls: string[] = [];

  override afterAgentCallback(): undefined {
    this.calls.push('after agent');
  }

  override afterRunCallback(): void {
    this.calls.push('after');
  }
}

/** Records the failed ones too. */
class EndsAndErrors extends Ends {
  override onAgentErrorCallback(): undefined {
    this.calls.push('agent error');
  }

  override onRunErrorCallback(): void {
    this.calls.push('error');
  }
}

async function talk(
  model: ScriptedModel,
  runConfig: RunConfig = {},
  plugin: BasePlugin = new Ends('ends'),
): Promise<(string | undefined)[]> {
  const agent = new LlmAgent({ name: 'helper', model });
  const runner = new InMemoryRunner({ agent, appName: 'app', plugins: [plugin] });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'ann' });
  const codes = [];
  const newMessage = { role: 'user', parts: [{ text: 'Hello?' }] };
  for await (const { errorCode } of runner.runAsync({ userId: 'ann', sessionId, newMessage, runConfig }))
    codes.push(errorCode);
  return codes;
}

test("an error of a model's service ends the run with an error event, and is not thrown", async () => {
  const error = new ModelError('the model is overloaded', { errorCode: 'UNAVAILABLE' });
  expect(await talk(new ScriptedModel([error]))).toEqual(['UNAVAILABLE']);
});

test('afterAgentCallback is called after a failed call of the model', async () => {
  const model = new ScriptedModel([new ModelError('the model is overloaded', { errorCode: 'UNAVAILABLE' })]);
  const afterAgentCallback = ({ state }: Context) => {
    state.set('ended', true);
    return { role: 'model', parts: [{ text: 'Sorry.' }] };
  };
  const agent = new LlmAgent({ name: 'helper', model, afterAgentCallback });
  const runner = new InMemoryRunner({ agent, appName: 'app' });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'ann' });
  const newMessage = { role: 'user', parts: [{ text: 'Hello?' }] };
  const events = await runner.run({ userId: 'ann', sessionId, newMessage });
  expect(events.map(({ errorCode, content }) => errorCode ?? content?.parts?.[0]?.text)).toEqual([
    'UNAVAILABLE',
    'Sorry.',
  ]);
  const session = await runner.sessionService.getSession({ appName: 'app', userId: 'ann', sessionId });
  expect(session?.state).toEqual({ ended: true });
});

test('another error of a model is thrown, because its event does not have the message', async () => {
  await expect(talk(new ScriptedModel([new Error('the password is 1234')]))).rejects.toThrow('the password is 1234');
});

test('one call too many ends the run with an error event, and is not thrown', async () => {
  const calls = [{ name: 'nothing' }];
  const model = new ScriptedModel([{ calls }, { calls }]);
  expect(await talk(model, { maxLlmCalls: 1 })).toEqual([undefined, undefined, 'LLM_CALL_LIMIT']);
});

test.each([
  ['afterRunCallback of a plugin', new Ends('ends'), ['after']],
  ['onRunErrorCallback of a plugin that has both', new EndsAndErrors('ends'), ['agent error', 'error']],
])('%s is called after a run whose error is only an event', async (_title, ends, calls) => {
  await talk(new ScriptedModel([new ModelError('the model is overloaded', { errorCode: 'UNAVAILABLE' })]), {}, ends);
  expect(ends.calls).toEqual(calls);
});

test('afterRunCallback is not called after a run whose error is thrown', async () => {
  const ends = new Ends('ends');
  await expect(talk(new ScriptedModel([new Error('no')]), {}, ends)).rejects.toThrow('no');
  expect(ends.calls).toEqual([]);
});

test.each([
  ['afterRunCallback of a plugin', new Ends('ends'), ['after']],
  ['onRunErrorCallback of a plugin that has both', new EndsAndErrors('ends'), ['error']],
])('%s is called after a run that is aborted', async (_title, ends, calls) => {
  const abort = new AbortController();
  const stop = new FunctionTool({ name: 'stop', description: 'Stops.', execute: () => abort.abort() });
  const agent = new LlmAgent({
    name: 'helper',
    model: new ScriptedModel([{ calls: [{ name: 'stop' }] }]),
    tools: [stop],
  });
  const runner = new InMemoryRunner({ agent, appName: 'app', plugins: [ends] });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'ann' });
  const newMessage = { role: 'user', parts: [{ text: 'Stop.' }] };
  const { signal: abortSignal } = abort;
  for await (const _event of runner.runAsync({ userId: 'ann', sessionId, newMessage, abortSignal }));
  expect(ends.calls).toEqual(calls);
});

test('a LoggingPlugin logs a failed run once', async () => {
  const lines: string[] = [];
  const plugin = new LoggingPlugin({ log: (line) => lines.push(line) });
  await talk(new ScriptedModel([new ModelError('the model is overloaded', { errorCode: 'UNAVAILABLE' })]), {}, plugin);
  const ends = lines.filter((line) => /COMPLETED|FAILED|ERROR$/.test(line));
  expect(ends).toEqual(['LLM ERROR', 'AGENT ERROR', 'INVOCATION FAILED'].map((end) => `[logging_plugin] ${end}`));
});

test('the error of a live connection of the program is thrown as it is, and the queue of the run is closed', async () => {
  const lost = new Error('the line is dead');
  const model = new ScriptedLiveModel([[{ heard: 'content' }, { ends: lost }]]);
  const runner = new InMemoryRunner({ agent: new LlmAgent({ name: 'helper', model }), appName: 'app' });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'ann' });
  const liveRequestQueue = new LiveRequestQueue();
  liveRequestQueue.sendContent({ role: 'user', parts: [{ text: 'Hello?' }] });
  const stream = runner.runLive({ userId: 'ann', sessionId, liveRequestQueue });
  const read = async (): Promise<void> => {
    for await (const _event of stream);
  };
  await expect(read()).rejects.toBe(lost);
  expect([stream.failure?.message, liveRequestQueue.isClosed]).toEqual([
    'agent "helper" failed: the line is dead',
    true,
  ]);
});

test('an agent class, or a node, may run another agent after the error event of one that it ran', async () => {
  const error = new ModelError('the model is overloaded', { errorCode: 'UNAVAILABLE' });
  const tried = (): LlmAgent => new LlmAgent({ name: 'tried', model: new ScriptedModel([error]) });
  const fallback = (): LlmAgent => new LlmAgent({ name: 'fallback', model: new ScriptedModel(['Hello.']) });
  class Fallback extends BaseAgent {
    protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
      const [first, second] = this.subAgents;
      let hasFailed = false;
      for await (const event of first?.runAsync(context) ?? []) {
        yield event;
        hasFailed ||= event.errorCode !== undefined;
      }
      if (hasFailed && second) yield* second.runAsync(context);
    }
  }
  const inNode = node(
    async function* (context: NodeContext) {
      let hasFailed = false;
      for await (const { errorCode } of tried().runAsync(context.getInvocationContext()))
        hasFailed ||= Boolean(errorCode);
      yield hasFailed ? 'another way' : 'no way';
    },
    { name: 'work' },
  );
  for (const [agent, expected] of [
    [new Fallback({ name: 'root', subAgents: [tried(), fallback()] }), ['UNAVAILABLE', 'Hello.']],
    [new Workflow({ name: 'w', edges: [['START', inNode]] }), ['another way']],
  ] as const) {
    const runner = new InMemoryRunner({ agent, appName: 'app' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'ann' });
    const newMessage = { role: 'user', parts: [{ text: 'Hello?' }] };
    const events = await runner.run({ userId: 'ann', sessionId, newMessage });
    const said = events.flatMap(({ errorCode, content }) => errorCode ?? content?.parts?.[0]?.text ?? []);
    expect(said).toEqual(expected);
  }
});
