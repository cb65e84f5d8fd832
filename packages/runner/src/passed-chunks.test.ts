import { type Event, RunAbortedError, StreamingMode } from '@eventloom/core';
import { Gate, modelEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { abortable } from './fixtures/aborted-run.ts';
import type { Script } from './fixtures/custom-agent.ts';
import { expectFree } from './fixtures/scenario.ts';

// Chunks pass the generator of the run by. Their reader must not be able to tell.

const chunk = (text: string): Event => modelEvent('bot', text, { partial: true });
const textOf = (event: Event | void): string | undefined => event?.content?.parts?.[0]?.text;

/** Starts a streamed run of a custom agent. */
async function stream(agent: Script) {
  const { runner, hi, ...rest } = await abortable({ agent });
  const abort = new AbortController();
  const runConfig = { streamingMode: StreamingMode.SSE };
  return { ...rest, runner, abort, run: runner.runAsync({ ...hi, runConfig, abortSignal: abort.signal }) };
}

test('calls of next that do not wait for each other get chunks and events in order, each stored before the next step', async () => {
  let isStored = false;
  const { run } = await stream(async function* (context) {
    for (const text of ['a', 'b', 'c']) yield chunk(text);
    yield modelEvent('bot', 'abc');
    isStored = context.session.events.some((event) => textOf(event) === 'abc');
  });
  expect(textOf((await run.next()).value)).toBe('a');
  const steps = await Promise.all([run.next(), run.next(), run.next(), run.next(), run.next()]);
  expect(steps.map(({ value }) => textOf(value))).toEqual(['b', 'c', 'abc', undefined, undefined]);
  expect(steps.map(({ done }) => done)).toEqual([false, false, false, true, true]);
  expect(isStored).toBe(true);
});

test('calls of next at any moment are answered in order, and an abort ends all of them', async () => {
  const texts = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  for (let turns = 0; turns < 12; turns++)
    for (let moreTurns = 0; moreTurns < 12; moreTurns++) {
      const gate = new Gate();
      const { run, abort } = await stream(async function* () {
        for (const text of texts) yield chunk(text);
        await gate.pass();
      });
      const answers: unknown[] = [];
      const asked: Promise<unknown>[] = [];
      const ask = (): void => {
        const at = asked.length;
        const answered = ({ value }: { value: Event | void }) => answers.push([at, textOf(value)]);
        asked.push(run.next().then(answered, () => undefined));
      };
      ask();
      ask();
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      ask();
      for (let turn = 0; turn < moreTurns; turn++) await Promise.resolve();
      while (asked.length <= texts.length) ask();
      await gate.reached;
      abort.abort();
      await Promise.all(asked);
      expect(answers.slice(0, texts.length)).toEqual(Array.from(texts.entries()));
    }
});

test('a reader that leaves while it waits for a chunk gets that chunk, and then the end', async () => {
  const gate = new Gate();
  const { run, runner, stored } = await stream(async function* () {
    yield chunk('a');
    await gate.pass();
    yield chunk('b');
    expect.unreachable();
  });
  await run.next();
  const order: unknown[] = [];
  const pending = run.next().then(({ value }) => order.push(textOf(value)));
  const left = run.return().then(({ done }) => order.push(done));
  await new Promise((resolve) => void setImmediate(resolve));
  expect(order).toEqual([]);
  gate.open();
  await Promise.all([pending, left]);
  expect(order).toEqual(['b', true]);
  expect((await stored()).at(-1)?.errorCode).toBe('RUN_ABORTED');
  await expectFree(runner);
});

test('an abort ends the wait for a chunk of an agent that ignores it', async () => {
  const gate = new Gate();
  const { run, runner, abort, stored } = await stream(async function* () {
    yield chunk('a');
    await gate.pass();
    yield chunk('b');
  });
  await run.next();
  const pending = run.next();
  await gate.reached;
  abort.abort();
  await expect(pending).rejects.toBeInstanceOf(RunAbortedError);
  expect((await stored()).at(-1)?.errorCode).toBe('RUN_ABORTED');
  gate.open();
  await expectFree(runner);
});

test('an abort between two chunks ends the run at the next one', async () => {
  const { run, abort } = await stream(async function* () {
    yield chunk('a');
    yield chunk('b');
    yield chunk('c');
  });
  await run.next();
  await run.next();
  abort.abort();
  await expect(run.next()).rejects.toBeInstanceOf(RunAbortedError);
});

test('an agent that fails after a chunk fails its run, and the failure is stored', async () => {
  const { run, runner, stored } = await stream(async function* () {
    yield chunk('a');
    yield chunk('b');
    throw new Error('broken');
  });
  await run.next();
  await run.next();
  // The error event, and then the error itself.
  expect((await run.next()).value).toMatchObject({ errorCode: 'AGENT' });
  await expect(run.next()).rejects.toThrow('broken');
  expect((await stored()).at(-1)?.errorCode).toBe('AGENT');
  await expectFree(runner);
});

test('a chunk that is not an event after another chunk fails the run with what is wrong', async () => {
  const { run, runner, stored } = await stream(async function* () {
    yield chunk('a');
    yield { partial: true, content: 'text' } as unknown as Event;
  });
  await run.next();
  expect((await run.next()).value).toMatchObject({ errorMessage: expect.stringContaining('agent "bot"') });
  await expect(run.next()).rejects.toThrow('agent "bot"');
  expect((await stored()).at(-1)?.errorMessage).toContain('agent "bot"');
  await expectFree(runner);
});

test('chunks are completed with the fields of the run', async () => {
  const { run } = await stream(async function* () {
    yield { partial: true, content: { role: 'model', parts: [{ text: 'a' }] } } as Event;
    yield { partial: true, content: { role: 'model', parts: [{ text: 'b' }] } } as Event;
  });
  const first = (await run.next()).value;
  const second = (await run.next()).value;
  expect(second).toMatchObject({ author: 'bot', invocationId: run.invocationId, partial: true });
  expect(Object.keys(second ?? {})).toEqual(Object.keys(first ?? {}));
});
