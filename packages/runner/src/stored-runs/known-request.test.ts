import { BasePlugin, type Content, type Event, getFunctionCalls, type Part, ShuttingDownError } from '@eventloom/core';
import { InMemoryArtifactService } from '@eventloom/artifacts';
import { ParallelAgent } from '@eventloom/multi-agent';
import { Gate, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { KEY, runToError, scenario, scripted, textOf } from '../fixtures/scenario.ts';
import { findLooseEnds } from '../find-loose-ends.ts';
import { dying } from './fixtures/dying-service.ts';

const REQUEST = { requestId: 'r-1' } as const;
const ANSWER = { requestId: 'r-2' } as const;
const WAIT = { calls: [{ id: 'c', name: 'wait' }] };
const answer = (response: Record<string, unknown> = { done: true }, id = 'c'): Part => ({
  functionResponse: { id, response },
});

const wait = new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined });
const tools = [wait];

/** Returns the texts of a run. */
const textsOf = (events: readonly Event[]): (string | undefined)[] =>
  events.filter(({ content }) => content?.parts?.[0]?.text).map(textOf);

test.each([true, false])(
  'an answer sent again after a kill is stored and processed once (resumable: %s)',
  async (resumable) => {
    // The process is killed at each commit between the start and the end of the run.
    for (let commit = 1, isLast = false; !isLast; commit++) {
      for (const isAfter of [false, true]) {
        const first = await scenario({ model: [WAIT], agent: { tools }, resumable });
        await first.run('hi', REQUEST);
        const { service, commits } = dying(first.sessionService, commit, isAfter);
        const changes = { sessionService: service, model: ['Thanks.'], agent: { tools } };
        await first
          .restart(changes)
          .run(answer(), ANSWER)
          .catch(() => undefined);
        isLast = commits() < commit;
        first.platform.advance(60_000);
        const next = first.restart({ model: ['Thanks.'], agent: { tools } });
        const again = await next.run(answer(), ANSWER);
        expect(await next.run(answer(), ANSWER)).toEqual(again.filter(({ object }) => object !== 'runner.end'));
        const stored = await next.stored();
        const place = [commit, isAfter];
        const isAbandoned = stored.some(({ errorCode }) => errorCode === 'RUN_ABANDONED');
        expect([...place, isAbandoned && resumable]).toEqual([...place, false]);
        const said = textsOf(stored).slice(1);
        expect([...place, said.length === 1 || isAbandoned, said.length]).toEqual([
          ...place,
          true,
          Math.min(said.length, 1),
        ]);
        const answers = stored.filter(
          ({ author, content }) => author === 'user' && content?.parts?.[0]?.functionResponse,
        );
        expect([...place, answers.length]).toEqual([...place, 1]);
        expect(await findLooseEnds(next.sessionService, KEY)).toEqual([]);
      }
    }
  },
);

test.each([
  ['different ids', 'd'],
  ['the same id', 'c'],
])(
  'answers to calls of two agents, with %s, that are sent again after a kill are stored and run once',
  async (_, id) => {
    const crew = (left: ScriptedStep[], right: ScriptedStep[]): ParallelAgent =>
      new ParallelAgent({
        name: 'crew',
        subAgents: [scripted('left', left, { tools }), scripted('right', right, { tools })],
      });
    const answers = [answer({ a: 1 }), answer({ b: 1 }, id)];
    for (let commit = 1, isLast = false; !isLast; commit++) {
      for (const isAfter of [false, true]) {
        const asking = crew([WAIT], [{ calls: [{ id, name: 'wait' }] }]);
        const first = await scenario({ agent: asking, resumable: true });
        await first.run('hi', REQUEST);
        const { service, commits } = dying(first.sessionService, commit, isAfter);
        const killed = { sessionService: service, agent: crew(['Left.'], ['Right.']) };
        await first
          .restart(killed)
          .run(answers, ANSWER)
          .catch(() => undefined);
        isLast = commits() < commit;
        first.platform.advance(60_000);
        const next = first.restart({ agent: crew(['Left.'], ['Right.']) });
        await next.run(answers, ANSWER);
        await next.run(answers, ANSWER);
        const place = [commit, isAfter];
        const stored = await next.stored();
        const branches = stored.filter(({ requestId, author }) => requestId === 'r-2' && author === 'user');
        expect([...place, branches.map(({ branch = '' }) => branch).toSorted()]).toEqual([
          ...place,
          ['crew.left', 'crew.right'],
        ]);
        expect([...place, textsOf(stored).slice(1).map(String).toSorted()]).toEqual([...place, ['Left.', 'Right.']]);
        expect([...place, await findLooseEnds(next.sessionService, KEY)]).toEqual([...place, []]);
      }
    }
  },
);

test('an answer is known while its run continues and while it waits for the next answer', async () => {
  const gate = new Gate();
  const model = [WAIT, { calls: [{ id: 'd', name: 'wait' }], gate }, 'Done.'];
  const { run, restart, stored } = await scenario({ model, agent: { tools }, resumable: true });
  await run('hi', REQUEST);
  const answering = run(answer(), ANSWER);
  await gate.reached;
  const following = restart().run(answer(), ANSWER);
  gate.open();
  const answered = await answering;
  expect(await following).toEqual(answered);
  const before = await stored();
  expect(await run(answer(), ANSWER)).toEqual(answered);
  expect(await run('hi', REQUEST)).toHaveLength(answered.length + 1);
  await expect(run(answer(), { ...ANSWER, ifKnown: 'reject' })).rejects.toMatchObject({
    code: 'REQUEST_KNOWN',
    offset: 2,
  });
  expect(await stored()).toEqual(before);
  expect(textsOf(await run(answer({}, 'd'), { requestId: 'r-3' }))).toEqual(['Done.']);
});

test('another message with a known requestId is refused and changes nothing', async () => {
  const confirmed = new FunctionTool({ name: 'buy', description: '', requireConfirmation: true, execute: () => 'ok' });
  const model = [WAIT, 'Thanks.', { calls: [{ id: 'b', name: 'buy' }] }, 'Bought.'];
  const { run, stored, runner } = await scenario({ model, agent: { tools: [wait, confirmed] }, resumable: true });
  const file = { inlineData: { mimeType: 'text/plain', data: 'aGk=' } };
  await run([{ text: 'hi' }, file], REQUEST);
  await run(answer({ a: 1, b: [{ c: 2, d: 3 }] }), ANSWER);
  const [asking] = (await run('buy it', { requestId: 'r-3' })).filter(({ longRunningToolIds }) => longRunningToolIds);
  const id = asking?.longRunningToolIds?.[0] ?? '';
  await run(answer({ confirmed: true }, id), { requestId: 'r-4' });
  const before = await stored();
  const again: [Part | Part[] | string, string][] = [
    [[{ text: 'hi' }, { inlineData: { data: 'aGk=', mimeType: 'text/plain' } }], 'r-1'],
    [answer({ b: [{ d: 3, c: 2 }], a: 1 }), 'r-2'],
    [answer({ response: '{"confirmed":true}' }, id), 'r-4'],
  ];
  for (const [message, requestId] of again) await run(message, { requestId });
  const others: [Part | Part[] | string, string][] = [
    ['ho', 'r-1'],
    ['hi', 'r-1'],
    [[file, { text: 'hi' }], 'r-1'],
    [answer(), 'r-1'],
    [answer({ a: 1 }), 'r-2'],
    [answer({ a: 1, b: [{ c: 2, d: 3 }] }, 'e'), 'r-2'],
    ['hi', 'r-2'],
    [answer({ confirmed: false }, id), 'r-4'],
    [answer({ confirmed: 'maybe' }, id), 'r-4'],
    ['hi', before[0]?.invocationId ?? ''],
  ];
  for (const [message, requestId] of others)
    for (const ifKnown of ['follow', 'resume', 'reject'] as const)
      await expect(run(message, { requestId, ifKnown }), requestId).rejects.toMatchObject({
        code: 'REQUEST_ID_REUSED',
      });
  expect(await stored()).toEqual(before);
  expect(await findLooseEnds(runner.sessionService, KEY)).toEqual([]);
});

test('a message replaced by a plugin, or with saved files, is recognised by its original', async () => {
  class Replacing extends BasePlugin {
    constructor() {
      super('replacing');
    }
    override onUserMessageCallback({ userMessage }: { userMessage: Content }): Content | undefined {
      return userMessage.parts?.[0]?.text === 'hi' ? { role: 'user', parts: [{ text: 'HI' }] } : undefined;
    }
  }
  const { run } = await scenario({ model: ['One.', 'Two.'], plugins: [new Replacing()] });
  const first = await run('hi', REQUEST);
  expect(await run('hi', REQUEST)).toEqual(first);
  await run('left as it is', ANSWER);
  await expect(run('another', ANSWER)).rejects.toMatchObject({ code: 'REQUEST_ID_REUSED' });

  const saving = await scenario({
    model: ['Saved.'],
    artifactService: new InMemoryArtifactService(),
    runConfig: { saveInputBlobsAsArtifacts: true },
  });
  const file = { inlineData: { mimeType: 'text/plain', data: 'aGk=' } };
  const saved = await saving.run([{ text: 'look' }, file], REQUEST);
  expect(await saving.run([{ text: 'look' }, file], REQUEST)).toEqual(saved);
  await expect(saving.run([{ text: 'see' }, file], REQUEST)).rejects.toMatchObject({ code: 'REQUEST_ID_REUSED' });
});

test('ifKnown resume takes up an unfinished run in its own stream, and follows any other', async () => {
  const gate = new Gate();
  const { start, run, restart } = await scenario({
    model: [WAIT, { text: 'never', gate }],
    agent: { tools },
    resumable: true,
  });
  const asked = await run('hi', REQUEST);
  const abort = new AbortController();
  const running = runToError(start(answer(), { ...ANSWER, abortSignal: abort.signal }));
  await gate.reached;
  abort.abort(new ShuttingDownError('the process ends'));
  await running;
  const next = restart({ model: [{ chunks: ['Do', 'ne.'] }], resumable: true } as object);
  const resumed = await next.run(answer(), { ...ANSWER, ifKnown: 'resume', runConfig: { streamingMode: 'sse' } });
  expect(resumed.filter(({ partial }) => partial).map(textOf)).toEqual(['Do', 'ne.']);
  const whole = (events: readonly Event[]): (string | undefined)[] =>
    events.filter(({ partial, actions }) => !partial && !actions.endOfAgent).map(({ id }) => id);
  expect(whole(await next.run(answer(), { ...ANSWER, ifKnown: 'resume' }))).toEqual(whole(resumed));
  expect(whole(await next.run('hi', REQUEST))).toEqual([...whole(asked), ...whole(resumed)]);
  expect(await findLooseEnds(next.sessionService, KEY)).toEqual([]);
});

test('a request whose process died before its message was stored runs when it is sent again', async () => {
  const { run, sessionService, stored } = await scenario({ model: ['One.', 'Two.'] });
  for (const keepRunOpen of [false, true]) {
    const requestId = `r-${keepRunOpen}`;
    const { lease } = await sessionService.beginRun({ ...KEY, invocationId: `e-${keepRunOpen}`, requestId });
    await sessionService.releaseLease(lease, { keepRunOpen });
  }
  for (const [requestId, text] of [
    ['r-true', 'One.'],
    ['r-false', 'Two.'],
  ] as const)
    for (let times = 0; times < 2; times++) expect((await run('hi', { requestId })).map(textOf)).toEqual([text]);
  expect(await stored()).toHaveLength(4);
});

test.each([true, false])(
  'a resume with the requestId of another run throws RequestReusedError and changes nothing (resumable: %s)',
  async (resumable) => {
    const { runner, run, stored } = await scenario({ agent: scripted('bot', ['hi']), resumable });
    await run('hello', REQUEST);
    const before = await stored();
    const runConfig = { requestId: before[0]?.requestId };
    const resumed = runner.runAsync({ ...KEY, invocationId: 'e-x', runConfig });
    await expect(resumed.next()).rejects.toMatchObject({ code: 'REQUEST_ID_REUSED' });
    expect(await stored()).toEqual(before);
  },
);

test('an answer that an interrupted run has stored is not replaced by another one', async () => {
  let refused = 0;
  for (let commit = 1, isLast = false; !isLast; commit++) {
    const paid: boolean[] = [];
    const pay = new FunctionTool({
      name: 'pay',
      description: '',
      requireConfirmation: true,
      execute: () => paid.push(true),
    });
    const agent = { tools: [pay] };
    const model: ScriptedStep[] = ['Never mind.', 'Never mind.'];
    const first = await scenario({ model: [{ calls: [{ name: 'pay' }] }], agent, resumable: true });
    const asked = await first.run('hi', REQUEST);
    const id = asked.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_confirmation')?.id ?? '';
    const { service, commits } = dying(first.sessionService, commit, true);
    const changes = { sessionService: service, model, agent };
    await first
      .restart(changes)
      .run(answer({ confirmed: false }, id), ANSWER)
      .catch(() => undefined);
    isLast = commits() < commit;
    first.platform.advance(60_000);
    const next = first.restart({ model, agent });
    const isStored = (await next.stored()).some(({ requestId }) => requestId === ANSWER.requestId);
    const error = await next.run(answer({ confirmed: true }, id)).catch((thrown: unknown) => thrown);
    if (isStored) {
      refused++;
      expect([commit, error, paid]).toMatchObject([commit, { code: 'INVALID_MESSAGE' }, []]);
    }
  }
  expect(refused).toBeGreaterThan(1);
});

test.each(['follow', 'resume', 'reject'] as const)(
  'a request that was cancelled before its run began is refused, with ifKnown %s, and so is an answer',
  async (ifKnown) => {
    const played = await scenario({ model: [WAIT, 'Thanks.'], agent: { tools }, resumable: true });
    await played.run('hi');
    for (const [message, requestId] of [
      ['again', 'r-1'],
      [answer(), 'r-2'],
    ] as const) {
      await played.sessionService.cancelRequest({ ...KEY, id: requestId });
      await expect(played.run(message, { requestId, ifKnown })).rejects.toMatchObject({
        code: 'RUN_ABORTED',
        message: expect.stringContaining('was cancelled before its run began'),
      });
    }
    const stored = await played.stored();
    expect(stored.filter(({ author }) => author === 'user')).toHaveLength(1);
    expect((await played.run(answer(), { requestId: 'r-3' })).some((event) => textOf(event) === 'Thanks.')).toBe(true);
    expect(await findLooseEnds(played.sessionService, KEY)).toEqual([]);
  },
);
