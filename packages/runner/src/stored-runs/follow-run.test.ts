import { createEvent, type Event, RequestKnownError, ShuttingDownError, StaleWriterError } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { KEY, runToError, scenario, textOf } from '../fixtures/scenario.ts';

const REQUEST = { requestId: 'r-1' } as const;

const idsOf = (events: readonly Event[]): string[] => events.map(({ id }) => id);

test('a repeated request yields the stored events of its run, and nothing runs twice', async () => {
  let runs = 0;
  const look = new FunctionTool({ name: 'look', description: '', execute: () => ({ runs: ++runs }) });
  const model = [{ calls: [{ name: 'look' }] }, 'Seen.', 'Next.'];
  const { run, start, stored, restart } = await scenario({ model, agent: { tools: [look] } });
  const events = await run('hi', REQUEST);
  await run('something else');
  const before = await stored();
  for (const again of [start('hi', REQUEST), restart().start('hi', { ...REQUEST, ifKnown: 'resume' })]) {
    const seen: [string, number][] = [];
    for await (const event of again) seen.push([event.id, again.offset]);
    expect(seen).toEqual(events.map(({ id }, index) => [id, index + 1]));
    expect(again.invocationId).toBe(events[0]?.invocationId);
    expect(await again.whenBegun()).toBe(true);
    expect(again.leavesRunOpen).toBe(false);
  }
  expect([runs, await stored()]).toEqual([1, before]);
});

test('with ifKnown reject a known request is refused, as is an invalid option', async () => {
  const { run } = await scenario({ model: ['One.'] });
  const [event] = await run('hi', REQUEST);
  const again = run('hi', { ...REQUEST, ifKnown: 'reject' });
  await expect(again).rejects.toSatisfy(
    (error) => RequestKnownError.isInstance(error) && error.invocationId === event?.invocationId,
  );
  await expect(again).rejects.toThrow('; read the events of that run, or use a new id');
  await expect(run('hi', { ...REQUEST, ifKnown: 'again' as 'reject' })).rejects.toThrow(/ifKnown/);
  for (const requestId of ['', ' \n', 'x'.repeat(257)])
    await expect(run('hi', { requestId })).rejects.toThrow(/requestId/);
});

test('a repeated request waits for the end of a run in flight, and a reader that stops does not end the run', async () => {
  const gate = new Gate();
  const { start, run, restart } = await scenario({ model: [{ text: 'Done.', gate }] });
  const first = run('hi', REQUEST);
  await gate.reached;
  const abort = new AbortController();
  const leaving = runToError(restart().start('hi', { ...REQUEST, abortSignal: abort.signal }));
  const again = start('hi', { ...REQUEST, runConfig: { onBusy: 'interrupt' } });
  const following = (async () => {
    const events: Event[] = [];
    for await (const event of again) events.push(event);
    return events;
  })();
  await again.whenBegun();
  abort.abort();
  expect((await leaving).error).toMatchObject({ code: 'RUN_ABORTED' });
  gate.open();
  expect(idsOf(await following)).toEqual(idsOf(await first));
});

test('a repeated request resumes its unfinished run, or closes it if it is not resumable', async () => {
  for (const resumable of [true, false]) {
    const gate = new Gate();
    const { start, restart, runner, sessionService } = await scenario({ model: [{ text: 'never', gate }], resumable });
    const abort = new AbortController();
    const stream = start('hi', { ...REQUEST, abortSignal: abort.signal });
    const running = runToError(stream);
    await gate.reached;
    if (resumable) abort.abort(new ShuttingDownError('the process ends'));
    else {
      // Another process takes over the run, and dies.
      const { invocationId } = stream;
      const { lease } = await sessionService.beginRun({ ...KEY, invocationId, continues: true, onBusy: 'interrupt' });
      abort.abort(new StaleWriterError('lost'));
      await sessionService.releaseLease(lease, { keepRunOpen: true });
    }
    await running;
    expect((await runner.listOpenRuns()).runs).toMatchObject([{ resumable, heldUntilMs: 0 }]);
    const next = restart({ model: ['Done.'], resumable });
    const events = (await next.run('hi', REQUEST)).filter(({ content, errorCode }) => content || errorCode);
    expect(events.map((event) => event.errorCode ?? textOf(event))).toEqual([resumable ? 'Done.' : 'RUN_ABANDONED']);
    expect((await runner.listOpenRuns()).runs).toEqual([]);
  }
});

test('a repeated request does not continue in another session of the same id', async () => {
  const look = new FunctionTool({ name: 'look', description: '', execute: () => ({}) });
  const calls = Array.from({ length: 60 }, () => ({ calls: [{ name: 'look' }] }));
  const { run, start, sessionService } = await scenario({ model: [...calls, 'Seen.'], agent: { tools: [look] } });
  await run('hi', REQUEST);
  const again = start('hi', REQUEST);
  await again.next();
  const { invocationId } = again;
  await sessionService.deleteSession(KEY);
  const session = await sessionService.createSession(KEY);
  for (let seq = 1; seq <= 150; seq++)
    await sessionService.appendEvent({ session, event: createEvent({ invocationId, author: 'other' }) });
  const { events, error } = await runToError(again);
  expect(error).toMatchObject({ code: 'SESSION_NOT_FOUND' });
  expect(events.filter(({ author }) => author === 'other')).toEqual([]);
});

test('a repeated answer yields only the events after it', async () => {
  const wait = new LongRunningFunctionTool({ name: 'wait', description: '', execute: () => undefined });
  const model = [{ calls: [{ id: 'c', name: 'wait' }] }, 'Thanks.'];
  const { run, stored } = await scenario({ model, agent: { tools: [wait] }, resumable: true });
  const asked = await run('hi', REQUEST);
  const answer = { functionResponse: { id: 'c', name: 'wait', response: { done: true } } };
  const answered = await run(answer, { requestId: 'r-2' });
  const before = await stored();
  expect(idsOf(await run(answer, { requestId: 'r-2' }))).toEqual(idsOf(answered));
  expect(idsOf(await run('hi', REQUEST))).toEqual(idsOf([...asked, ...answered]));
  expect(await stored()).toEqual(before);
});

test('a refused request can be sent again with its id', async () => {
  const { run, sessionService } = await scenario({ model: ['One.'] });
  const answer = { functionResponse: { id: 'unknown', name: 'f', response: {} } };
  await expect(run(answer, REQUEST)).rejects.toMatchObject({ code: 'INVALID_MESSAGE' });
  expect(await sessionService.findRun({ ...KEY, id: 'r-1' })).toBeUndefined();
  expect((await run('hi', REQUEST)).map(textOf)).toEqual(['One.']);
});
