import { getFunctionCalls } from '@eventloom/core';
import { describe, expect, test } from 'vitest';
import { outputsOf, talk } from '../fixtures/workflow-talk.ts';
import { getLogger, InMemoryRunner, node, type NodeContext, RequestInput, setLogger, Workflow } from '../index.ts';

// An unhandled rejection in one of these tests fails the whole run of the tests.
describe('a run of runNode that its node did not await', () => {
  const ask = node(() => new RequestInput({ message: 'Which city?' }), { name: 'ask' });
  const bad = node(
    () => {
      throw new Error('bad');
    },
    { name: 'bad' },
  );

  test('works to its end while the node asks a person, and does not run again after the answer', async () => {
    let runs = 0;
    const slow = node(
      async () => {
        runs++;
        for (let turn = 0; turn < 20; turn++) await Promise.resolve();
        return 'slow';
      },
      { name: 'slow' },
    );
    const both = node(
      async (context: NodeContext) => {
        const background = context.runNode(slow);
        const { output } = await context.runNode(ask);
        return `${String(output)} ${String((await background).output)}`;
      },
      { name: 'both', rerunOnResume: true },
    );
    const { send } = await talk([['START', both]]);
    expect((await send('go')).flatMap(getFunctionCalls)).toHaveLength(1);
    expect(outputsOf(await send('Oslo'))).toEqual(['Oslo slow']);
    expect(runs).toBe(1);
  });

  test('stops when the node fails', async () => {
    let isStopped = false;
    const slow = node(
      async ({ abortSignal }: NodeContext) => {
        await new Promise((resolve) => abortSignal.addEventListener('abort', resolve));
        isStopped = true;
      },
      { name: 'slow' },
    );
    const fails = node(
      async (context: NodeContext) => {
        void context.runNode(slow);
        await context.runNode(bad);
      },
      { name: 'fails' },
    );
    await expect((await talk([['START', fails]])).send('go')).rejects.toThrow('Dynamic node bad failed');
    expect(isStopped).toBe(true);
  });

  test('stops when the node is done, and a warning names it', async () => {
    let isStopped = false;
    const late = node(
      async ({ abortSignal }: NodeContext) => {
        await new Promise((resolve) => abortSignal.addEventListener('abort', resolve));
        isStopped = true;
        return 'too late';
      },
      { name: 'late' },
    );
    const begin = node(
      (context: NodeContext) => {
        void context.runNode(late);
        return 'begun';
      },
      { name: 'begin' },
    );
    const warnings: unknown[] = [];
    const logger = getLogger();
    const silent = (): void => undefined;
    setLogger({
      setLogLevel: silent,
      log: silent,
      debug: silent,
      info: silent,
      warn: (text) => warnings.push(text),
      error: silent,
    });
    try {
      expect(outputsOf(await (await talk([['START', begin]])).send('go'))).toEqual(['begun']);
    } finally {
      setLogger(logger);
    }
    expect(isStopped).toBe(true);
    expect(warnings).toEqual([
      'node "begin" is done before its run of w.begin.late@1, which is stopped; write await context.runNode(…)',
    ]);
  });

  test('may fail while nobody awaits it', async () => {
    const careless = node(
      (context: NodeContext) => {
        void context.runNode(bad);
        return 'done';
      },
      { name: 'careless' },
    );
    expect(outputsOf(await (await talk([['START', careless]])).send('go'))).toEqual(['done']);
  });
});

test.each<[string, readonly (string | undefined)[]]>([
  ['before a run without a runId', ['1', undefined]],
  ['after a run without a runId', [undefined, '2']],
])('a runId that is a number is refused %s of the same node', async (_title, runIds) => {
  const leaf = node((_context: NodeContext, text: string) => text, { name: 'leaf' });
  const both = node(
    async (context: NodeContext, text: string) => {
      for (const runId of runIds) await context.runNode(leaf, text, { runId });
    },
    { name: 'both' },
  );
  const { send } = await talk([['START', both]]);
  await expect(send('go')).rejects.toThrow(
    /^runNode "leaf": runId "\d" could be the number of another run; write one that/,
  );
});

test.each(['a text', 5, null, undefined])(
  'a node that throws %j yields one error event, and the run throws an error',
  async (thrown) => {
    const failing = node(
      () => {
        throw thrown; // oxlint-disable-line typescript/only-throw-error -- programs may throw anything
      },
      { name: 'failing' },
    );
    const runner = new InMemoryRunner({
      agent: new Workflow({ name: 'w', edges: [['START', failing]] }),
      appName: 'app',
    });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'u' });
    const newMessage = { role: 'user', parts: [{ text: 'go' }] };
    const authors: unknown[] = [];
    const read = async (): Promise<void> => {
      for await (const { author, errorCode } of runner.runAsync({ userId: 'u', sessionId, newMessage }))
        if (errorCode !== undefined) authors.push(author);
    };
    await expect(read()).rejects.toThrow(String(thrown));
    expect(authors).toEqual(['failing']);
  },
);

test.each([
  ['Object', { reason: 'busy' }],
  ['string', 'busy'],
])(
  'retryConfig.exceptions names a thrown value that is not an error by its class or type: %s',
  async (name, thrown) => {
    let attempts = 0;
    const failing = node(
      () => {
        if (++attempts < 3) throw thrown; // oxlint-disable-line typescript/only-throw-error -- programs may throw anything
        return attempts;
      },
      { name: 'failing', retryConfig: { maxAttempts: 3, initialDelay: 0, exceptions: [name] } },
    );
    expect(outputsOf(await (await talk([['START', failing]])).send('go'))).toEqual([3]);
  },
);
