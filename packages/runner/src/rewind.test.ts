import { InMemoryArtifactService } from '@eventloom/artifacts';
import {
  BaseAgent,
  ConfigurationError,
  createEvent,
  type Event,
  InvalidRequestError,
  type InvocationContext,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { IDS, KEY, scenario } from './fixtures/scenario.ts';
import { Runner } from './runner.ts';

/** The work of an agent in one turn. */
type Turn = (context: InvocationContext) => AsyncGenerator<Event, void, void>;

/** An agent that runs one of its turns in each run. */
class Acting extends BaseAgent {
  readonly turns: Turn[] = [];

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const turn = this.turns.shift();
    if (turn) yield* turn(context);
  }
}

async function setUp(state: Record<string, unknown> = {}) {
  const platform = fixedPlatform();
  const artifactService = new InMemoryArtifactService({ platform });
  const agent = new Acting({ name: 'bot' });
  const played = await scenario({ agent, artifactService, platform, state });
  return {
    ...played,
    artifactService,
    agent,
    /** Runs a turn, and returns its invocation id. */
    turn: async (act: Turn): Promise<string> => {
      agent.turns.push(act);
      const stream = played.start('go');
      for await (const _ of stream);
      return stream.invocationId;
    },
  };
}

function write(stateDelta: Record<string, unknown>, removedState: string[] = []): Turn {
  return async function* act(context) {
    yield context.createEvent({ author: 'bot', actions: { stateDelta, removedState } });
  };
}

function save(filename: string, text: string): Turn {
  return async function* act(context) {
    const version = await context.artifactService?.saveArtifact({ ...KEY, filename, artifact: { text } });
    yield context.createEvent({ author: 'bot', actions: { artifactDelta: { [filename]: version ?? -1 } } });
  };
}

test('a rewind restores changed, added, removed and initial session keys', async () => {
  const { runner, turn, session } = await setUp({ kept: 1, changed: { a: [1] }, removed: null });
  await turn(write({ first: 'one' }));
  const before = { ...(await session()).state };
  const second = await turn(write({ changed: 2, first: 'two', added: true }, ['removed']));
  await turn(write({ kept: 3, more: 1 }, ['first']));
  const event = await runner.rewindAsync({ ...IDS, rewindBeforeInvocationId: second });
  const rewound = await session();
  expect(rewound.state).toEqual(before);
  expect(rewound.events.at(-1)).toEqual(event);
  expect(event.actions).toMatchObject({ rewindBeforeInvocationId: second });
});

test('a rewind to the first invocation restores the initial state', async () => {
  const { runner, turn, session } = await setUp({ given: 1, gone: 2, ['__proto__']: 'data' });
  const first = await turn(write({ given: 9, made: 1 }, ['gone', '__proto__']));
  await turn(write({ given: 10 }));
  await runner.rewindAsync({ ...IDS, rewindBeforeInvocationId: first });
  const { state } = await session();
  expect(Object.keys(state)).toHaveLength(3);
  expect(new Map(Object.entries(state))).toEqual(
    new Map<string, unknown>([
      ['__proto__', 'data'],
      ['given', 1],
      ['gone', 2],
    ]),
  );
});

test('a rewind keeps user and app state, which other sessions share', async () => {
  const { runner, turn, session } = await setUp({ 'user:name': 'Ada' });
  const first = await turn(write({ 'user:name': 'Eve', 'app:motto': 'go', own: 1 }));
  await runner.rewindAsync({ ...IDS, rewindBeforeInvocationId: first });
  expect((await session()).state).toEqual({ 'user:name': 'Eve', 'app:motto': 'go' });
});

test('a rewind to a point before an earlier rewind undoes both', async () => {
  const { runner, turn, session } = await setUp();
  await turn(write({ n: 1 }));
  const second = await turn(write({ n: 2 }));
  const third = await turn(write({ n: 3 }));
  await runner.rewindAsync({ ...IDS, rewindBeforeInvocationId: second });
  await turn(write({ n: 4, m: 1 }));
  expect((await session()).state).toEqual({ n: 4, m: 1 });
  await runner.rewindAsync({ ...IDS, rewindBeforeInvocationId: third });
  expect((await session()).state).toEqual({ n: 2 });
});

test('a rewind restores older artifact versions and deletes artifacts that did not exist', async () => {
  const { runner, turn, session, artifactService } = await setUp();
  await turn(save('report', 'draft'));
  await turn(save('user:photo', 'old'));
  const third = await turn(save('report', 'final'));
  await turn(save('extra', 'x'));
  await turn(save('user:photo', 'new'));
  const event = await runner.rewindAsync({ ...IDS, rewindBeforeInvocationId: third });
  // The event has the version that is effective again; the next save gets the next version.
  expect(event.actions.artifactDelta).toEqual({ report: 0 });
  expect((await session()).events.at(-1)?.actions.artifactDelta).toEqual({ report: 2 });
  expect(await artifactService.loadArtifact({ ...KEY, filename: 'report' })).toEqual({ text: 'draft' });
  expect(await artifactService.loadArtifact({ ...KEY, filename: 'user:photo' })).toEqual({ text: 'new' });
  expect(await artifactService.listArtifactKeys(KEY)).toEqual(['report', 'user:photo']);
});

test('an impossible rewind is refused and changes nothing', async () => {
  const { runner, turn, session, artifactService, agent, sessionService, platform } = await setUp();
  await turn(save('report', 'draft'));
  await artifactService.deleteArtifact({ ...KEY, filename: 'report' });
  const second = await turn(save('report', 'final'));
  const before = await session();
  const bare = new Runner({ appName: 'app', agent, sessionService, platform });
  const faults: [Promise<unknown>, unknown][] = [
    [runner.rewindAsync({ ...IDS, rewindBeforeInvocationId: second }), InvalidRequestError],
    [runner.rewindAsync({ ...IDS, rewindBeforeInvocationId: 'e-unknown' }), InvalidRequestError],
    [runner.rewindAsync({ ...IDS, rewindBeforeInvocationId: '' }), InvalidRequestError],
    [
      runner.rewindAsync(IDS as never),
      'got nothing; write rewindBeforeInvocationId: event.invocationId, of an event to undo',
    ],
    [bare.rewindAsync({ ...IDS, rewindBeforeInvocationId: second }), ConfigurationError],
    [runner.rewindAsync({ ...IDS, rewindBeforeInvocationId: second, dryRun: true } as never), ConfigurationError],
  ];
  for (const [rewound, fault] of faults) await expect(rewound).rejects.toThrow(fault as never);
  await expect(
    runner.rewindAsync({ userId: 'u', sessionId: 'other', rewindBeforeInvocationId: second }),
  ).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
  expect(await session()).toEqual(before);
  expect(await artifactService.loadArtifact({ ...KEY, filename: 'report' })).toEqual({ text: 'final' });
});

test('a rewind waits for the run that holds the session, or is refused', async () => {
  const { runner, turn, session } = await setUp();
  const first = await turn(write({ n: 1 }));
  let refused: unknown;
  let waiting: Promise<unknown> = Promise.resolve();
  await turn(async function* act(context) {
    yield context.createEvent({ author: 'bot', actions: { stateDelta: { n: 2 } } });
    waiting = runner.rewindAsync({ ...IDS, rewindBeforeInvocationId: first });
    refused = await runner
      .rewindAsync({ ...IDS, rewindBeforeInvocationId: first, onBusy: 'reject' })
      .catch((error: unknown) => error);
    yield context.createEvent({ author: 'bot', actions: { stateDelta: { late: true } } });
  });
  await waiting;
  expect(refused).toMatchObject({ code: 'SESSION_BUSY' });
  expect((await session()).state).toEqual({});
});

test('an agent sees only the events before the rewound invocation', async () => {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const model = new ScriptedModel(['one', 'two', 'three']);
  const runner = new Runner({ appName: 'app', agent: new LlmAgent({ name: 'bot', model }), sessionService, platform });
  const say = async (text: string): Promise<string> => {
    const [event] = await runner.run({ ...IDS, newMessage: { parts: [{ text }] } });
    return event?.invocationId ?? '';
  };
  await say('a');
  const second = await say('b');
  await runner.rewindAsync({ ...IDS, rewindBeforeInvocationId: second });
  await say('c');
  const texts = model.requests.at(-1)?.request.contents.map(({ parts }) => parts?.[0]?.text);
  expect(texts).toEqual(['a', 'one', 'c']);
});

/** Yields an event, and then works until its run is aborted. */
const workUntilAborted: Turn = async function* act(context) {
  yield context.createEvent({ author: 'bot', content: { parts: [{ text: 'working' }] } });
  await new Promise((resolve) => context.abortSignal.addEventListener('abort', resolve));
};

test('a rewind closes the unfinished run that it undoes', async () => {
  const { runner, agent, turn, session, sessionService } = await setUp();
  const first = await turn(write({ a: 1 }));
  agent.turns.push(workUntilAborted);
  const stream = runner.runAsync({ ...IDS, newMessage: { parts: [{ text: 'go' }] } });
  await stream.next();
  const rewindBeforeInvocationId = first;
  const rewound = runner.rewindAsync({ ...IDS, rewindBeforeInvocationId, onBusy: 'interrupt' });
  await expect(stream.next()).rejects.toMatchObject({ code: 'STALE_WRITER' });
  await rewound;
  const { invocationId } = stream;
  const { events, state } = await session();
  const [error, undoing] = events.slice(-2);
  expect(error).toMatchObject({ invocationId, errorCode: 'RUN_ABANDONED' });
  expect(undoing?.actions.rewindBeforeInvocationId).toBe(first);
  expect(state).toEqual({});
  const end = { state: 'interrupted', code: 'RUN_ABANDONED' };
  expect(await sessionService.findRun({ ...KEY, id: invocationId })).toMatchObject({ invocationId, end });
  expect((await runner.listOpenRuns()).runs).toEqual([]);
});

test('a rewind closes an unfinished run that waited, also if another run has ended since', async () => {
  const { runner, sessionService, turn } = await setUp();
  const first = await turn(write({ a: 1 }));
  await turn(write({ b: 1 }));
  // The state after the first run took an answer, and its process ended.
  const run = await sessionService.beginRun({ ...KEY, invocationId: first, resumable: true, continues: true });
  const session = (await sessionService.getSession(KEY)) ?? expect.unreachable();
  const event = createEvent({ author: 'user', invocationId: first });
  await sessionService.appendEvent({ session, event, lease: run.lease });
  await sessionService.releaseLease(run.lease, { keepRunOpen: true });
  expect((await runner.listOpenRuns()).runs).toMatchObject([{ invocationId: first }]);
  await runner.rewindAsync({ ...IDS, rewindBeforeInvocationId: first });
  expect((await runner.listOpenRuns()).runs).toEqual([]);
});

test('a rewind before an unknown invocation interrupts no run', async () => {
  const { runner, agent, turn } = await setUp();
  await turn(write({ a: 1 }));
  agent.turns.push(workUntilAborted);
  const stream = runner.runAsync({ ...IDS, newMessage: { parts: [{ text: 'go' }] } });
  await stream.next();
  const rewound = runner.rewindAsync({ ...IDS, rewindBeforeInvocationId: 'unknown', onBusy: 'interrupt' });
  await expect(rewound).rejects.toThrow(InvalidRequestError);
  expect((await runner.listOpenRuns()).runs).toMatchObject([{ invocationId: stream.invocationId }]);
  await stream.return();
});
