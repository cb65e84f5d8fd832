import { type Content, type Event, type Part } from '@eventloom/core';
import {
  LlmAgent,
  BaseEventsSummarizer,
  createCompactionEvent,
  type SummarizeEventsRequest,
} from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, type ScriptedStep, ScriptedModel } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';
import { IDS, KEY, saying, scenario } from './fixtures/scenario.ts';

/** A summarizer whose summary lists the texts. */
class NamingSummarizer extends BaseEventsSummarizer {
  override async maybeSummarizeEvents({ events }: SummarizeEventsRequest): Promise<Event | undefined> {
    const text = events.map(({ content }) => textOf(content)).filter((texts) => texts !== '');
    return createCompactionEvent({ role: 'model', parts: [{ text: `(${text.join(' ')})` }] });
  }
}

function textOf(content: Content | undefined): string {
  const texts = content?.parts?.map(
    ({ text, functionCall, functionResponse }) =>
      text ?? (functionCall ? `call:${functionCall.id}` : `response:${functionResponse?.id}`),
  );
  return texts?.join('+') ?? '';
}

const call: ScriptedStep = { calls: [{ id: 'c', name: 'look', args: {} }] };

/** A resumable run, "first", that waits for the result of its call; each runner represents another process. */
async function setUp(steps: readonly ScriptedStep[]) {
  const model = new ScriptedModel([call, ...steps]);
  const look = new LongRunningFunctionTool({ name: 'look', description: 'Looks.', execute: () => undefined });
  const eventsCompaction = { summarizer: new NamingSummarizer(), compactionInterval: 1 };
  const agent = { tools: [look] };
  const { platform, stored, start, restart } = await scenario({ model, agent, eventsCompaction, resumable: true });
  const first = start('first');
  for await (const _event of first);
  const say = async (text: string, runner = restart().runner): Promise<void> => {
    platform.advance(1000);
    await runner.run(saying(text));
  };
  const resume = async (runner = restart().runner): Promise<void> => {
    platform.advance(1000);
    const functionResponse = { id: 'c', name: 'look', response: { seen: 1 } };
    await runner.run({ ...IDS, newMessage: { parts: [{ functionResponse }] }, invocationId: first.invocationId });
  };
  const sent = () => model.requests.at(-1)?.request.contents.map(textOf);
  const summaries = async () =>
    (await stored()).flatMap(({ actions }) => textOf(actions.compaction?.compactedContent) || []);
  return { say, resume, sent, summaries };
}

test('a run that waits for a long-running call is resumed with it, and compacted once it is completed', async () => {
  const { say, resume, sent, summaries } = await setUp(['a2', 'a3', 'a1', 'a4']);
  await say('u2');
  await say('u3');
  expect(await summaries()).toEqual([]);
  await resume();
  expect(sent()).toEqual(['first', 'u2', 'u3', 'call:c', 'response:c']);
  expect(await summaries()).toEqual(['(first call:c u2 a2 u3 a3 response:c a1)']);
  await say('u4');
  expect(sent()).toEqual(['(first call:c u2 a2 u3 a3 response:c a1)', 'u4']);
});

test('a run that waits for a person is resumed with its call and result despite later messages', async () => {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const model = new ScriptedModel([call, 'a2', 'a3', 'a1', 'a4']);
  const requireConfirmation = true;
  const look = new FunctionTool({ name: 'look', description: 'Looks.', requireConfirmation, execute: () => 'seen' });
  const agent = new LlmAgent({ name: 'bot', model, tools: [look] });
  const eventsCompaction = { summarizer: new NamingSummarizer(), compactionInterval: 1 };
  const run = async (part: Part, invocationId?: string): Promise<Event[]> => {
    platform.advance(1000);
    const runner = new Runner({ appName: 'app', agent, sessionService, platform, eventsCompaction, resumable: true });
    return runner.run({ ...IDS, newMessage: { parts: [part] }, invocationId });
  };
  const asked = (await run({ text: 'first' })).find(({ longRunningToolIds }) => longRunningToolIds?.length);
  await run({ text: 'u2' });
  await run({ text: 'u3' });
  const id = asked?.longRunningToolIds?.[0];
  const functionResponse = { id, name: 'adk_request_confirmation', response: { confirmed: true } };
  await run({ functionResponse } as Part, asked?.invocationId);
  const sent = () => model.requests.at(-1)?.request.contents.map(textOf);
  expect(sent()).toEqual(['first', 'u2', 'u3', 'call:c', 'response:c']);
  await run({ text: 'u4' });
  expect(sent()).toEqual([expect.stringMatching(/^\(first call:c .* a1\)$/), 'u4']);
});
