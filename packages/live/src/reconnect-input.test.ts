import { type Content, LiveConnectionError } from '@eventloom/core';
import { Gate, ScriptedLiveModel } from '@eventloom/testing';
import { expect, test, vi } from 'vitest';
import { END, LOST, user } from './fixtures/live-messages.ts';
import { readAll } from './fixtures/live-turns.ts';
import { liveScenario } from './fixtures/live-scenario.ts';

function blob(data: string) {
  return { data, mimeType: 'audio/pcm' };
}

const image = { role: 'user', parts: [{ inlineData: { data: 'AAAA', mimeType: 'image/png' } }] };

/** The first connection ends before the client's input can be sent. */
function breakFirst(
  model: ScriptedLiveModel,
  send: 'sendActivityStart' | 'sendActivityEnd' | 'sendContent',
  gate: Gate,
) {
  const connect = model.connect.bind(model);
  vi.spyOn(model, 'connect').mockImplementation(async (...given) => {
    const connection = await connect(...given);
    if (model.attempts > 1) return connection;
    const say = connection.sendContent.bind(connection);
    connection[send] = (content?: Content) => {
      if (content?.parts?.[0]?.text === 'hi') return say(content);
      gate.open();
      return Promise.reject(LOST);
    };
    return connection;
  });
}

test.each([
  ['sendActivityStart', { activityStart: true }],
  ['sendActivityEnd', { activityEnd: true }],
  ['sendContent', { content: image }],
] as const)(
  'requests that a lost connection did not consume and the history lacks are sent to the next one: %s',
  async (send, sent) => {
    const gate = new Gate();
    const { model, queue, stream } = await liveScenario({
      model: [
        [{ heard: 'content' }, 'Hello', END, gate, { ends: 1006 }],
        [{ heard: 'blob' }, 'Two', END],
      ],
    });
    breakFirst(model, send, gate);
    queue.sendContent(user('hi'));
    let turns = 0;
    for await (const event of stream) {
      if (!event.turnComplete) continue;
      if (++turns === 2) queue.close();
      else {
        if (send === 'sendContent') queue.sendContent(image);
        else queue[send]();
        queue.sendRealtime(blob('AA=='));
      }
    }
    expect(model.connections[1]?.sent.slice(1)).toEqual([sent, { blob: blob('AA==') }]);
  },
);

test.each([
  ['its history', {}, [], []],
  ['a handle of before', { sessionResumption: {} }, [{ liveSessionResumptionUpdate: { newHandle: 'h' } }], []],
  ['a handle of meanwhile', { sessionResumption: {} }, [], [{ liveSessionResumptionUpdate: { newHandle: 'h' } }]],
])(
  'an open activity continues on the next connection with all its audio, made with %s',
  async (_, config, before, meanwhile) => {
    const { model, queue, stream } = await liveScenario({
      model: [
        [...before, 'Hello', END, { heard: 'blob' }, ...meanwhile, { ends: 1006 }],
        [{ heard: 'activityEnd' }, 'Yes', END],
      ],
      runConfig: config,
    });
    let turns = 0;
    for await (const event of stream) {
      if (!event.turnComplete) continue;
      if (++turns === 2) queue.close();
      else {
        queue.sendActivityStart();
        queue.sendRealtime(blob('AA=='));
        void model.connection(1).then(() => {
          queue.sendRealtime(blob('BB=='));
          queue.sendActivityEnd();
        });
      }
    }
    const sent = model.connections[1]?.sent.filter((one) => !('history' in one));
    const isInHandle = meanwhile.length > 0;
    expect(sent).toEqual([
      ...(isInHandle ? [] : [{ activityStart: true }, { blob: blob('AA==') }]),
      { blob: blob('BB==') },
      { activityEnd: true },
    ]);
  },
);

test('an ended activity is not started again on the next connection', async () => {
  const { model, queue, stream } = await liveScenario({
    model: [
      [{ heard: 'activityEnd' }, 'Yes', END, { ends: 1006 }],
      [{ heard: 'blob' }, 'Two', END],
    ],
  });
  queue.sendActivityStart();
  queue.sendActivityEnd();
  void model.connection(1).then(() => queue.sendRealtime(blob('AA==')));
  let turns = 0;
  for await (const event of stream) if (event.turnComplete && ++turns === 2) queue.close();
  expect(model.connections[1]?.sent.slice(1)).toEqual([{ blob: blob('AA==') }]);
});

test('closing the queue ends a run whose audio waits for a dead network', async () => {
  const { model, queue, stream } = await liveScenario({ model: [LOST, LOST] });
  const reading = readAll(stream);
  queue.sendRealtime(blob('AA=='));
  // The clock does not advance, so the delay after the second loss does not end.
  while (model.attempts < 2) await Promise.resolve();
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
  queue.close();
  expect(await reading).toEqual([]);
});

test('audio that was queued before a close is dropped when the network is lost', async () => {
  const { model, queue, stream } = await liveScenario({ model: [LOST] });
  queue.sendRealtime(blob('AA=='));
  queue.close();
  expect(await readAll(stream)).toEqual([]);
  expect(model.attempts).toBe(1);
});

test('text queued before a close is still sent, and a refused connection is thrown', async () => {
  const { model, queue, stream } = await liveScenario({ model: [LOST, []] });
  queue.sendContent(user('bye'));
  queue.close();
  await readAll(stream);
  expect(model.connections[0]?.sent).toEqual([{ content: user('bye') }]);

  const refused = new LiveConnectionError('no such model', { closeCode: 1008, isRetryable: false });
  const other = await liveScenario({ model: [refused] });
  other.queue.sendRealtime(blob('AA=='));
  other.queue.close();
  await expect(readAll(other.stream)).rejects.toBe(refused);
});
