import { LlmAgent } from '@eventloom/llm-agent';
import { ScriptedLiveModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { call, END, handle, RESUMED, user } from './fixtures/live-messages.ts';
import { liveScenario } from './fixtures/live-scenario.ts';
import { readTurns } from './fixtures/live-turns.ts';

test('unconsumed sends are sent again once and in order when the handle is resumed', async () => {
  const blob = (data: string) => ({ blob: { data, mimeType: 'audio/pcm' } });
  const heard = (data: string) => ({ heard: (sent: object) => JSON.stringify(sent).includes(data) });
  const model = new ScriptedLiveModel([
    {
      tellsConsumed: true,
      steps: [
        heard('BB=='),
        handle('h', 1),
        heard('hi'),
        heard('CC=='),
        call('quick', 'c1'),
        { heard: 'toolResponses' },
        { ends: 1006 },
      ],
    },
    { tellsConsumed: true, steps: [{ heard: 'toolResponses' }, handle('i', 4), { ends: 1006 }] },
    { tellsConsumed: true, steps: [heard('DD=='), END] },
  ]);
  const quick = new FunctionTool({ name: 'quick', description: '', execute: () => 'done' });
  const { queue, stream, stored } = await liveScenario({
    agent: new LlmAgent({ name: 'bot', model, tools: [quick] }),
    runConfig: RESUMED,
    delays: [],
  });
  for (const { blob: piece } of [blob('AA=='), blob('BB==')]) queue.sendRealtime(piece);
  queue.sendContent(user('hi'));
  queue.sendRealtime(blob('CC==').blob);
  void model.connection(2).then(() => queue.sendRealtime(blob('DD==').blob));
  await readTurns(stream, queue);
  const answer = { toolResponses: [{ id: 'c1', name: 'quick', response: { result: 'done' } }] };
  const again = [blob('BB=='), { content: user('hi') }, blob('CC=='), answer];
  expect(model.connections.map(({ sent }) => sent)).toEqual([[blob('AA=='), ...again], again, [blob('DD==')]]);
  expect((await stored()).filter(({ author }) => author === 'user')).toHaveLength(1);
  model.assertConsumed();
});

test('unconsumed sends stay queued when the connection that repeats them is lost', async () => {
  const blob = (data: string) => ({ blob: { data, mimeType: 'audio/pcm' } });
  const model = new ScriptedLiveModel([
    {
      tellsConsumed: true,
      steps: [handle('h', 0), { heard: (sent) => 'blob' in sent && sent.blob.data === 'BB==' }, { ends: 1006 }],
    },
    { tellsConsumed: true, steps: [{ usageMetadata: { totalTokenCount: 1 } }, { heard: 'blob' }, { ends: 1006 }] },
    { tellsConsumed: true, steps: [{ heard: (sent) => 'blob' in sent && sent.blob.data === 'BB==' }, END] },
  ]);
  const { queue, stream } = await liveScenario({
    agent: new LlmAgent({ name: 'bot', model }),
    runConfig: RESUMED,
    delays: [],
  });
  for (const data of ['AA==', 'BB==']) queue.sendRealtime(blob(data).blob);
  await readTurns(stream, queue);
  expect(model.connections[2]?.sent).toEqual([blob('AA=='), blob('BB==')]);
});
