import {
  BasePlugin,
  type BaseNode,
  InMemoryRunner,
  LlmAgent,
  type NodeContext,
  ParallelWorker,
  RequestInput,
  START,
  Workflow,
  node,
} from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

/** Notes the nodes that run, closes one of them, and corrects the output of another. */
class Gate extends BasePlugin {
  readonly calls: string[] = [];

  override async beforeNodeCallback(params: {
    node: BaseNode;
    nodeContext: NodeContext;
    input: unknown;
  }): Promise<unknown> {
    const { name } = params.node;
    this.calls.push(`before ${name} at ${params.nodeContext.nodePath}: ${JSON.stringify(params.input)}`);
    return name === 'payment' ? 'payments are closed' : undefined;
  }

  override async afterNodeCallback(params: {
    node: BaseNode;
    nodeContext: NodeContext;
    output: unknown;
  }): Promise<unknown> {
    const { name } = params.node;
    this.calls.push(`after ${name}: ${JSON.stringify(params.output)}`);
    return name === 'greet' ? 'Good morning' : undefined;
  }
}

const greet = node((_context: NodeContext, text: string) => `Hello ${text}`, { name: 'greet' });
const payment = node(() => 'paid', { name: 'payment' });
const outer = node(
  async (context: NodeContext, text: string) => {
    const { output } = await context.runNode(
      node(() => 'inner', { name: 'inner' }),
      text,
    );
    return `${String(output)} of ${text}`;
  },
  { name: 'outer', rerunOnResume: true },
);
const split = node((_context: NodeContext, text: string) => text.split(' '), { name: 'split' });
const count = new ParallelWorker(node((_context: NodeContext, text: string) => text.length, { name: 'count' }));
const flaky = node(
  (context: NodeContext) => {
    if (context.attemptCount < 2) throw new Error('busy');
    return 'second attempt';
  },
  { name: 'flaky', retryConfig: { maxAttempts: 2, initialDelay: 0, jitter: 0 } },
);
const broken = node(
  () => {
    throw new Error('broken');
  },
  { name: 'broken' },
);
const ask = node(() => new RequestInput({ interruptId: 'which', message: 'Which one?' }), { name: 'ask' });
const writer = new LlmAgent({ name: 'writer', model: 'gemini-flash-latest', instruction: 'Write.' });

const program: Program = {
  replies: [jsonReply(wireResponse('It is closed.'))],
  async main(tell) {
    const flows = [
      [new Workflow({ name: 'shop', edges: [[START, greet, payment, writer]] }), 'Ann'],
      [new Workflow({ name: 'last', edges: [[START, payment, greet]] }), 'Ann'],
      [new Workflow({ name: 'dynamic', edges: [[START, outer]] }), 'Ann'],
      [new Workflow({ name: 'words', edges: [[START, split, count]] }), 'one three'],
      [new Workflow({ name: 'retried', edges: [[START, flaky]] }), 'go'],
      [new Workflow({ name: 'failing', edges: [[START, broken]] }), 'go'],
      [new Workflow({ name: 'asking', edges: [[START, ask, greet]] }), 'go', 'the red one'],
    ] as const;
    for (const [agent, ...messages] of flows) {
      const gate = new Gate('gate');
      const runner = new InMemoryRunner({ agent, appName: 'shop', plugins: [gate] });
      const { id: sessionId } = await runner.sessionService.createSession({ appName: 'shop', userId: 'ann' });
      for (const text of messages) {
        const newMessage = { role: 'user', parts: [{ text }] };
        try {
          for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) tell(event);
        } catch (error) {
          tell(`failed: ${(error as Error).message}`);
        }
      }
      for (const call of gate.calls) tell(`${agent.name}: ${call}`);
    }
  },
};
export default program;
