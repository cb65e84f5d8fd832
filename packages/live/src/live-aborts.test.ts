import type { RunConfig } from '@eventloom/core';
import type { LlmAgentConfig } from '@eventloom/llm-agent';
import { Gate, type ScriptedLiveScript } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { call, user } from './fixtures/live-messages.ts';
import { startScriptedRun } from './fixtures/live-run.ts';
import { readTurns } from './fixtures/live-turns.ts';
import { summaryOf } from './fixtures/event-summary.ts';
import { LiveRequestQueue } from './live-request-queue.ts';

interface Setup {
  readonly agent?: Partial<LlmAgentConfig>;
  readonly runConfig?: RunConfig;
}

function setup(scripts: readonly ScriptedLiveScript[], { agent, runConfig }: Setup = {}) {
  return startScriptedRun(scripts, agent, { runConfig });
}

test('an abort ends the run with RunAbortedError, and its connection', async () => {
  const { model, abort, stream } = await setup([[new Gate()]]);
  const reading = readTurns(stream, new LiveRequestQueue());
  const connection = await model.connection(0);
  abort.abort();
  await expect(reading).rejects.toMatchObject({ code: 'RUN_ABORTED' });
  await connection.over;
});

test('whoever stops reading ends the run and its connection', async () => {
  const { model, queue, stream } = await setup([[{ heard: 'content' }, 'a', 'b']]);
  queue.sendContent(user('hi'));
  for await (const event of stream) if (event.partial) break;
  await model.connections[0]?.over;
});

test('an abort ends the run while it connects, and while a tool runs that does not listen', async () => {
  const gate = new Gate();
  const connecting = await setup([{ gate }]);
  const first = readTurns(connecting.stream, connecting.queue);
  await gate.reached;
  connecting.abort.abort();
  await expect(first).rejects.toMatchObject({ code: 'RUN_ABORTED' });

  const reached = new Gate();
  const deaf = new FunctionTool({ name: 'deaf', description: '', execute: () => reached.pass() });
  const calling = await setup([[{ heard: 'content' }, call('deaf', 'c1')]], { agent: { tools: [deaf] } });
  calling.queue.sendContent(user('go'));
  const second = readTurns(calling.stream, calling.queue);
  await reached.reached;
  calling.abort.abort();
  await expect(second).rejects.toMatchObject({ code: 'RUN_ABORTED' });
  expect((await calling.stored()).map(summaryOf)).toEqual(['user: go', 'bot: deaf()']);
});
