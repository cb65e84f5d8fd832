import { ScriptedModel } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import {
  BaseAgent,
  createEvent,
  type Event,
  InMemoryRunner,
  type InvocationContext,
  LlmAgent,
  LoopAgent,
  ParallelAgent,
  RoutedAgent,
  SequentialAgent,
  StreamingMode,
} from './index.ts';

type Events = AsyncGenerator<Event, void, void>;

const bot = (name: string, ...texts: string[]): LlmAgent => new LlmAgent({ name, model: new ScriptedModel(texts) });

/** Runs an agent, and returns its events as `author: text`. */
async function play(agent: BaseAgent, runConfig = {}): Promise<string[]> {
  const runner = new InMemoryRunner({ agent });
  const newMessage = { role: 'user', parts: [{ text: 'Hello.' }] };
  const said: string[] = [];
  for await (const { author, content, partial, branch, executionId } of runner.runEphemeral({
    userId: 'ann',
    newMessage,
    runConfig,
  })) {
    expect(executionId).toBeDefined();
    said.push(`${author}${partial ? '~' : ''}${branch ? `@${branch}` : ''}: ${content?.parts?.[0]?.text}`);
  }
  return said;
}

describe('the runAsync of a program', () => {
  test('is called for the root, for sub-agents and for the targets of transfers', async () => {
    const log: string[] = [];
    class Logged extends LlmAgent {
      override async *runAsync(context: InvocationContext): Events {
        log.push(`${this.name} begins`);
        yield* super.runAsync(context);
        log.push(`${this.name} ends`);
      }
    }
    const target = new Logged({ name: 'target', model: new ScriptedModel(['Here.']) });
    const calls = [{ name: 'transfer_to_agent', args: { agentName: 'target' } }];
    const first = new Logged({ name: 'first', model: new ScriptedModel([{ calls }]), subAgents: [target] });
    expect((await play(new SequentialAgent({ name: 'both', subAgents: [first] }))).at(-1)).toBe('target: Here.');
    expect(log).toEqual(['first begins', 'first ends', 'target begins', 'target ends']);
    log.length = 0;
    expect(await play(new Logged({ name: 'root', model: new ScriptedModel(['I am.']) }))).toEqual(['root: I am.']);
    expect(log).toEqual(['root begins', 'root ends']);
  });

  test('may leave the agent out, and yield events of its own', async () => {
    class Closed extends LlmAgent {
      override async *runAsync({ invocationId, branch }: InvocationContext): Events {
        yield createEvent({
          author: 'guard',
          invocationId,
          content: { role: 'model', parts: [{ text: `${branch}` }] },
        });
      }
    }
    expect(await play(new Closed({ name: 'closed', model: new ScriptedModel([]) }))).toEqual(['guard: undefined']);
    const sides = [new Closed({ name: 'closed', model: new ScriptedModel([]) }), bot('open', 'Come in.')];
    expect((await play(new ParallelAgent({ name: 'sides', subAgents: sides }))).toSorted()).toEqual([
      'guard@sides.closed: sides.closed',
      'open@sides.open: Come in.',
    ]);
  });

  test('gets the chunks of a streamed reply', async () => {
    class Quiet extends LlmAgent {
      override async *runAsync(context: InvocationContext): Events {
        for await (const event of super.runAsync(context)) if (!event.partial) yield event;
      }
    }
    const agent = new Quiet({ name: 'quiet', model: new ScriptedModel([{ chunks: ['Hel', 'lo.'] }]) });
    expect(await play(agent, { streamingMode: StreamingMode.SSE })).toEqual(['quiet: Hello.']);
  });

  test.each<[string, (log: string[]) => BaseAgent]>([
    [
      'a SequentialAgent',
      (log) =>
        new (class extends SequentialAgent {
          override async *runAsync(context: InvocationContext): Events {
            log.push(this.name);
            yield* super.runAsync(context);
          }
        })({ name: 'own', subAgents: [bot('a', 'A'), bot('b', 'B')] }),
    ],
    [
      'a ParallelAgent',
      (log) =>
        new (class extends ParallelAgent {
          override async *runAsync(context: InvocationContext): Events {
            log.push(this.name);
            yield* super.runAsync(context);
          }
        })({ name: 'own', subAgents: [bot('a', 'A'), bot('b', 'B')] }),
    ],
    [
      'a LoopAgent',
      (log) =>
        new (class extends LoopAgent {
          override async *runAsync(context: InvocationContext): Events {
            log.push(this.name);
            yield* super.runAsync(context);
          }
        })({ name: 'own', maxIterations: 2, subAgents: [bot('a', 'A', 'B')] }),
    ],
    [
      'a RoutedAgent',
      (log) =>
        new (class extends RoutedAgent {
          override async *runAsync(context: InvocationContext): Events {
            log.push(this.name);
            yield* super.runAsync(context);
          }
        })({
          name: 'own',
          agents: [new SequentialAgent({ name: 'ab', subAgents: [bot('a', 'A'), bot('b', 'B')] })],
          router: () => 'ab',
        }),
    ],
    [
      'an agent class',
      (log) =>
        new (class extends BaseAgent {
          override async *runAsync(context: InvocationContext): Events {
            log.push(this.name);
            yield* super.runAsync(context);
          }

          protected override async *runAsyncImpl(context: InvocationContext): Events {
            for (const agent of this.subAgents) yield* agent.runAsync(context);
          }
        })({ name: 'own', subAgents: [bot('a', 'A'), bot('b', 'B')] }),
    ],
  ])('is called once for each run of %s', async (_title, create) => {
    const log: string[] = [];
    const said = await play(create(log));
    expect(said.map((text) => text.slice(-1)).toSorted()).toEqual(['A', 'B']);
    expect(log).toEqual(['own']);
    log.length = 0;
    await play(new SequentialAgent({ name: 'outer', subAgents: [create(log)] }));
    expect(log).toEqual(['own']);
  });

  test('is called once if an agent of the program calls it', async () => {
    const log: string[] = [];
    const inner = bot('inner', 'In.');
    const original = inner.runAsync.bind(inner);
    inner.runAsync = async function* (context) {
      log.push('begins');
      yield* original(context);
      log.push('ends');
    };
    class Outer extends BaseAgent {
      protected override async *runAsyncImpl(context: InvocationContext): Events {
        yield* inner.runAsync(context);
      }
    }
    expect(await play(new Outer({ name: 'outer', subAgents: [inner] }))).toEqual(['inner: In.']);
    expect(log).toEqual(['begins', 'ends']);
  });
});
