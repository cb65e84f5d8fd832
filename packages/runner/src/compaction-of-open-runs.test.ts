import { type Content, type Event, type Part, RunAbortedError } from '@eventloom/core';
import {
  LlmAgent,
  BaseEventsSummarizer,
  createCompactionEvent,
  type SummarizeEventsRequest,
} from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, type ScriptedStep, ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';
import { IDS, KEY, saying, scenario } from './fixtures/scenario.ts';

/** Sums up by naming the texts. */
class NamingSummarizer extends BaseEventsSummarizer {
  override async maybeSummarizeEvents({ events }: SummarizeEventsRequest): Promise<Event | undefined> {
    const text = events.map(({ content }) => textOf(content)).filter((told) => told !== '');
    return createCompactionEvent({ role: 'model', parts: [{ text: `(${text.join(' ')})` }] });
  }
}

function textOf(content: Content | undefined): string {
  const told = content?.parts?.map(
    ({ text, functionCall, functionResponse }) =>
      text ?? (functionCall ? `call:${functionCall.id}` : `response:${functionResponse?.id}`),
  );
  return told?.join('+') ?? '';
}

const call: ScriptedStep = { calls: [{ id: 'c', name: 'look', args: {} }] };

/** A resumable run, "first", that was cut off before (`said`) or after (`called`) its model called a tool; each runner is a process of its own. */
async function setUp(cutOff: 'said' | 'called', steps: readonly ScriptedStep[]) {
  const abort = new AbortController();
  const model = new ScriptedModel(cutOff === 'called' ? [call, ...steps] : steps);
  const look = new FunctionTool({
    name: 'look',
    description: 'Looks.',
    idempotent: true,
    execute: () => ({ seen: 1 }),
  });
  const agent = { tools: [look], beforeModelCallback: () => (cutOff === 'said' ? abort.abort() : undefined) };
  const eventsCompaction = { summarizer: new NamingSummarizer(), compactionInterval: 1 };
  const { platform, stored, start, restart } = await scenario({ model, agent, eventsCompaction, resumable: true });
  const make = () => restart().runner;
  const first = start('first', { abortSignal: abort.signal });
  const cut = async (): Promise<void> => {
    for await (const event of first) if (cutOff === 'called' && textOf(event.content) === 'call:c') abort.abort();
  };
  await expect(cut()).rejects.toThrow(RunAbortedError);
  const say = async (text: string, runner = make()): Promise<void> => {
    platform.advance(1000);
    await runner.run(saying(text));
  };
  const resume = async (runner = make()): Promise<void> => {
    platform.advance(1000);
    await runner.run({ ...IDS, invocationId: first.invocationId });
  };
  const sent = () => model.requests.at(-1)?.request.contents.map(textOf);
  const summaries = async () =>
    (await stored()).flatMap(({ actions }) => textOf(actions.compaction?.compactedContent) || []);
  return { say, resume, sent, summaries, make };
}

test('a run that was cut off at a call is resumed with that call, and is summed up when it is over', async () => {
  const { say, resume, sent, summaries } = await setUp('called', ['a2', 'a3', 'a1', 'a4']);
  await say('u2');
  await say('u3');
  expect(await summaries()).toEqual([]);
  await resume();
  expect(sent()).toEqual(['first', 'u2', 'u3', 'call:c', 'response:c']);
  expect(await summaries()).toEqual(['(first call:c u2 a2 u3 a3 response:c a1)']);
  await say('u4');
  expect(sent()).toEqual(['(first call:c u2 a2 u3 a3 response:c a1)', 'u4']);
});

const others = (count: number): string[] => Array.from({ length: count }, (_, index) => `o${index}`);

test.each(['a process of its own', 'one process'] as const)(
  'a run that was summed up before somebody resumed it is told as it was, and later ones have its result (%s)',
  async (kind) => {
    const { say, resume, sent, summaries, make } = await setUp('called', [...others(12), 'a1', 'a2']);
    const same = make();
    const runner = () => (kind === 'one process' ? same : make());
    for (const other of others(12)) await say(`${other}?`, runner());
    const [summary = ''] = await summaries();
    expect(summary).toMatch(/^\(first call:c o0\? o0 .* o10\? o10\)$/);
    await resume(runner());
    expect(sent()).toEqual([summary, 'first', '(o11? o11)', 'call:c', 'response:c']);
    await say('last', runner());
    expect(sent()).toEqual([summary, '(o11? o11)', '(response:c a1)', 'last']);
  },
);

test('what the user said is there when a run is resumed that was summed up before its model answered', async () => {
  const { say, resume, sent } = await setUp('said', [...others(11), 'a1']);
  for (const other of others(11)) await say(`${other}?`);
  await resume();
  expect(sent()).toHaveLength(2);
  expect(sent()?.at(-1)).toBe('first');
});

test('a run that waits for a person is resumed with its call and its result, whatever was said meanwhile', async () => {
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
