/* oxlint-disable eslint/require-yield -- agents that yield nothing are the point */
import { AgentError, type Event, RunAbortedError } from '@eventloom/core';
import { LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { isCompletion } from './fixtures/is-completion.ts';
import { CustomAgent, textEvent } from './fixtures/custom-agent.ts';
import { expectFree, saying, scenario, scripted, textOf } from './fixtures/scenario.ts';

test('the first failure aborts and closes the siblings, and is thrown', async () => {
  const gate = new Gate();
  const closed: string[] = [];
  const waiting = new CustomAgent('waiting', async function* (context) {
    try {
      yield textEvent(context, 'one');
      await gate.pass(context.abortSignal);
      yield textEvent(context, 'never');
    } finally {
      closed.push('waiting');
    }
  });
  const suspended = new CustomAgent('suspended', async function* (context) {
    try {
      for (;;) {
        yield textEvent(context, 'more');
        await gate.reached;
      }
    } finally {
      closed.push('suspended');
    }
  });
  const failing = new CustomAgent('failing', async function* () {
    await gate.reached;
    throw new TypeError('broken');
  });
  const { run, stored, runner, platform } = await scenario({
    agent: new ParallelAgent({ name: 'par', subAgents: [waiting, suspended, failing] }),
  });
  const error: unknown = await run().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AgentError);
  expect(error).toMatchObject({ message: 'agent "failing" failed: broken' });
  expect(closed.toSorted()).toEqual(['suspended', 'waiting']);
  const events = await stored();
  expect(events.map(textOf)).not.toContain('never');
  expect(events.at(-1)).toMatchObject({
    author: 'failing',
    branch: 'par.failing',
    errorCode: 'AGENT',
    errorMessage: expect.stringContaining('agent "failing"'),
  });
  await expectFree(runner);
  await platform.drain();
});

test('a sibling that fails because of the abort does not replace the first failure', async () => {
  const asked = new Gate();
  const root = new ParallelAgent({
    name: 'par',
    subAgents: [
      scripted('slow', [{ text: 'late', gate: asked }]),
      new CustomAgent('failing', async function* () {
        await asked.reached;
        throw new TypeError('broken');
      }),
    ],
  });
  const { run } = await scenario({ agent: root });
  await expect(run()).rejects.toThrow('broken');
});

test('a failed sibling stops its part of the tree, and a callback above may recover', async () => {
  const failing = new CustomAgent('failing', async function* () {
    throw new TypeError('broken');
  });
  const par = new ParallelAgent({
    name: 'par',
    subAgents: [failing, scripted('other', [{ text: 'late', gate: new Gate() }])],
    onAgentErrorCallback: () => ({ parts: [{ text: 'never mind' }] }),
  });
  const next = new CustomAgent('next', async function* (context) {
    yield textEvent(context, `next, ${context.abortSignal.aborted ? 'aborted' : 'alive'}`);
  });
  const { run } = await scenario({ agent: new SequentialAgent({ name: 'steps', subAgents: [par, next] }) });
  expect((await run()).map(textOf)).toEqual(['never mind', 'next, alive']);
});

test('a sibling that ignores the abort is abandoned after a time-out', async () => {
  const stuck = new CustomAgent('stuck', async function* () {
    await new Promise(() => undefined);
  });
  const failing = new CustomAgent('failing', async function* () {
    throw new TypeError('broken');
  });
  const root = new ParallelAgent({ name: 'par', subAgents: [stuck, failing] });
  const { run, platform, runner } = await scenario({ agent: root, leaseTtlMs: 600_000 });
  const outcome = expect(run()).rejects.toThrow('broken');
  while ((await platform.nextTimer()) !== 5000);
  platform.advance(5000);
  await outcome;
  await expectFree(runner);
});

test('a reader that stops aborts every branch', async () => {
  const closed: string[] = [];
  const talking = (name: string) =>
    new CustomAgent(name, async function* (context) {
      try {
        yield textEvent(context, name);
        await new Gate().pass(context.abortSignal);
      } finally {
        closed.push(name);
      }
    });
  const { runner } = await scenario({
    agent: new ParallelAgent({ name: 'par', subAgents: [talking('a'), talking('b'), talking('c')] }),
  });
  for await (const event of runner.runAsync(saying('hi'))) if (textOf(event) === 'b') break;
  expect(closed.toSorted()).toEqual(['a', 'b', 'c']);
  await expectFree(runner);
});

test('an abort ends all branches with RunAbortedError, and the completion event comes last', async () => {
  const controller = new AbortController();
  const gate = new Gate();
  const root = new SequentialAgent({
    name: 'steps',
    subAgents: [
      new ParallelAgent({
        name: 'par',
        subAgents: [scripted('a', ['quick']), scripted('b', [{ text: 'never', gate }])],
      }),
    ],
  });
  const { runner } = await scenario({ agent: root });
  const events: Event[] = [];
  const running = (async () => {
    const stream = runner.runAsync(
      saying('hi', { runConfig: { completionEvent: true }, abortSignal: controller.signal }),
    );
    for await (const event of stream) events.push(event);
  })();
  await gate.reached;
  controller.abort();
  await expect(running).rejects.toBeInstanceOf(RunAbortedError);
  expect(events.filter(isCompletion)).toHaveLength(1);
  expect(events.at(-1)).toMatchObject({ author: 'app', customMetadata: { outcome: 'aborted' } });
  await expectFree(runner);
});

test('after a failure in a nested agent the completion event comes once, last', async () => {
  const failing = new CustomAgent('failing', async function* () {
    throw new TypeError('broken');
  });
  const root = new LoopAgent({
    name: 'loop',
    subAgents: [new ParallelAgent({ name: 'par', subAgents: [failing, scripted('a', ['fine'])] })],
  });
  const { runner } = await scenario({ agent: root });
  const events: Event[] = [];
  const running = (async () => {
    for await (const event of runner.runAsync(saying('hi', { runConfig: { completionEvent: true } })))
      events.push(event);
  })();
  await expect(running).rejects.toThrow('broken');
  expect(events.map(isCompletion).lastIndexOf(true)).toBe(events.length - 1);
  expect(events.filter(isCompletion)).toHaveLength(1);
  expect(events.at(-2)?.errorMessage).toContain('agent "failing"');
});

test('endInvocation in one branch ends the run after its event and aborts the others', async () => {
  const gate = new Gate();
  const ending = new CustomAgent('ending', async function* (context) {
    await gate.reached;
    context.endInvocation = true;
    yield textEvent(context, 'the end');
    yield textEvent(context, 'not this');
  });
  const { run, runner } = await scenario({
    agent: new ParallelAgent({ name: 'par', subAgents: [ending, scripted('a', [{ text: 'late', gate }])] }),
  });
  expect((await run()).map(textOf)).toEqual(['the end']);
  await expectFree(runner);
});

test('siblings are aborted when one fails, even if no reader asks for the next event', async () => {
  const stopped = Promise.withResolvers<void>();
  const held = new Gate();
  const working = new CustomAgent('working', async function* (context) {
    yield textEvent(context, 'one');
    await new Gate().pass(context.abortSignal).catch(() => stopped.resolve());
  });
  const failing = new CustomAgent('failing', async function* () {
    await held.pass();
    throw new TypeError('broken');
  });
  const talking = new CustomAgent('talking', async function* (context) {
    yield textEvent(context, 'one');
    yield textEvent(context, 'two');
  });
  const { runner } = await scenario({
    agent: new ParallelAgent({ name: 'par', subAgents: [working, talking, failing] }),
  });
  const stream = runner.runAsync(saying('hi'));
  while (textOf((await stream.next()).value ?? expect.unreachable()) !== 'two');
  held.open();
  await stopped.promise;
  await expect(stream.next()).resolves.toMatchObject({
    value: { errorMessage: expect.stringContaining('agent "failing"') },
  });
  await expect(stream.next()).rejects.toThrow('broken');
});
