import { BaseAgent, type Event, getFunctionResponses, type InvocationContext } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Gate, ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';
import { KEY, responseOf } from './fixtures/scenario.ts';
import { chunksOf, ONE, streaming } from './fixtures/streaming-run.ts';

/** An agent that stops reading its sub-agent at the first chunk of a tool. */
class Impatient extends BaseAgent {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    for (const agent of this.subAgents) {
      for await (const event of agent.runAsync(context)) {
        yield event;
        if (chunksOf([event]).length > 0) break;
      }
    }
    yield context.createEvent({ content: { role: 'model', parts: [{ text: 'Enough.' }] } });
  }
}

test.each([
  ['aborted', true],
  ['left', false],
])('when the run is %s the finally blocks of its generators run', async (_, aborts) => {
  const closed = new Gate();
  const { start, stored } = await streaming(async function* () {
    try {
      for (;;) yield 'again';
    } finally {
      await closed.pass();
    }
  });
  closed.open();
  const abort = new AbortController();
  const reading = (async () => {
    for await (const event of start('hi', { abortSignal: abort.signal })) {
      if (chunksOf([event]).length === 0) continue;
      if (!aborts) break;
      abort.abort();
    }
  })();
  if (aborts) await expect(reading).rejects.toThrow('aborted');
  else await reading;
  await closed.reached;
  const responses = (await stored()).flatMap(getFunctionResponses).map(({ response }) => response);
  expect(responses).toEqual([{ error: 'interrupted', message: expect.any(String) as string }]);
});

test('a generator tool of an abandoned agent is closed and counts as interrupted', async () => {
  let closed = false;
  const { runner, sessionService } = await streaming(() => '');
  const tool = new FunctionTool({
    name: 'f',
    description: '',
    execute: async function* () {
      try {
        for (;;) yield 'again';
      } finally {
        closed = true;
      }
    },
  });
  const child = new LlmAgent({ name: 'child', model: new ScriptedModel([ONE]), tools: [tool] });
  const agent = new Impatient({ name: 'impatient', subAgents: [child] });
  const outer = new Runner({ appName: 'app', agent, sessionService, platform: runner.platform });
  const events = await outer.run({ userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } });
  expect(closed).toBe(true);
  expect(events.at(-2)?.content?.parts).toEqual([{ text: 'Enough.' }]);
  expect(responseOf(events.at(-1))).toMatchObject({ error: 'interrupted' });
  const { invocationId = '' } = events[0] ?? {};
  expect(await sessionService.listToolCalls({ ...KEY, invocationId })).toMatchObject([{ status: 'started' }]);
});

test('a generator tool that awaits during the abort is closed after its await', async () => {
  const closed = new Gate();
  const waiting = new Gate();
  const abort = new AbortController();
  const { start } = await streaming(async function* () {
    try {
      await waiting.pass();
      yield 'late';
      yield 'later';
    } finally {
      await closed.pass();
    }
  });
  const reading = (async () => {
    for await (const _ of start('hi', { abortSignal: abort.signal }));
  })();
  await waiting.reached;
  abort.abort();
  await expect(reading).rejects.toThrow('aborted');
  waiting.open();
  await closed.reached;
});
