import { describe, expect, test } from 'vitest';
import { ConfigurationError, InvalidRequestError, LlmCallLimitError, RunAbortedError } from '../errors.ts';
import { BaseTool } from '../tool/base-tool.ts';
import { AbortGuard } from './abort-guard.ts';
import { CallbackContext } from './callback-context.ts';
import { agent, contextOf, other } from './fixtures/test-invocation.ts';

class Idle extends BaseTool {
  override runAsync(): Promise<unknown> {
    return Promise.resolve();
  }
}

describe('session', () => {
  test('refuses writes to its state, and says what to write', () => {
    const { session } = contextOf().forAgent(agent);
    const message = 'session.state is read-only, key "n": in a tool or a callback write context.state.set("n", value);';
    expect(() => Reflect.set(session.state, 'n', 1)).toThrow(InvalidRequestError);
    expect(() => Reflect.set(session.state, 'n', 1)).toThrow(message);
    expect(() => Reflect.deleteProperty(session.state, 'n')).toThrow(message);
    expect(() => Object.defineProperty(session.state, 'n', { value: 1 })).toThrow(message);
  });

  test('shows later changes of the state and of the session', () => {
    const { session, invocation } = contextOf().forAgent(agent);
    Reflect.set(invocation.session.state, 'n', 1);
    invocation.session.lastSeq = 7;
    expect(session.state['n']).toBe(1);
    expect(session.lastSeq).toBe(7);
    expect(JSON.parse(JSON.stringify(session))).toMatchObject({ state: { n: 1 }, lastSeq: 7 });
  });

  test('copies its state with structuredClone of its keys, but not of the state itself', () => {
    const { session, invocation } = contextOf().forAgent(agent);
    Reflect.set(invocation.session.state, 'list', [{ n: 1 }]);
    const copy = structuredClone({ ...session.state });
    expect(copy).toEqual({ list: [{ n: 1 }] });
    expect(copy['list']).not.toBe(session.state['list']);
    expect(() => structuredClone(session.state)).toThrow('could not be cloned');
  });

  test('is one object for all agents of an invocation', () => {
    const context = contextOf();
    expect(context.forAgent(agent).session).toBe(context.forAgent(other).session);
  });
});

describe('forAgent', () => {
  test('gives the first agent the execution of the invocation, and each later agent its own execution below it', () => {
    const first = contextOf().forAgent(agent);
    expect(first).toMatchObject({ agent, executionId: 'e-1', parentExecutionId: undefined });
    const second = first.forAgent(other);
    expect(second).toMatchObject({ agent: other, executionId: 'e-uuid-1', parentExecutionId: 'e-1' });
    second.createEvent();
    expect(second.forAgent(agent)).toMatchObject({ executionId: 'e-uuid-3', parentExecutionId: 'e-uuid-1' });
  });

  test('names the nearest ancestor with events as the parent of a new execution', () => {
    const first = contextOf().forAgent(agent);
    const silent = first.forAgent(other).forAgent(agent);
    expect(silent.forAgent(other)).toMatchObject({ parentExecutionId: 'e-1' });
    silent.createEvent();
    expect(silent.forAgent(other)).toMatchObject({ parentExecutionId: silent.executionId });
  });

  test('puts an agent on the branch of its caller unless a branch is given', () => {
    const first = contextOf().forAgent(agent, { branch: 'par.a' });
    expect(first.forAgent(other).branch).toBe('par.a');
    expect(first.forAgent(other, { branch: 'par.a.par.b' }).branch).toBe('par.a.par.b');
  });

  test('does not pass extra tools and instructions on to further agents', () => {
    const tools = [new Idle({ name: 'idle', description: '' })];
    const first = contextOf().forAgent(agent, { tools, instructions: ['Be brief.'] });
    expect(first).toMatchObject({ extraTools: tools, extraInstructions: ['Be brief.'] });
    expect(first.forAgent(other)).toMatchObject({ extraTools: [], extraInstructions: [] });
  });

  test('aborts only the agents of a fork, and aborts forks with the run', () => {
    const abort = new AbortGuard();
    const first = contextOf({ abort }).forAgent(agent);
    const [one, two] = [first.abortGuard.fork(), first.abortGuard.fork()];
    const [ofOne, ofTwo] = [one, two].map((fork) => first.forAgent(other, { abort: fork }));
    one.abort('stop');
    expect([ofOne, ofTwo, first].map((each) => each?.abortSignal.aborted)).toEqual([true, false, false]);
    expect(() => ofOne?.throwIfAborted()).toThrow(RunAbortedError);
    const below = ofTwo?.forAgent(agent);
    first.abortGuard.drop(two);
    abort.abort('over');
    expect(below?.abortSignal.aborted).toBe(false);
    expect(first.abortGuard.fork().signal.aborted).toBe(true);
  });
});

test('an assignment to userContent throws an error that names what to write instead', () => {
  expect(() => Object.assign(contextOf(), { userContent: { parts: [] } })).toThrow(
    new ConfigurationError(
      'context: userContent cannot be assigned; write onUserMessageCallback in a plugin to change the message',
    ),
  );
});

describe('transfers', () => {
  test('takeTransfer returns the target of an execution once', () => {
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
  test('are isolated, and their model calls count with those of the run', () => {
    const context = contextOf({ runConfig: { maxLlmCalls: 2 } }).forAgent(agent, { branch: 'par.quiet' });
    const request = { agent: other, callId: 'c.1', userContent: { parts: [] }, streaming: false };
    const start = context.forSubInvocation(request, { ...context.invocation, rootAgent: other });
    const inner = start.forAgent(other);
    expect(inner).toMatchObject({
      branch: 'par.quiet.other@c%2E1',
      executionId: 'e-uuid-1',
      parentExecutionId: 'e-1',
    });
    inner.endInvocation = true;
    expect([start.endInvocation, context.endInvocation]).toEqual([true, false]);
    inner.progress.countLlmCall();
    context.progress.countLlmCall();
    expect(() => inner.progress.countLlmCall()).toThrow(LlmCallLimitError);
  });
});

describe('endInvocation', () => {
  test('is false until it is set, for all contexts of the invocation', () => {
    const start = contextOf();
    const context = start.forAgent(agent);
    expect([context.endInvocation, start.endInvocation]).toEqual([false, false]);
    context.endInvocation = true;
    expect([context.endInvocation, start.endInvocation]).toEqual([true, true]);
    context.endInvocation = false;
    expect([context.endInvocation, start.endInvocation]).toEqual([false, false]);
  });

  test('refuses a value that is not a boolean', () => {
    expect(() => Reflect.set(contextOf(), 'endInvocation', 'yes')).toThrow('expected true or false');
  });

  test('throws where an assignment would end nothing: in the context of a tool or a callback', () => {
    expect(() => Reflect.set(new CallbackContext({ invocationContext: contextOf() }), 'endInvocation', true)).toThrow(
      'context: endInvocation cannot be assigned; write context.invocationContext.endInvocation = true',
    );
  });
});

describe('the first agent', () => {
  test('before the first agent has started, the agent is the root', () => {
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

  test('leaves out the actions of a chunk', () => {
    const context = contextOf().forAgent(agent);
    const actions = { stateDelta: { a: 1 } };
    expect(context.createEvent({ partial: true, actions }).actions).toEqual({ stateDelta: {}, artifactDelta: {} });
    expect(context.createEvent({ partial: false, actions }).actions.stateDelta).toEqual({ a: 1 });
  });

  test('the author before the first agent is the app', () => {
    expect(contextOf().createEvent().author).toBe('app');
  });
});
