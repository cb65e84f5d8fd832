import { BasePlugin, type Content, type Event, EventloomError, RunAbortedError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { isCompletion } from './fixtures/is-completion.ts';
import { throwing, twice } from './fixtures/failing-agents.ts';
import { KEY, runToError, saying, scenario } from './fixtures/scenario.ts';

test('the completion event comes last and once, is never stored, and has the outcome', async () => {
  const { run, stored } = await scenario({ agent: twice });
  const events = await run('hi', { runConfig: { completionEvent: true, requestId: 'r1' } });
  expect(events.map(isCompletion)).toEqual([false, false, true]);
  expect(events[2]).toMatchObject({
    author: 'app',
    object: 'runner.completion',
    requestId: 'r1',
    customMetadata: { outcome: 'completed' },
  });
  expect(await stored()).toHaveLength(3);
});

test('a failed run yields its error event and the completion event, then throws', async () => {
  const { start } = await scenario({ agent: throwing });
  const { events, error } = await runToError(start('hi', { runConfig: { completionEvent: true } }));
  expect(EventloomError.isInstance(error)).toBe(true);
  expect(events.map((event) => event.object)).toEqual(['error', 'runner.completion']);
  expect(events[1]?.customMetadata).toEqual({ outcome: 'failed' });
});

test('an aborted run yields the completion event, then throws', async () => {
  const { runner } = await scenario({ agent: twice });
  const controller = new AbortController();
  const events: Event[] = [];
  const running = (async () => {
    for await (const event of runner.runAsync(
      saying('hi', { abortSignal: controller.signal, runConfig: { completionEvent: true } }),
    )) {
      events.push(event);
      controller.abort();
    }
  })();
  await expect(running).rejects.toBeInstanceOf(RunAbortedError);
  expect(events.map((event) => event.object)).toEqual([undefined, 'runner.completion']);
  expect(events[1]?.customMetadata).toEqual({ outcome: 'aborted' });
});

test.each(['before it is asked for anything', 'while it waits for its session'])(
  'a run that is aborted %s yields the completion event and then throws',
  async (when) => {
    const { runner, stored } = await scenario({ agent: twice });
    await runner.sessionService.acquireLease(KEY);
    const controller = new AbortController();
    if (when.startsWith('before')) controller.abort();
    const runConfig = { completionEvent: true, requestId: 'r1', customMetadata: { mine: 1 } };
    const stream = runner.runAsync(saying('hi', { abortSignal: controller.signal, runConfig }));
    const first = stream.next();
    controller.abort();
    expect((await first).value).toMatchObject({
      object: 'runner.completion',
      invocationId: stream.invocationId,
      author: 'app',
      requestId: 'r1',
      customMetadata: { mine: 1, outcome: 'aborted' },
    });
    await expect(stream.next()).rejects.toBeInstanceOf(RunAbortedError);
    expect(await stored()).toEqual([]);
  },
);

test('a run that is refused has no completion event', async () => {
  const { start } = await scenario({ agent: twice });
  const { events } = await runToError(start('hi', { newMessage: { parts: [] }, runConfig: { completionEvent: true } }));
  expect(events).toEqual([]);
});

test('a run answered by beforeRunCallback also has a completion event', async () => {
  class Answering extends BasePlugin {
    override beforeRunCallback(): Content {
      return { parts: [{ text: 'closed' }] };
    }
  }
  const { run } = await scenario({ agent: throwing, plugins: [new Answering('answering')] });
  const events = await run('hi', { runConfig: { completionEvent: true } });
  expect(events.map((event) => event.object)).toEqual([undefined, 'runner.completion']);
});
