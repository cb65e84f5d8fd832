import { type CallbackContext, ConfigurationError, contentText, type Event } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { InMemoryMemoryService } from './in-memory-memory-service.ts';

const OWNER = { appName: 'app', userId: 'u' };

/** An agent that gives these answers, and remembers each session after its turn. */
function setUp(answers: readonly string[], { memoryService }: { readonly memoryService?: InMemoryMemoryService } = {}) {
  const platform = fixedPlatform();
  const afterAgentCallback = async (context: CallbackContext): Promise<undefined> => {
    await context.addSessionToMemory();
    return undefined;
  };
  const runner = new Runner({
    appName: 'app',
    agent: new LlmAgent({ name: 'bot', model: new ScriptedModel(answers), afterAgentCallback }),
    sessionService: new InMemorySessionService({ platform }),
    autoCreateSession: true,
    memoryService,
    platform,
  });
  const say = (sessionId: string, text: string): Promise<Event[]> =>
    runner.run({ userId: 'u', sessionId, newMessage: { parts: [{ text }] } });
  return { say, runner };
}

test("an agent that adds its session after each turn remembers both speakers' text once", async () => {
  const memoryService = new InMemoryMemoryService();
  const { say } = setUp(['Hello Ada.', 'Owls hoot.'], { memoryService });
  await say('s', 'I am Ada.');
  expect((await memoryService.searchMemory({ ...OWNER, query: 'Ada' })).memories).toHaveLength(2);
  await say('s', 'What do owls do, for Ada?');
  const { memories } = await memoryService.searchMemory({ ...OWNER, query: 'ada hoot' });
  expect(memories.map(({ author, content }) => `${author}: ${contentText(content)}`).toSorted()).toEqual([
    'bot: Hello Ada.',
    'bot: Owls hoot.',
    'user: I am Ada.',
    'user: What do owls do, for Ada?',
  ]);
});

test('rewound events are forgotten with the next turn', async () => {
  const memoryService = new InMemoryMemoryService();
  const { say, runner } = setUp(['Noted.', 'Noted.', 'Fine.'], { memoryService });
  await say('s', 'I like owls.');
  const [answer] = await say('s', 'My secret is hoopoe.');
  await runner.rewindAsync({ userId: 'u', sessionId: 's', rewindBeforeInvocationId: answer?.invocationId ?? '' });
  await say('s', 'Go on.');
  expect((await memoryService.searchMemory({ ...OWNER, query: 'hoopoe' })).memories).toEqual([]);
  expect((await memoryService.searchMemory({ ...OWNER, query: 'owls' })).memories).toHaveLength(1);
});

test('without a memory service, adding a session fails the run with a ConfigurationError', async () => {
  const { say } = setUp(['Hello.']);
  await expect(say('s', 'Hi')).rejects.toThrow(ConfigurationError);
});
