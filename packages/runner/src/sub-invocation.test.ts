import { BaseAgent, type Event, type InvocationContext } from '@eventloom/core';
import type { InTurn, SubInvocation } from '@eventloom/core/internal';
import { expect, test } from 'vitest';
import { scenario } from './fixtures/scenario.ts';

const said = (text: string) => ({ role: 'model', parts: [{ text }] });

type Options = (context: InvocationContext) => Partial<Pick<SubInvocation, 'inTurn' | 'abort'>>;

/** An agent that runs its sub-agent in a sub-invocation. */
class Caller extends BaseAgent {
  readonly #options: Options;

  constructor(agent: BaseAgent, options: Options) {
    super({ name: `calls_${agent.name}`, subAgents: [agent] });
    this.#options = options;
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const [agent = this] = this.subAgents;
    const request = { agent, userContent: said('go'), callId: 'c', streaming: true, ...this.#options(context) };
    for await (const event of context.runSubInvocation(request)) yield event;
  }
}

class Worker extends BaseAgent {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    yield context.createEvent({ partial: true, content: said('w') });
    yield context.createEvent({ content: said('word') });
  }
}

async function play(agent: BaseAgent) {
  const { run } = await scenario({ agent });
  return run();
}

test('stored events of a sub-invocation are stored in order, nested ones too', async () => {
  const turns: string[] = [];
  const inTurn: InTurn = async (commit) => {
    const event = await commit();
    // The value of a commit is the event.
    const { author, content } = event as Event;
    turns.push(`${author}: ${content?.parts?.[0]?.text}`);
    return event;
  };
  const inner = new Caller(new Worker({ name: 'worker' }), () => ({}));
  await play(new Caller(inner, () => ({ inTurn })));
  expect(turns).toEqual(['calls_calls_worker: go', 'calls_worker: go', 'worker: word']);
});

test('aborting a sub-invocation stops only the sub-invocation', async () => {
  const signals: boolean[] = [];
  class Careful extends Caller {
    protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
      await expect(super.runAsyncImpl(context).next()).rejects.toMatchObject({ code: 'RUN_ABORTED' });
      signals.push(context.abortSignal.aborted);
      yield context.createEvent({ content: said('continued') });
    }
  }
  const events = await play(
    new Careful(new Worker({ name: 'worker' }), (context) => {
      const abort = context.abortGuard.fork();
      abort.abort(new TypeError('enough'));
      return { abort };
    }),
  );
  expect(signals).toEqual([false]);
  expect(events.map(({ content }) => content?.parts?.[0]?.text)).toEqual(['continued']);
});
