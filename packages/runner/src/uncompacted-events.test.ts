import type { BaseLlm, BaseSessionService } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';
import { counted, NamingSummarizer, setUp, textOf } from './fixtures/compacted-run.ts';
import { IDS, KEY } from './fixtures/scenario.ts';

const calls = (name: string, id: string): ScriptedStep => ({ calls: [{ id, name, args: {} }] });

/** A runner without compaction, with a clock that is years behind. */
const slowRunner = (model: BaseLlm, sessionService: BaseSessionService): Runner =>
  new Runner({
    appName: 'app',
    agent: new LlmAgent({ name: 'bot', model }),
    sessionService,
    platform: fixedPlatform({ now: Date.UTC(2020, 0, 1) }),
  });

test('a call without a response and all later events are not compacted', async () => {
  const steps = ['a1', calls('wait', 'w'), 'a3', 'a4', 'a5'];
  const { turns, runner, sent, summarizer } = await setUp({ compactionInterval: 1, steps });
  await turns(3);
  expect(summarizer.texts).toEqual(['u1 a1']);
  const functionResponse = { id: 'w', name: 'wait', response: { ok: true } };
  await runner.run({ ...IDS, newMessage: { parts: [{ functionResponse }] } });
  expect(sent()).toEqual(['(u1 a1)', 'u2', 'u3', 'call:w', 'response:w']);
  expect(summarizer.texts[1]).toBe('u2 call:w u3 a3 response:w a4');
  await turns(1);
  expect(sent()).toEqual(['(u1 a1)', '(u2 call:w u3 a3 response:w a4)', 'u4']);
});

test('a call is kept with its response when events are kept', async () => {
  const steps = [calls('look', 'c'), counted('a1', 100), counted('a2', 100)];
  const { turns, summarizer } = await setUp({ tokenThreshold: 50, eventRetentionSize: 1, steps });
  await turns(1);
  expect(summarizer.asked).toEqual([]);
  await turns(1);
  expect(summarizer.texts).toEqual(['u1 call:c response:c a1']);
});

test('a further response to a compacted call is sent', async () => {
  const steps = [calls('wait', 'w'), 'a1', 'a2'];
  const { turns, runner, sent } = await setUp({ compactionInterval: 1, steps });
  const answer = async (done: number) => {
    const functionResponse = { id: 'w', name: 'wait', response: { done } };
    await runner.run({ ...IDS, newMessage: { parts: [{ functionResponse }] } });
  };
  await turns(1);
  await answer(50);
  await answer(100);
  expect(sent()?.at(-1)).toBe('For context: tool `wait` returned result: {"done":100}');
});

test('a rewind into a compacted range undoes the summary', async () => {
  const { turns, runner, make, say, sent, stored } = await setUp({ compactionInterval: 3, overlapSize: 1 });
  await turns(3);
  const rewindBeforeInvocationId = (await stored()).find(({ content }) => textOf(content) === 'u2')?.invocationId ?? '';
  await runner.rewindAsync({ ...IDS, rewindBeforeInvocationId });
  await say('again', make());
  expect(sent()).toEqual(['u1', 'a1', 'again']);
  await turns(1);
  await say('more', make());
  expect(sent()).toEqual(['(u1 a1 again a4 u4 a5)', 'more']);
});

test('events with an early timestamp do not count as compacted', async () => {
  const { turns, sessionService, make, sent, model } = await setUp({ compactionInterval: 2 });
  await turns(2);
  await slowRunner(model, sessionService).run({ ...IDS, newMessage: { parts: [{ text: 'slow' }] } });
  await make().run({ ...IDS, newMessage: { parts: [{ text: 'now' }] } });
  expect(sent()).toEqual(['(u1 a1 u2 a2)', 'slow', 'a3', 'now']);
});

test('the end of a resumable run gets a timestamp after the compacted events, even if the clock is behind', async () => {
  const { turns, sessionService, stored, compactions, model } = await setUp({ compactionInterval: 2 });
  await turns(2);
  const [compaction] = await compactions();
  const slow = slowRunner(model, sessionService);
  await slow.run({ ...IDS, newMessage: { parts: [{ text: 'slow' }] }, runConfig: { resumable: true } });
  const end = (await stored()).at(-1);
  expect(end?.object).toBe('runner.end');
  expect(end?.timestamp).toBeGreaterThan(compaction?.actions.compaction?.endTimestamp ?? Infinity);
});

test('the last speaker continues if all its events were compacted', async () => {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const transfer = { calls: [{ id: 't', name: 'transfer_to_agent', args: { agent_name: 'helper' } }] };
  const agent = new LlmAgent({
    name: 'root',
    model: new ScriptedModel([transfer]),
    subAgents: [new LlmAgent({ name: 'helper', model: new ScriptedModel(['h1', 'h2']) })],
  });
  const eventsCompaction = { summarizer: new NamingSummarizer(), compactionInterval: 1 };
  const run = async () => {
    platform.advance(1000);
    const runner = new Runner({ appName: 'app', agent, sessionService, platform, eventsCompaction });
    return runner.run({ ...IDS, newMessage: { parts: [{ text: 'hi' }] } });
  };
  await run();
  expect((await run()).map(({ author }) => author)).toEqual(['helper']);
});
