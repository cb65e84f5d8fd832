import {
  BaseAgent,
  createEvent,
  type Event,
  FunctionTool,
  InMemoryRunner,
  type InvocationContext,
  LlmAgent,
} from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

class Money {
  readonly amount: number;
  readonly currency = 'EUR';

  constructor(amount: number) {
    this.amount = amount;
  }

  format(): string {
    return `${this.amount} ${this.currency}`;
  }
}

class Order {
  readonly id = 'A-7';
  readonly placed = new Date(Date.UTC(2026, 0, 2));
  readonly items = [{ name: 'kettle', price: new Money(39) }];
  readonly page = new URL('https://shop.example/orders/A-7');
}

const RESULTS: Readonly<Record<string, () => unknown>> = {
  order: () => new Order(),
  orders: () => [new Order()],
  described: () => ({ secret: 1, toJSON: () => ({ shown: new Money(5) }) }),
  lines: () => ({ list: [1, undefined], call: () => 1, none: undefined }),
  bytes: () => ({ data: Buffer.from('hi') }),
};

const find = new FunctionTool({
  name: 'find',
  description: 'Finds something.',
  parameters: z.object({ what: z.string() }),
  execute: ({ what }) => RESULTS[what]?.(),
});

const keep = new FunctionTool({
  name: 'keep',
  description: 'Keeps the order.',
  execute: (_args, context) => {
    context?.state.set('order', new Order());
    context?.state.set('user:budget', new Money(100));
    const order = context?.state.get<Order>('order');
    return { id: order?.id, total: order?.items[0]?.price.amount };
  },
});

const shop = new LlmAgent({
  name: 'shop',
  model: 'gemini-flash-latest',
  tools: [find, keep],
  afterToolCallback: ({ args }) => (args['what'] === 'orders' ? { replaced: new Money(1) } : undefined),
});

class Teller extends BaseAgent {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    yield createEvent({
      author: this.name,
      invocationId: context.invocationId,
      content: { role: 'model', parts: [{ text: 'Here is your order.' }] },
      customMetadata: { order: new Order() },
    });
  }

  protected override async *runLiveImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    yield* this.runAsyncImpl(context);
  }
}

const names = Object.keys(RESULTS);

const program: Program = {
  replies: [
    ...names.flatMap((what) => [
      jsonReply(wireResponse({ calls: [{ name: 'find', args: { what } }] })),
      jsonReply(wireResponse(`Found ${what}.`)),
    ]),
    jsonReply(wireResponse({ calls: [{ name: 'keep', args: {} }] })),
    jsonReply(wireResponse('Kept.')),
  ],
  async main(tell) {
    await converse(tell, shop, [...names, 'Keep it.']);
    const runner = new InMemoryRunner({ agent: new Teller({ name: 'teller' }), appName: 'orders' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'orders', userId: 'ann' });
    const newMessage = { role: 'user', parts: [{ text: 'My order?' }] };
    for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) tell(event);
  },
};

export default program;
