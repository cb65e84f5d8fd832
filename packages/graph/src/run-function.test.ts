import { Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { END, node, NodeTimeoutError, START, StateGraph } from './index.ts';
import { scenario } from '../../runner/src/fixtures/scenario.ts';

test('a function that returned has no effect if it times out while its inner nodes run', async () => {
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
  const { run, platform } = await scenario({ agent });
  const running = run();
  const failed = expect(running).rejects.toThrow(NodeTimeoutError);
  await gate.reached;
  platform.advance(50);
  await failed;
});
