import { type Event, LiveConnectionError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { END, handle, LOST, RESUMED, user } from './fixtures/live-messages.ts';
import { readTurns } from './fixtures/live-turns.ts';
import { reconnecting, textOf } from './fixtures/reconnecting.ts';

test.each([[{ goAway: { timeLeftMs: 100 } }], [{ ends: 1006 }], [{ ends: 1011 }]])(
  "after %o the run continues with the newest handle, without a gap in the reader's events",
  async (end) => {
    const { model, queue, stream, stored } = await reconnecting(
      [
        [{ heard: 'content' }, handle('h1'), handle('h2'), 'One', END, end],
        [{ heard: /two/ }, 'Two', END],
      ],
      RESUMED,
    );
    queue.sendContent(user('one'));
    const events: Event[] = [];
    for await (const event of stream) {
      events.push(event);
      if (!event.turnComplete) continue;
      if (events.filter(({ turnComplete }) => turnComplete).length === 2) queue.close();
      else queue.sendContent(user('two'));
    }
    expect((await stored()).map(textOf)).toEqual(['one', 'One', 'end', 'two', 'Two', 'end']);
    const [first, second] = model.connections;
    expect(first?.request.config['sessionResumption']).toEqual({});
    expect(second?.request.config['sessionResumption']).toEqual({ handle: 'h2' });
    expect(second?.request.contents).toEqual([]);
    expect(second?.sent).toEqual([{ content: user('two') }]);
    expect(first?.isClosed).toBe(true);
    model.assertConsumed();
  },
);

test('without a handle the next connection gets the history with the interrupted reply', async () => {
  const { model, queue, stream, stored } = await reconnecting([
    [{ heard: 'content' }, 'One and', { ends: 1006 }],
    [{ heard: 'history' }, 'two', END],
  ]);
  queue.sendContent(user('count'));
  await readTurns(stream, queue);
  expect((await stored()).map(textOf)).toEqual(['count', 'One and', 'two', 'end']);
  expect((await stored())[1]?.interrupted).toBe(true);
  expect(model.connections[1]?.sent).toEqual([
    { history: [user('count'), { role: 'model', parts: [{ text: 'One and' }] }] },
  ]);
});

test('a refused handle is replaced by the history', async () => {
  const refused = new LiveConnectionError('unknown handle', {
    closeCode: 1008,
    isRetryable: false,
    isHandleRefused: true,
  });
  const { model, queue, stream } = await reconnecting(
    [[{ heard: 'content' }, handle('old'), 'One', END, { ends: 1006 }], refused, [{ heard: 'history' }, 'Two', END]],
    RESUMED,
  );
  queue.sendContent(user('one'));
  const events = readTurns(stream, queue, 2);
  expect((await events).filter(({ turnComplete }) => turnComplete)).toHaveLength(2);
  expect(model.connections[1]?.request.config['sessionResumption']).toEqual({});
});

test('reconnect delays grow, and the run fails with the last error after five attempts', async () => {
  const delays: number[] = [];
  const { model, stream, stored } = await reconnecting([LOST, LOST, LOST, LOST, LOST, LOST], {}, {}, delays);
  const events: Event[] = [];
  const reading = (async () => {
    for await (const event of stream) events.push(event);
  })();
  await expect(reading).rejects.toBe(LOST);
  expect(delays).toEqual([250, 500, 1000, 2000]);
  expect(events.map(textOf)).toEqual(['LIVE_CONNECTION']);
  expect((await stored()).map(textOf)).toEqual(['LIVE_CONNECTION']);
  expect(model.attempts).toBe(6);
});

test('a successful connection resets the number of attempts', async () => {
  const { model, queue, stream } = await reconnecting(
    (index) => (index < 8 ? [`${index}`, END, { ends: 1006 }] : [{ heard: /end/ }, 'over', END]),
    RESUMED,
  );
  const events: Event[] = [];
  for await (const event of stream) {
    events.push(event);
    if (event.turnComplete && events.filter(({ turnComplete }) => turnComplete).length === 8)
      queue.sendContent(user('end'));
    if (event.partial && textOf(event) === 'over') queue.close();
  }
  expect(model.attempts).toBe(9);
});

test('a refused setup ends the run with an error event and throws', async () => {
  const refused = new LiveConnectionError('no such model', { closeCode: 1008, isRetryable: false });
  const { model, queue, stream, stored } = await reconnecting([refused]);
  await expect(readTurns(stream, queue)).rejects.toBe(refused);
  expect((await stored()).map(textOf)).toEqual(['LIVE_CONNECTION']);
  expect(model.attempts).toBe(1);
});

test("the service's time limit ends the run with an event if reconnecting is off", async () => {
  const { queue, stream, model } = await reconnecting(
    [[{ heard: 'content' }, 'One', END, { goAway: { timeLeftMs: 1000 } }, 'More', { ends: 1006 }]],
    { ...RESUMED, liveReconnect: false },
  );
  queue.sendContent(user('one'));
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  expect(events.filter(({ partial }) => !partial).map(textOf)).toEqual([
    'one',
    'One',
    'end',
    'More',
    'SESSION_TIME_LIMIT',
  ]);
  model.assertConsumed();
});

test('a connection whose time limit is announced is replaced when the model ends its turn', async () => {
  const { model, queue, stream, stored } = await reconnecting(
    [
      [{ heard: 'content' }, handle('h'), 'One', { goAway: { timeLeftMs: 9000 } }, ' two', END],
      [{ heard: /more/ }, 'Three', END],
    ],
    RESUMED,
  );
  queue.sendContent(user('count'));
  for await (const event of stream) {
    if (!event.turnComplete) continue;
    if (model.attempts === 2) queue.close();
    else void model.connection(0).then(({ ended }) => ended.then(() => queue.sendContent(user('more'))));
  }
  expect((await stored()).map(textOf)).toEqual(['count', 'One two', 'end', 'more', 'Three', 'end']);
  model.assertConsumed();
});

test('a connection whose time limit is announced is replaced when the user interrupts the turn', async () => {
  const { model, queue, stream } = await reconnecting(
    [
      [{ heard: 'content' }, 'One', { interrupted: true }, { goAway: { timeLeftMs: 9000 } }],
      ['Two', END],
    ],
    RESUMED,
  );
  queue.sendContent(user('count'));
  for await (const event of stream) if (event.turnComplete) queue.close();
  model.assertConsumed();
});
