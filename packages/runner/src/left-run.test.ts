import { BaseLlm, type EndRunRequest, type Event, type LlmResponse, type SessionLease } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { modelEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { abortable } from './fixtures/aborted-run.ts';
import { expectFree } from './fixtures/scenario.ts';

// Consumers that stop reading.

test('a reader that stops ends the run: the agent is closed, its work is aborted, and the session is unlocked', async () => {
  let isCleaned = false;
  let signal: AbortSignal | undefined;
  const { runner, hi, texts } = await abortable({
    async *agent(context) {
      signal = context.abortSignal;
      try {
        yield modelEvent('bot', 'one');
        expect.unreachable();
      } finally {
        for (let turn = 0; turn < 5; turn++) await Promise.resolve();
        isCleaned = true;
      }
    },
  });
  for await (const _ of runner.runAsync({ ...hi, runConfig: { completionEvent: true } })) break;
  expect(isCleaned).toBe(true);
  expect(signal?.aborted).toBe(true);
  expect(await texts()).toEqual(['hi', 'one']);
  await expectFree(runner);
});

test('a reader that stops at a chunk closes the model call, and the chunks so far are stored', async () => {
  let isClosed = false;
  class Endless extends BaseLlm {
    override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
      try {
        for (;;) yield { content: { role: 'model', parts: [{ text: 'and ' }] }, partial: true };
      } finally {
        isClosed = true;
      }
    }
  }
  const agent = new LlmAgent({ name: 'bot', model: new Endless({ model: 'endless' }) });
  const { runner, hi, stored } = await abortable({ agent });
  let chunks = 0;
  for await (const _ of runner.runAsync({ ...hi, runConfig: { streamingMode: 'sse' } })) if (++chunks === 3) break;
  expect(isClosed).toBe(true);
  const parts = [{ text: 'and and and ' }];
  expect((await stored()).slice(1)).toMatchObject([
    { content: { parts }, errorCode: 'RUN_ABORTED', interrupted: true },
  ]);
  await expectFree(runner);
});

test("an error in the reader's loop ends the run", async () => {
  const { runner, hi } = await abortable({
    async *agent() {
      yield modelEvent('bot', 'one');
      expect.unreachable();
    },
  });
  const reading = async () => {
    for await (const _ of runner.runAsync(hi)) throw new RangeError('consumer');
  };
  await expect(reading()).rejects.toThrow('consumer');
  await expectFree(runner);
});

test("work awaited in the agent's finally block is aborted first", async () => {
  const { runner, hi } = await abortable({
    async *agent({ abortSignal }) {
      const stopped = new Promise((resolve) => abortSignal.addEventListener('abort', resolve));
      try {
        yield modelEvent('bot', 'one');
      } finally {
        await stopped;
      }
    },
  });
  for await (const _ of runner.runAsync(hi)) break;
  await expectFree(runner);
});

test('an error in a finally block after the reader left is reported, not thrown', async () => {
  const { runner, hi, platform } = await abortable({
    async *agent() {
      try {
        yield modelEvent('bot', 'one');
      } finally {
        // oxlint-disable-next-line eslint/no-unsafe-finally -- user code may do so
        throw new RangeError('cleanup');
      }
    },
  });
  for await (const _ of runner.runAsync(hi)) break;
  await expectFree(runner);
  await expect(platform.drain()).rejects.toThrow('cleanup');
});

test('a finally block that throws the abort is not a failure', async () => {
  const { runner, hi, platform } = await abortable({
    async *agent({ abortSignal }) {
      const failing = new Promise((_, reject) =>
        abortSignal.addEventListener('abort', () => reject(new DOMException('stopped', 'AbortError'))),
      );
      try {
        yield modelEvent('bot', 'one');
      } finally {
        await failing;
      }
    },
  });
  for await (const _ of runner.runAsync(hi)) break;
  await expectFree(runner);
  await platform.drain();
});

test('the stream ends after its session is unlocked', async () => {
  let isReleased = false;
  class SlowService extends InMemorySessionService {
    override async endRun(lease: SessionLease, request: EndRunRequest): Promise<Event | undefined> {
      for (let turn = 0; turn < 10; turn++) await Promise.resolve();
      const event = await super.endRun(lease, request);
      isReleased = true;
      return event;
    }

    override async releaseLease(...args: Parameters<InMemorySessionService['releaseLease']>): Promise<void> {
      for (let turn = 0; turn < 10; turn++) await Promise.resolve();
      await super.releaseLease(...args);
      isReleased = true;
    }
  }
  const sessionService = new SlowService();
  const { runner, hi } = await abortable({
    async *agent() {
      yield modelEvent('bot', 'one');
    },
    sessionService,
  });
  await runner.run(hi);
  expect(isReleased).toBe(true);
  isReleased = false;
  for await (const _ of runner.runAsync(hi)) break;
  expect(isReleased).toBe(true);
});

test('a stream is closed by `await using`', async () => {
  const { runner, hi } = await abortable({
    async *agent() {
      yield modelEvent('bot', 'one');
      expect.unreachable();
    },
  });
  {
    await using stream = runner.runAsync(hi);
    await stream.next();
  }
  await expectFree(runner);
});
