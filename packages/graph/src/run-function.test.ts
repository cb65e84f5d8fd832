import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { END, node, NodeTimeoutError, START, StateGraph } from './index.ts';

const IDS = { userId: 'u', sessionId: 's' };

test('an attempt that is done, and has no more time while what it runs goes on, counts for nothing', async () => {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService();
  await sessionService.createSession({ appName: 'app', ...IDS });
  const gate = new Gate();
  const slow = node('slow', () => gate.pass());
  const agent = new StateGraph({ name: 'g' })
    .addNode(
      'hasty',
      (_: string, context) => {
        void context.runNode(slow, null).catch(() => undefined);
        return 'done';
      },
      { timeoutMs: 50 },
    )
    .addEdge(START, 'hasty')
    .addEdge('hasty', END)
    .compile();
  const runner = new Runner({ appName: 'app', agent, sessionService, platform });
  const running = runner.run({ ...IDS, newMessage: { parts: [{ text: 'hi' }] } });
  const failed = expect(running).rejects.toThrow(NodeTimeoutError);
  await gate.reached;
  platform.advance(50);
  await failed;
});
