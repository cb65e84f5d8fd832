import { ShuttingDownError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { leftRuns } from './start.ts';

/** A runner with unfinished runs: of a server that ended, or held by the lease of a lost one. */
async function createRunner(...runs: readonly ('left' | 'held')[]): Promise<Runner> {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  const runner = (gate: Gate): Runner => {
    const agent = new LlmAgent({ name: 'bot', model: new ScriptedModel([{ gate, text: 'never' }]) });
    return new Runner({ appName: 'app', agent, sessionService, platform, resumable: true, autoCreateSession: true });
  };
  for (const [index, how] of runs.entries()) {
    const gate = new Gate();
    const { signal, abort } = withAbort();
    const newMessage = { parts: [{ text: 'hi' }] };
    const running = runner(gate).run({ userId: 'ann', sessionId: `s${index}`, newMessage, abortSignal: signal });
    running.catch(() => undefined);
    await gate.reached;
    if (how === 'held') continue;
    abort();
    await expect(running).rejects.toThrow();
  }
  return runner(new Gate());
}

function withAbort(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort(new ShuttingDownError('it ends')) };
}

test('without unfinished runs nothing is logged', async () => {
  expect(await leftRuns([await createRunner()], 'resume')).toEqual([]);
});

test('unfinished runs continue immediately, and those of busy sessions later', async () => {
  expect(await leftRuns([await createRunner('left', 'held', 'left')], 'resume')).toEqual([
    'app: 2 unfinished runs of an earlier server are resumed',
    'app: 1 run locked for 15 s more is resumed then, unless its server still runs',
  ]);
});

test('closed unfinished runs are logged, and those left open are not', async () => {
  const runner = await createRunner('left');
  expect(await leftRuns([runner], 'close')).toEqual(['app: 1 unfinished run of an earlier server is closed']);
  expect(await leftRuns([runner], 'leave')).toEqual([]);
});
