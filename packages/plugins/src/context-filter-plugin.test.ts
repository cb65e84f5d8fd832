import { ConfigurationError, type Content, stringifyContent, createEvent, createLlmRequest } from '@eventloom/core';
import { expect, test } from 'vitest';
import { ContextFilterPlugin, type ContextFilterPluginOptions } from './context-filter-plugin.ts';
import { play } from './fixtures/play.ts';

const user = (text: string): Content => ({ role: 'user', parts: [{ text }] });
const model = (text: string): Content => ({ role: 'model', parts: [{ text }] });
const call = (id: string): Content => ({ role: 'model', parts: [{ functionCall: { id, name: 'f' } }] });
const answer = (id: string): Content => ({
  role: 'user',
  parts: [{ functionResponse: { id, name: 'f', response: {} } }],
});

async function filtered(options: ContextFilterPluginOptions, contents: Content[]): Promise<Content[]> {
  const llmRequest = { ...createLlmRequest(), contents };
  await new ContextFilterPlugin(options).beforeModelCallback({ llmRequest });
  return llmRequest.contents;
}

/** Three invocations: the second has two messages of the user and a call. */
const TALK = [user('1'), model('one'), user('2a'), user('2b'), call('c1'), answer('c1'), model('two'), user('3')];

test.each([
  [1, TALK.slice(7)],
  [2, TALK.slice(2)],
  [3, TALK],
  [9, TALK],
])('the plugin keeps the newest %i invocations', async (numInvocationsToKeep, kept) => {
  expect(await filtered({ numInvocationsToKeep }, TALK)).toEqual(kept);
});

test('the plugin keeps a call together with its late response', async () => {
  const late = [user('1'), call('c1'), user('2'), model('two'), user('3'), answer('c1'), model('three')];
  expect(await filtered({ numInvocationsToKeep: 1 }, late)).toEqual(late.slice(1));
});

test('the plugin removes removeAmount invocations at a time, so that requests between two removals have the same prefix', async () => {
  const contents = Array.from({ length: 7 }, (_, index) => [user(`${index}`), model('m')]).flat();
  const first = async (count: number): Promise<string> => {
    const kept = await filtered({ numInvocationsToKeep: 2, removeAmount: 2 }, contents.slice(0, 2 * count));
    return stringifyContent(createEvent({ author: 'x', content: kept[0] ?? {} }));
  };
  expect(await Promise.all([3, 4, 5, 6, 7].map(first))).toEqual(['0', '2', '2', '4', '4']);
});

test('a filter gets the remaining contents, and its result is sent', async () => {
  const seen: number[] = [];
  const customFilter = async (contents: Content[]): Promise<Content[]> => {
    seen.push(contents.length);
    return contents.slice(1);
  };
  expect(await filtered({ numInvocationsToKeep: 2, customFilter }, TALK)).toEqual(TALK.slice(3));
  expect(seen).toEqual([6]);
});

test('an error of the filter fails the run, and the model gets nothing', async () => {
  const customFilter = (): never => {
    throw new RangeError('cannot redact');
  };
  const { run, model: scripted } = await play({ plugins: [new ContextFilterPlugin({ customFilter })], model: ['Hi.'] });
  await expect(run()).rejects.toThrow('cannot redact');
  expect(scripted.requests).toEqual([]);
});

test('the session keeps all events', async () => {
  const {
    run,
    runner,
    model: scripted,
  } = await play({
    plugins: [new ContextFilterPlugin({ numInvocationsToKeep: 1 })],
    model: ['a', 'b'],
  });
  await run('1');
  await run('2');
  expect(scripted.requests[1]?.request.contents).toHaveLength(1);
  const session = await runner.sessionService.getSession({ appName: 'app', userId: 'u', sessionId: 's' });
  expect(session?.events.filter(({ content }) => content)).toHaveLength(4);
});

test.each<[ContextFilterPluginOptions, string]>([
  [
    { numInvocationsToKeep: 0 },
    'ContextFilterPlugin: numInvocationsToKeep: expected an integer of at least 1, got the number 0',
  ],
  [{ removeAmount: 0 }, 'ContextFilterPlugin: removeAmount: expected an integer of at least 1, got the number 0'],
  [{ customFilter: 'x' as never }, 'ContextFilterPlugin: customFilter: expected a function from contents to contents'],
])('%j is refused', (options, message) => {
  expect(() => new ContextFilterPlugin(options)).toThrow(ConfigurationError);
  expect(() => new ContextFilterPlugin(options)).toThrow(message);
});
