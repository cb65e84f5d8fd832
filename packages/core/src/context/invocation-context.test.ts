import { describe, expect, test } from 'vitest';
import { BaseAgent } from '../agent/base-agent.ts';
import type { RunConfig } from '../agent/run-config.ts';
import {
  type ArtifactVersion,
  BaseArtifactService,
  type LoadArtifactRequest,
  type SaveArtifactRequest,
} from '../artifact/artifact-service.ts';
import type { Part } from '../content/content.ts';
import { ConfigurationError } from '../errors/configuration-error.ts';
import { LlmCallLimitError } from '../errors/llm-call-limit-error.ts';
import { RunAbortedError } from '../errors/run-aborted-error.ts';
import type { Event } from '../event/event.ts';
import { systemPlatform } from '../platform/platform.ts';
import { PluginManager } from '../plugin/plugin-manager.ts';
import type { Session } from '../session/session.ts';
import { BaseTool } from '../tool/base-tool.ts';
import { AbortGuard } from './abort-guard.ts';
import { CallbackContext } from './callback-context.ts';
import { InvocationContext } from './invocation-context.ts';
import { ReadonlyContext } from './readonly-context.ts';
import { ToolContext } from './tool-context.ts';

class Idle extends BaseTool {
  override runAsync(): Promise<unknown> {
    return Promise.resolve();
  }
}

class Quiet extends BaseAgent {
  protected async *runAsyncImpl(): AsyncGenerator<Event, void, void> {}
}

/** Keeps what is saved in a row; its place there is its version. */
class Shelf extends BaseArtifactService {
  readonly #saved: SaveArtifactRequest[];

  constructor(saved: SaveArtifactRequest[]) {
    super();
    this.#saved = saved;
  }

  saveArtifact(request: SaveArtifactRequest): Promise<number> {
    return Promise.resolve(this.#saved.push(request) - 1);
  }

  loadArtifact({ version = 0 }: LoadArtifactRequest): Promise<Part | undefined> {
    return Promise.resolve(this.#saved[version]?.artifact);
  }

  listArtifactKeys(): Promise<string[]> {
    return Promise.resolve(this.#saved.map(({ filename }) => filename));
  }

  listVersions(): Promise<number[]> {
    return Promise.resolve([]);
  }

  listArtifactVersions(): Promise<ArtifactVersion[]> {
    return Promise.resolve([]);
  }

  getArtifactVersion(): Promise<ArtifactVersion | undefined> {
    return Promise.resolve(undefined);
  }

  deleteArtifact(): Promise<void> {
    return Promise.resolve();
  }
}

const session: Session = {
  id: 's',
  appName: 'app',
  userId: 'u',
  state: {},
  events: [],
  lastUpdateTime: 0,
  lastSeq: 0,
  incarnation: 'i',
};

function contextOf(
  options: { runConfig?: RunConfig; abort?: AbortGuard; artifactService?: BaseArtifactService } = {},
): InvocationContext {
  let ids = 0;
  return InvocationContext.create({
    invocationId: 'e-1',
    rootAgent: new Quiet({ name: 'root' }),
    session: { ...session, state: {} },
    runConfig: options.runConfig ?? {},
    userContent: { role: 'user', parts: [{ text: 'hi' }] },
    abort: options.abort ?? new AbortGuard(),
    platform: {
      ...systemPlatform,
      now: () => 1500,
      newEventId: () => `event-${++ids}`,
      newUuid: () => `uuid-${++ids}`,
    },
    plugins: new PluginManager(),
    artifactService: options.artifactService,
    memoryService: undefined,
    models: undefined,
    derived: new Map(),
    recordToolCall: () => Promise.resolve(),
  });
}

const agent = new Quiet({ name: 'quiet' });
const other = new Quiet({ name: 'other' });

describe('forAgent', () => {
  test('gives the first agent the execution of the invocation, and every further one its own below', () => {
    const first = contextOf().forAgent(agent);
    expect(first).toMatchObject({ agent, executionId: 'e-1', parentExecutionId: undefined });
    const second = first.forAgent(other);
    expect(second).toMatchObject({ agent: other, executionId: 'e-uuid-1', parentExecutionId: 'e-1' });
    second.createEvent();
    expect(second.forAgent(agent)).toMatchObject({ executionId: 'e-uuid-3', parentExecutionId: 'e-uuid-1' });
  });

  test('what an agent starts that has said nothing hangs below the one above it', () => {
    const first = contextOf().forAgent(agent);
    const silent = first.forAgent(other).forAgent(agent);
    expect(silent.forAgent(other)).toMatchObject({ parentExecutionId: 'e-1' });
    silent.createEvent();
    expect(silent.forAgent(other)).toMatchObject({ parentExecutionId: silent.executionId });
  });

  test('an agent is on the branch of the one that starts it, or on the one it is given', () => {
    const first = contextOf().forAgent(agent, { branch: 'par.a' });
    expect(first.forAgent(other).branch).toBe('par.a');
    expect(first.forAgent(other, { branch: 'par.a.par.b' }).branch).toBe('par.a.par.b');
  });

  test('what is given for one run of an agent is not handed on', () => {
    const tools = [new Idle({ name: 'idle', description: '' })];
    const first = contextOf().forAgent(agent, { tools, instructions: ['Be brief.'] });
    expect(first).toMatchObject({ extraTools: tools, extraInstructions: ['Be brief.'] });
    expect(first.forAgent(other)).toMatchObject({ extraTools: [], extraInstructions: [] });
  });

  test('an abort of a part of a run reaches those it is given to, and one of the run reaches the part', () => {
    const abort = new AbortGuard();
    const first = contextOf({ abort }).forAgent(agent);
    const [one, two] = [first.forkAbort(), first.forkAbort()];
    const [ofOne, ofTwo] = [one, two].map((fork) => first.forAgent(other, { abort: fork }));
    one.abort('stop');
    expect([ofOne, ofTwo, first].map((each) => each?.abortSignal.aborted)).toEqual([true, false, false]);
    expect(() => ofOne?.throwIfAborted()).toThrow(RunAbortedError);
    const below = ofTwo?.forAgent(agent);
    first.dropAbort(two);
    abort.abort('over');
    expect(below?.abortSignal.aborted).toBe(false);
    expect(first.forkAbort().signal.aborted).toBe(true);
  });
});

describe('transfers', () => {
  test('whom an execution hands over to is told once, to its own context', () => {
    const first = contextOf().forAgent(agent);
    const second = first.forAgent(other);
    const { progress } = first;
    progress.noteTransfer(second.createEvent({ actions: { transferToAgent: 'quiet' } }));
    progress.noteTransfer(second.createEvent());
    expect(progress.takeTransfer(first.executionId)).toBeUndefined();
    expect(second.progress.takeTransfer(second.executionId)).toBe('quiet');
    expect(progress.takeTransfer(second.executionId)).toBeUndefined();
  });
});

describe('sub-invocations', () => {
  test('are a world of their own, whose model calls count with those of the run', () => {
    const context = contextOf({ runConfig: { maxLlmCalls: 2 } }).forAgent(agent, { branch: 'par.quiet' });
    const request = { agent: other, callId: 'c.1', userContent: { parts: [] }, streaming: false };
    const start = context.forSubInvocation(request, { ...context.invocation, rootAgent: other });
    const inner = start.forAgent(other);
    expect(inner).toMatchObject({
      branch: 'par.quiet.other@c%2E1',
      executionId: 'e-uuid-1',
      parentExecutionId: 'e-1',
    });
    inner.endInvocation();
    expect([start.isEnded, context.isEnded]).toEqual([true, false]);
    inner.countLlmCall();
    context.countLlmCall();
    expect(() => inner.countLlmCall()).toThrow(LlmCallLimitError);
  });

  test('need a runner', () => {
    const request = { agent: other, callId: 'c', userContent: { parts: [] }, streaming: false };
    expect(() => contextOf().forAgent(agent).runSubInvocation(request)).toThrow(ConfigurationError);
  });
});

describe('the first agent', () => {
  test('before the first agent started, the agent is the root', () => {
    expect(contextOf().agent.name).toBe('root');
  });
});

describe('createEvent', () => {
  test('fills in the ids, the time in seconds and the author', () => {
    expect(
      contextOf()
        .forAgent(agent)
        .createEvent({ actions: { escalate: true } }),
    ).toEqual({
      id: 'event-1',
      invocationId: 'e-1',
      author: 'quiet',
      timestamp: 1.5,
      executionId: 'e-1',
      actions: { stateDelta: {}, artifactDelta: {}, escalate: true },
    });
  });

  test('names the parent of an agent that another one started', () => {
    const event = contextOf().forAgent(agent).forAgent(other).createEvent();
    expect(event).toMatchObject({ author: 'other', executionId: 'e-uuid-1', parentExecutionId: 'e-1' });
  });

  test('leaves out the actions of a chunk, which are ignored anyway', () => {
    const context = contextOf().forAgent(agent);
    const actions = { stateDelta: { a: 1 } };
    expect(context.createEvent({ partial: true, actions }).actions).toEqual({ stateDelta: {}, artifactDelta: {} });
    expect(context.createEvent({ partial: false, actions }).actions.stateDelta).toEqual({ a: 1 });
  });

  test('the author before the first agent is the app', () => {
    expect(contextOf().createEvent().author).toBe('app');
  });
});

describe('countLlmCall', () => {
  test.each([1, 3])('allows exactly %d calls, whichever agent makes them', (maxLlmCalls) => {
    const context = contextOf({ runConfig: { maxLlmCalls } }).forAgent(agent);
    for (let call = 0; call < maxLlmCalls; call++) context.forAgent(other).countLlmCall();
    expect(() => context.countLlmCall()).toThrow(LlmCallLimitError);
    expect(() => context.countLlmCall()).toThrow(LlmCallLimitError);
  });

  test('allows 500 when nothing is said, and any number at 0 and below', () => {
    const usual = contextOf();
    for (let call = 0; call < 500; call++) usual.countLlmCall();
    expect(() => usual.countLlmCall()).toThrow(LlmCallLimitError);
    for (const maxLlmCalls of [0, -1]) {
      const unlimited = contextOf({ runConfig: { maxLlmCalls } });
      for (let call = 0; call < 600; call++) unlimited.countLlmCall();
    }
  });
});

test('an invocation that one context ends has ended for all of them', () => {
  const root = contextOf();
  const first = root.forAgent(agent);
  expect(root.isEnded).toBe(false);
  first.forAgent(other).endInvocation();
  expect([root.isEnded, first.isEnded]).toEqual([true, true]);
});

describe('an abort', () => {
  test('ends what waits, with the reason as its cause', async () => {
    const abort = new AbortGuard();
    const context = contextOf({ abort });
    expect(() => context.throwIfAborted()).not.toThrow();
    const waiting = context.untilAborted(new Promise<never>(() => undefined));
    abort.abort('enough');
    expect(context.abortSignal.reason).toBe('enough');
    await expect(waiting).rejects.toMatchObject({ code: RunAbortedError.code, cause: 'enough' });
    await expect(context.untilAborted(new Promise<never>(() => undefined))).rejects.toThrow(RunAbortedError);
    expect(() => context.throwIfAborted()).toThrow(RunAbortedError);
  });

  test('before the first wait is noticed', async () => {
    const abort = new AbortGuard();
    abort.abort(undefined);
    const waiting = contextOf({ abort }).untilAborted(new Promise<never>(() => undefined));
    await expect(waiting).rejects.toThrow(RunAbortedError);
  });

  test('that does not come leaves the work its result', async () => {
    expect(await contextOf().untilAborted(Promise.resolve(5))).toBe(5);
    await expect(contextOf().untilAborted(Promise.reject(new TypeError('x')))).rejects.toThrow(TypeError);
  });
});

test('a reported error is known to all contexts of the invocation', () => {
  const root = contextOf();
  const error = new TypeError('x');
  expect(root.isReported(error)).toBe(false);
  expect(root.isReported(undefined)).toBe(false);
  root.forAgent(agent).markReported(error);
  expect(root.isReported(error)).toBe(true);
  expect(root.isReported(new TypeError('x'))).toBe(false);
});

describe('the contexts of callbacks, tools and instructions', () => {
  test('say who, where and what for', () => {
    const context = contextOf().forAgent(agent);
    for (const view of [
      new ReadonlyContext(context),
      new CallbackContext({ invocationContext: context }),
      new ToolContext({ invocationContext: context, functionCallId: 'c1' }),
    ]) {
      expect(view).toMatchObject({
        invocationId: 'e-1',
        agentName: 'quiet',
        appName: 'app',
        userId: 'u',
        sessionId: 's',
      });
      expect(view.userContent?.parts).toEqual([{ text: 'hi' }]);
    }
    expect(new ToolContext({ invocationContext: context, functionCallId: 'c1' }).functionCallId).toBe('c1');
  });

  test('write state into their own actions, and read what the others wrote', () => {
    const context = contextOf().forAgent(agent);
    const first = new CallbackContext({ invocationContext: context });
    const second = new ToolContext({ invocationContext: context, functionCallId: 'c1' });
    first.state.set('a', 1);
    second.state.set('b', 2);
    expect(first.actions.stateDelta).toEqual({ a: 1 });
    expect(second.actions.stateDelta).toEqual({ b: 2 });
    expect(second.state.get('a')).toBe(1);
    expect(new ReadonlyContext(context).state.toRecord()).toEqual({ a: 1, b: 2 });
    expect(first.eventActions).toBe(first.actions);
  });

  test('tell the next event which artifacts were saved', async () => {
    const saved: SaveArtifactRequest[] = [];
    const artifactService = new Shelf(saved);
    const context = new CallbackContext({ invocationContext: contextOf({ artifactService }).forAgent(agent) });
    expect(await context.saveArtifact('a.txt', { text: 'one' })).toBe(0);
    expect(await context.saveArtifact('a.txt', { text: 'two' })).toBe(1);
    expect(await context.saveArtifact('__proto__', { text: 'odd' })).toBe(2);
    expect(JSON.stringify(context.actions.artifactDelta)).toBe('{"a.txt":1,"__proto__":2}');
    expect(saved[0]).toEqual({
      appName: 'app',
      userId: 'u',
      sessionId: 's',
      filename: 'a.txt',
      artifact: { text: 'one' },
    });
    expect(await context.loadArtifact('a.txt', 0)).toEqual({ text: 'one' });
    expect(await context.listArtifacts()).toEqual(['a.txt', 'a.txt', '__proto__']);
  });

  test('say which service is missing', async () => {
    const context = new CallbackContext({ invocationContext: contextOf().forAgent(agent) });
    await expect(context.saveArtifact('a.txt', { text: 'a' })).rejects.toThrow(ConfigurationError);
    await expect(async () => context.loadArtifact('a.txt')).rejects.toThrow(ConfigurationError);
    await expect(async () => context.listArtifacts()).rejects.toThrow(ConfigurationError);
    await expect(context.searchMemory('a')).rejects.toThrow(ConfigurationError);
  });
});
