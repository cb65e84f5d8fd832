import { type Event, RunAbortedError } from '@eventloom/core';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { type FixedPlatform, fixedPlatform, Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { END, type NodeContext, node, type NodeOptions, NodeTimeoutError, START, StateGraph } from './index.ts';

const IDS = { userId: 'u', sessionId: 's' };

/** A graph of one node, `outer`, that runs nodes. */
async function setUp(work: (context: NodeContext) => unknown, options: NodeOptions = {}) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession({ appName: 'app', ...IDS });
  const agent = new StateGraph({ name: 'g' })
    .addNode('outer', (_: unknown, context) => work(context as unknown as NodeContext), options as object)
    .addEdge(START, 'outer')
    .addEdge('outer', END)
    .compile();
  const runner = new Runner({ appName: 'app', agent, sessionService, platform, resumable: true });
  const send = (parts: object[] = [{ text: 'hi' }]) => runner.run({ ...IDS, newMessage: { parts } });
  const answer = (asked: readonly Event[], result: unknown, at = 0) => {
    const id = asked.flatMap(({ longRunningToolIds = [] }) => longRunningToolIds)[at] ?? '';
    return send([{ functionResponse: { id, response: { result } } }]);
  };
  const stored = async () => (await sessionService.getSession({ appName: 'app', ...IDS }))?.events ?? [];
  return { send, answer, stored, platform, runner };
}

const outputOf = (events: readonly Event[]): unknown =>
  events.findLast(({ actions }) => actions.agentState?.['run'] === 'end')?.actions.agentState?.['output'];
const runsIn = (events: readonly Event[]): unknown[] => events.map(({ actions }) => actions.agentState?.['run']);

/** Lets happen what needs no time to pass. */
const settled = (platform: FixedPlatform) => new Promise<void>((resolve) => platform.schedule(0, resolve));

/** The next timer of a node; the lease of the session has one as well. */
async function nodeTimer(platform: FixedPlatform): Promise<number> {
  for (;;) {
    const next = await platform.nextTimer();
    if (next > 0 && next < 1000) return next;
    await settled(platform);
  }
}

test('runs are told apart by the names of their nodes and any keys', async () => {
  const p = node('p', (input: string) => `p:${input}`);
  const n = node('n', async (input: string, context) => [input, await context.runNode(p, input, { key: '0' })]);
  const ab = node('a-b', () => 'a-b');
  const a = node('a', () => 'a');
  const { send } = await setUp(async (context) => [
    await context.runNode(n, 'outer', { key: 'x' }),
    await context.runNode(n, 'leaf', { key: 'x~p-0' }),
    await context.runNode(a, 1, { key: 'b-0' }),
    await context.runNode(ab, 1, { key: '0' }),
    await context.runNode(a, 1, { key: 'b+0' }),
    await context.runNode(a, 1, { key: 'b/0' }),
  ]);
  const events = await send();
  expect(outputOf(events)).toEqual([['outer', 'p:outer'], ['leaf', 'p:leaf'], 'a', 'a-b', 'a', 'a']);
  expect(new Set(runsIn(events)).size).toBe(events.length);
});

test('a key that is given twice is an error that names both nodes', async () => {
  const leaf = node('leaf', () => 1);
  const { send } = await setUp((context) =>
    Promise.all([context.runNode(leaf, 1, { key: 'x' }), context.runNode(leaf, 2, { key: 'x' })]),
  );
  await expect(send()).rejects.toThrow(/node "outer": runs "leaf" twice with the key "x"/);
});

test('a run that is done is not taken for one with another input', async () => {
  let order = [1, 2];
  const leaf = node('leaf', (input: number) => `leaf ${input}`);
  const { send, answer } = await setUp(async (context) => {
    const outputs = await Promise.all(order.map((each) => context.runNode(leaf, each)));
    return [outputs, await context.requestInput()];
  });
  const asked = await send();
  order = [2, 1];
  await expect(answer(asked, 'yes')).rejects.toThrow(/node "leaf".*another input/);
});

test('with keys the order of the calls does not matter to what is done', async () => {
  let order = [1, 2];
  const ran: number[] = [];
  const leaf = node('leaf', (input: number) => {
    ran.push(input);
    return `leaf ${input}`;
  });
  const { send, answer } = await setUp(async (context) => {
    const outputs = await Promise.all(
      order.map(async (each) => context.runNode(leaf, { each, by: 'key' } as never, { key: `k${each}` })),
    );
    return [outputs.length, await context.requestInput()];
  });
  const asked = await send();
  order = [2, 1];
  expect(outputOf(await answer(asked, 'yes'))).toEqual([2, 'yes']);
  expect(ran).toHaveLength(2);
});

test('the time of a node bounds the nodes that it runs: they are stopped with it', async () => {
  const stopped: string[] = [];
  const working = new Gate();
  const leaf = node('leaf', (_: unknown, { abortSignal }) => {
    abortSignal.addEventListener('abort', () => void stopped.push('leaf'));
    return working.pass();
  });
  const middle = node('middle', (_: unknown, context) => context.runNode(leaf, 1));
  const { send, platform } = await setUp((context) => context.runNode(middle, 1), { timeoutMs: 50 });
  const running = send().catch((error: unknown) => error);
  expect(await nodeTimer(platform)).toBe(50);
  await working.reached;
  platform.advance(50);
  expect(await running).toBeInstanceOf(NodeTimeoutError);
  expect(stopped).toEqual(['leaf']);
});

test('an attempt that took too long counts for nothing any more, whatever it still does', async () => {
  const gate = new Gate();
  const late = new Gate();
  const ran: string[] = [];
  const refused: unknown[] = [];
  const inner = node('inner', (input: string) => {
    ran.push(input);
    return input;
  });
  const { send, stored, platform } = await setUp(
    async (context) => {
      if (context.attempt === 1) {
        await gate.pass();
        refused.push(await context.runNode(inner, 'one').catch((error: unknown) => error));
        refused.push(await context.requestInput().catch((error: unknown) => error));
        refused.push(await context.emitText('late'));
        try {
          context.update({});
        } catch (error) {
          refused.push(error);
        }
        late.open();
        return 'one';
      }
      gate.open();
      await late.pass();
      return context.runNode(inner, 'two');
    },
    { timeoutMs: 50, retry: { maxAttempts: 2, initialDelayMs: 7 } },
  );
  const running = send();
  await gate.reached;
  expect(await nodeTimer(platform)).toBe(50);
  platform.advance(50);
  expect(await nodeTimer(platform)).toBe(7);
  platform.advance(7);
  expect(outputOf(await running)).toBe('two');
  expect(ran).toEqual(['two']);
  expect(refused).toEqual([
    expect.any(RunAbortedError),
    expect.any(RunAbortedError),
    false,
    expect.any(RunAbortedError),
  ]);
  expect(runsIn(await stored()).filter((run) => run === '1-0~inner-0')).toHaveLength(1);
});

test('what is done and waits for its turn is not done again when who runs it takes too long', async () => {
  const ran: string[] = [];
  let attempts = 0;
  const slow = node('slow', () => (attempts === 1 ? new Promise(() => undefined) : 'slow'));
  const done = new Gate();
  done.open();
  const quick = node('quick', async () => {
    await done.pass();
    return ran.push('quick');
  });
  const { send, platform } = await setUp(
    (context) => {
      attempts++;
      return Promise.all([context.runNode(slow, 1), context.runNode(quick, 1)]);
    },
    { timeoutMs: 50, retry: { maxAttempts: 2, initialDelayMs: 7 } },
  );
  const running = send();
  expect(await nodeTimer(platform)).toBe(50);
  await done.reached;
  await settled(platform);
  platform.advance(50);
  expect(await nodeTimer(platform)).toBe(7);
  platform.advance(7);
  expect(outputOf(await running)).toEqual(['slow', 1]);
  expect(ran).toEqual(['quick']);
});

test('what was done before the process died is not taken for a run with another input', async () => {
  const gate = new Gate();
  let input = 1;
  const slow = node('slow', () => gate.pass());
  const quick = node('quick', (given: number) => given);
  const { runner, platform } = await setUp((context) =>
    Promise.all([context.runNode(slow, 1), context.runNode(quick, input)]),
  );
  const abort = new AbortController();
  const stream = runner.runAsync({ ...IDS, newMessage: { parts: [{ text: 'hi' }] }, abortSignal: abort.signal });
  const running = (async () => {
    for await (const _ of stream);
  })();
  await gate.reached;
  for (let turn = 0; turn < 5; turn++) await settled(platform);
  abort.abort();
  await expect(running).rejects.toThrow();
  gate.open();
  input = 2;
  const { invocationId } = stream;
  await expect(runner.run({ ...IDS, invocationId })).rejects.toThrow(/node "quick".*another input/);
});

test('a node that does not wait for those that it runs is done when they are', async () => {
  const ran: string[] = [];
  const gate = new Gate();
  const slow = node('slow', async () => {
    await gate.pass();
    ran.push('slow');
  });
  const { send, platform } = await setUp((context) => {
    void context.runNode(slow, 1);
    return 'done';
  });
  const running = send();
  await gate.reached;
  await settled(platform);
  gate.open();
  const events = await running;
  expect(ran).toEqual(['slow']);
  expect(runsIn(events)).toEqual(['0-0', '1-0~slow-0', '1-0', 'end', undefined]);
});

test('a question is known by its number when it has no key', async () => {
  const { send, answer } = await setUp(async (context) => [
    await context.requestInput({ message: 'Your name?' }),
    await context.requestInput({ message: 'Your town?' }),
  ]);
  const first = await answer(await send(), 'Bob');
  expect(outputOf(first)).toBeUndefined();
  expect(outputOf(await answer(first, 'Rome'))).toEqual(['Bob', 'Rome']);
});

test('a key that is asked with twice is an error', async () => {
  const { send } = await setUp((context) =>
    Promise.all([context.requestInput({ key: 'x' }), context.requestInput({ key: 'x' })]),
  );
  await expect(send()).rejects.toThrow(/node "outer": asks twice with the key "x"/);
});

test('a node that asked for several things is run again when all are answered', async () => {
  let runs = 0;
  const { send, answer } = await setUp((context) => {
    runs++;
    return Promise.all([context.requestInput(), context.requestInput()]);
  });
  const asked = await send();
  expect(outputOf(await answer(asked, 1))).toBeUndefined();
  expect(runs).toBe(1);
  expect(outputOf(await answer(asked, 2, 1))).toEqual([1, 2]);
  expect(runs).toBe(2);
});

test('attempts are counted on behind an answer', async () => {
  const attempts: number[] = [];
  const { send, answer, platform } = await setUp(
    async (context) => {
      attempts.push(context.attempt);
      if (context.attempt === 1) throw new TypeError('once');
      await context.requestInput();
      throw new TypeError('for good');
    },
    { retry: { maxAttempts: 3, initialDelayMs: 7 } },
  );
  const running = send();
  expect(await nodeTimer(platform)).toBe(7);
  platform.advance(7);
  const answered = answer(await running, 'yes').catch((error: unknown) => error);
  // The delay grows as if nobody had been asked.
  expect(await nodeTimer(platform)).toBe(14);
  platform.advance(14);
  expect(await answered).toMatchObject({ message: 'node "outer": for good' });
  expect(attempts).toEqual([1, 2, 2, 3]);
});

test('the same input is the same whatever the order of its keys, which storage may change', async () => {
  const ran: string[] = [];
  const inner = node('inner', (input: object) => void ran.push(Object.keys(input).join()));
  const { send, answer } = await setUp(async (context) => {
    await context.runNode(inner, ran.length === 0 ? { a: 1, b: { c: 2, d: 3 } } : { b: { d: 3, c: 2 }, a: 1 });
    return context.requestInput();
  });
  expect(outputOf(await answer(await send(), 'yes'))).toBe('yes');
  expect(ran).toEqual(['a,b']);
});
