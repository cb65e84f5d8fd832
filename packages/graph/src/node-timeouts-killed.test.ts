import type { BaseSessionService } from '@eventloom/core';
import { findLooseEnds, Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { dying } from '../../runner/src/resume/fixtures/dying-service.ts';
import { call, IDS, KEY, scripted } from '../../runner/src/fixtures/scenario.ts';
import { passTimeUntil } from '../../runner/src/fixtures/storage-outage.ts';
import { HI } from './fixtures/killed-run.ts';
import { END, START, StateGraph } from './index.ts';

/** Reads a run to its end. Returns false if it fails, for example because its process is killed. */
async function endsWell(stream: AsyncIterable<unknown>): Promise<boolean> {
  try {
    for await (const _ of stream);
    return true;
  } catch {
    return false;
  }
}

test('calls of an attempt that timed out get responses, whenever the process is killed', async () => {
  let isWhole = false;
  for (let at = 1; !isWhole; at++) {
    const platform = fixedPlatform();
    const sessionService = new InMemorySessionService({ platform });
    await sessionService.createSession(KEY);
    let calls = 0;
    const slow = new FunctionTool({
      name: 'slow',
      description: '',
      execute: (_, { abortSignal }) => (++calls === 1 ? new Gate().pass(abortSignal) : 'done'),
    });
    const runnerOn = (service: BaseSessionService) => {
      const worker = scripted('worker', [{ calls: [call('slow')] }, 'done', 'done'], { tools: [slow] });
      const agent = new StateGraph({ name: 'g' })
        .addNode('worker', worker, { timeoutMs: 500, retry: { maxAttempts: 3 } })
        .addEdge(START, 'worker')
        .addEdge('worker', END)
        .compile();
      return new Runner({ appName: 'app', agent, sessionService: service, platform, resumable: true });
    };
    const stream = runnerOn(dying(sessionService, at, true).service).runAsync(HI);
    isWhole = await passTimeUntil(platform, endsWell(stream));
    const { invocationId } = stream;
    if ((await sessionService.findRun({ ...KEY, id: invocationId }))?.open)
      await passTimeUntil(platform, runnerOn(sessionService).run({ ...IDS, invocationId }));
    expect(await findLooseEnds(sessionService, KEY), `killed at commit ${at}`).toEqual([]);
  }
});
