import { BaseAgent, type Event, type GetSessionRequest, type InvocationContext, type Session } from '@eventloom/core';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { fixedPlatform, modelEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { scenario } from './fixtures/scenario.ts';

/** An agent that replies with the first characters of the texts that it sees. */
class Seeing extends BaseAgent {
  protected override async *runAsyncImpl({ session }: InvocationContext): AsyncGenerator<Event, void, void> {
    yield modelEvent('bot', session.events.map(({ content }) => content?.parts?.[0]?.text?.slice(0, 2)).join(' '));
  }
}

/** Notes the number of large texts in each read. */
class NotingService extends SqliteSessionService {
  readonly reads: number[] = [];

  override async getSession(request: GetSessionRequest): Promise<Session | undefined> {
    const session = await super.getSession(request);
    this.reads.push(
      session?.events.filter(({ content }) => (content?.parts?.[0]?.text?.length ?? 0) > 1000).length ?? 0,
    );
    return session;
  }
}

const large = (name: string): string => name + 'x'.repeat(3 * 1024 * 1024);

test('a session of many megabytes that is not cached is read in parts, with other work in between', async () => {
  const platform = fixedPlatform();
  const sessionService = new NotingService({ path: ':memory:', platform });
  const { run } = await scenario({
    agent: new Seeing({ name: 'bot' }),
    platform,
    sessionService,
    sessionCache: { maxChars: 1 },
  });
  for (const name of ['a:', 'b:', 'c:', 'd:']) await run(large(name));
  sessionService.reads.length = 0;
  const [event] = await run('e:');
  expect(event?.content?.parts?.[0]?.text).toMatch(/^a: a: b: .* c: .* d: .* e:$/);
  expect(sessionService.reads.length).toBeGreaterThanOrEqual(4);
  expect(Math.max(...sessionService.reads)).toBe(1);
  sessionService.close();
});
