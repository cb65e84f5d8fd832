import {
  BasePlugin,
  BaseTool,
  type Event,
  RunAbortedError,
  type RunAsyncToolRequest,
  ShuttingDownError,
  StorageError,
} from '@eventloom/core';
import { AgentTool } from '@eventloom/multi-agent';
import { Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { END, START, StateGraph } from './index.ts';
import { scenario } from '../../runner/src/fixtures/scenario.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };

/** A tool that ignores its abort signal. */
class Deaf extends BaseTool {
  readonly #work: (request: RunAsyncToolRequest) => Promise<unknown>;

  constructor(work: (request: RunAsyncToolRequest) => Promise<unknown>) {
    super({ name: 'deaf', description: '' });
    this.#work = work;
  }

  override runAsync(request: RunAsyncToolRequest): Promise<unknown> {
    return this.#work(request);
  }
}

/** Runs a graph of one node, a tool, until `hasBegun`, and stops it there. */
async function stopped(tool: BaseTool, hasBegun: Promise<unknown>) {
  const agent = new StateGraph({ name: 'g' })
    .addNode('args', () => ({}))
    .addNode('pay', tool)
    .addEdge(START, 'args')
    .addEdge('args', 'pay')
    .addEdge('pay', END)
    .compile();
  const { runner, start, sessionService } = await scenario({ agent, resumable: true });
  const abort = new AbortController();
  const stream = start('hi', { abortSignal: abort.signal });
  const events: Event[] = [];
  const running = (async () => {
    for await (const event of stream) events.push(event);
  })();
  await hasBegun;
  abort.abort(new ShuttingDownError('the process ends'));
  await expect(running).rejects.toThrow(RunAbortedError);
  const { invocationId } = stream;
  return { runner, invocationId, ledger: () => sessionService.listToolCalls({ ...KEY, invocationId }) };
}

test('an interrupted tool call is recorded as finished, so later resumes get the same response', async () => {
  const gate = new Gate();
  const { runner, invocationId, ledger } = await stopped(new Deaf(() => gate.pass()), gate.reached);
  expect(await ledger()).toMatchObject([{ status: 'started' }]);
  const { userId, sessionId } = KEY;
  await runner.run({ userId, sessionId, invocationId });
  expect(await ledger()).toMatchObject([{ status: 'finished', response: { output: { error: 'interrupted' } } }]);
});

test("a tool's emit resolves to false after the reader has left", async () => {
  const gate = new Gate();
  const emitted = Promise.withResolvers<unknown>();
  const tool = new Deaf(async ({ toolContext }) => {
    await gate.pass();
    const event = toolContext.invocationContext.createEvent({ author: 'deaf' });
    await toolContext.emitEvent(event).then(() => emitted.resolve('taken'), emitted.resolve);
  });
  await stopped(tool, gate.reached);
  gate.open();
  expect(await emitted.promise).toBeInstanceOf(RunAbortedError);
});

test('a plugin may modify the result of a graph that is called as a tool', async () => {
  const inner = new StateGraph({ name: 'inner' })
    .addNode('a', () => ({ of: 'inner' }))
    .addEdge(START, 'a')
    .addEdge('a', END)
    .compile();
  const agent = new StateGraph({ name: 'g' })
    .addNode('args', () => ({ request: 'go' }))
    .addNode('call', new AgentTool({ agent: inner }))
    .addEdge(START, 'args')
    .addEdge('args', 'call')
    .addEdge('call', END)
    .compile();
  class Adds extends BasePlugin {
    override afterToolCallback({ result }: { readonly result: Record<string, unknown> }): undefined {
      result['extra'] = 1;
    }
  }
  const { run } = await scenario({ agent, plugins: [new Adds('adds')] });
  const events = await run('x');
  expect(events.some(({ errorCode }) => errorCode !== undefined)).toBe(false);
  expect(events.at(-1)?.actions.agentState?.['run']).toBe('end');
});

test('a plugin is not asked for an answer in place of a StorageError', async () => {
  const tool = new Deaf(() => Promise.reject(StorageError.of('the artifact storage', new Error('disk full'))));
  const agent = new StateGraph({ name: 'g' })
    .addNode('args', () => ({}))
    .addNode('call', tool)
    .addEdge(START, 'args')
    .addEdge('args', 'call')
    .addEdge('call', END)
    .compile();
  class Answers extends BasePlugin {
    override onToolErrorCallback(): Record<string, unknown> {
      return { answered: true };
    }
  }
  const { run } = await scenario({ agent, plugins: [new Answers('answers')] });
  await expect(run('x')).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
});
