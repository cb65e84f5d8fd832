import type { Content, LlmRequest } from '@eventloom/core';
import { fixedPlatform, ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import {
  AnchoredContextCompactor,
  type BaseContextCompactor,
  FunctionTool,
  InMemoryRunner,
  isCompactedEvent,
  LlmAgent,
  LlmSummarizer,
  TokenBasedContextCompactor,
  TrajectoryThoughtPruningCompactor,
  TruncatingContextCompactor,
} from './index.ts';

async function converse(agent: LlmAgent, texts: readonly string[]) {
  const platform = fixedPlatform();
  const runner = new InMemoryRunner({ agent, appName: 'app', platform });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'app', userId: 'u' });
  for (const text of texts) {
    await runner.run({ userId: 'u', sessionId, newMessage: { parts: [{ text }] } });
    platform.advance(1000);
  }
  return runner.sessionService.getSession({ appName: 'app', userId: 'u', sessionId });
}

const textsOf = (contents: readonly Content[]): string[] =>
  contents.flatMap(({ parts = [] }) =>
    parts.map(
      ({ text, functionCall, functionResponse }) =>
        text ?? (functionCall ? 'call' : functionResponse ? 'response' : ''),
    ),
  );
const lastRequest = (model: ScriptedModel): LlmRequest => model.requests.at(-1)?.request ?? expect.unreachable();

test.each([
  ['TokenBasedContextCompactor', TokenBasedContextCompactor],
  ['AnchoredContextCompactor', AnchoredContextCompactor],
])('%s replaces older events by a summary after a request was long', async (_name, Compactor) => {
  const llm = new ScriptedModel(['They greeted.', 'They greeted again.', 'They left.']);
  const summarizer = new LlmSummarizer({ llm, prompt: 'Sum up:' });
  const compactor = new Compactor({ tokenThreshold: 1, eventRetentionSize: 1, summarizer });
  const model = new ScriptedModel(['Hello.', 'Yes.', 'Bye.']);
  const agent = new LlmAgent({ name: 'bot', model, contextCompactors: [compactor] });
  const session = await converse(agent, ['Hi.', 'Sure?', 'Bye.']);
  expect(session?.events.filter(isCompactedEvent)).not.toHaveLength(0);
  expect(llm.requests[0]?.request.contents[0]?.parts?.[0]?.text).toMatch(
    /^Sum up:\n\n\[Event 1 - Author: user\]\nHi\./,
  );
  expect(textsOf(lastRequest(model).contents)).toContain('They greeted.');
  expect(textsOf(lastRequest(model).contents)).not.toContain('Hi.');
});

test('a TruncatingContextCompactor leaves out the middle, and responses without their calls', async () => {
  const tool = new FunctionTool({ name: 'look', description: '', execute: () => 'Rome' });
  const model = new ScriptedModel(['one', { calls: [{ id: 'c1', name: 'look' }] }, 'two', 'three']);
  const contextCompactors = [new TruncatingContextCompactor({ threshold: 3, preserveLeadingEvents: 1 })];
  await converse(new LlmAgent({ name: 'bot', model, tools: [tool], contextCompactors }), ['a', 'b', 'c']);
  expect(textsOf(lastRequest(model).contents)).toEqual(['a', 'two', 'c']);
});

test('a TruncatingContextCompactor keeps the newest response, with its call and the message before it', async () => {
  const tool = new FunctionTool({ name: 'look', description: '', execute: () => 'Rome' });
  const model = new ScriptedModel(['one', { calls: [{ id: 'c1', name: 'look' }] }, 'two']);
  const contextCompactors = [new TruncatingContextCompactor({ threshold: 1 })];
  await converse(new LlmAgent({ name: 'bot', model, tools: [tool], contextCompactors }), ['a', 'b']);
  expect(textsOf(lastRequest(model).contents)).toEqual(['b', 'call', 'response']);
});

test('a TrajectoryThoughtPruningCompactor leaves out older thoughts', async () => {
  const thinking = (text: string) => ({ thought: `think ${text}`, text });
  const model = new ScriptedModel([thinking('one'), thinking('two'), 'three']);
  const contextCompactors = [new TrajectoryThoughtPruningCompactor({ eventRetentionSize: 2 })];
  await converse(new LlmAgent({ name: 'bot', model, contextCompactors }), ['a', 'b', 'c']);
  expect(textsOf(lastRequest(model).contents).filter((text) => text.startsWith('think'))).toEqual(['think two']);
});

test.each<[string, () => unknown, string]>([
  [
    'a compactor of the program',
    () => new LlmAgent({ name: 'bot', contextCompactors: [{} as BaseContextCompactor] }),
    'contextCompactors: sessions cannot be changed by a compactor of the program',
  ],
  [
    'a negative number',
    () => new TruncatingContextCompactor({ threshold: -1 }),
    'TruncatingContextCompactor: threshold: expected an integer of at least 0, got the number -1; write threshold: 10',
  ],
  [
    'no summarizer',
    () => new TokenBasedContextCompactor({ tokenThreshold: 1, eventRetentionSize: 1 } as never),
    'write summarizer: new LlmSummarizer({ llm })',
  ],
  ['no model', () => new LlmSummarizer({} as never), 'LlmSummarizer: llm: expected a model object'],
])('%s is refused with what to write', (_title, make, message) => {
  expect(make).toThrow(expect.objectContaining({ code: 'CONFIGURATION', message: expect.stringContaining(message) }));
});
