import { BaseAgent, contentText, type Event, type InvocationContext, LlmAgent } from 'eventloom';

const ORDERS: Readonly<Record<string, string>> = { 'A-1001': 'leaves tomorrow', 'A-1002': 'is at your door' };

/** Answers known questions itself, and calls a model only for the others. */
class OrderDesk extends BaseAgent {
  readonly #clerk: BaseAgent;

  constructor(clerk: BaseAgent) {
    super({ name: 'order_desk', subAgents: [clerk] });
    this.#clerk = clerk;
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const number = /A-\d{4}/.exec(contentText(context.userContent))?.[0];
    const status = number === undefined ? undefined : ORDERS[number];
    if (status === undefined) {
      yield* this.#clerk.runAsync(context);
      return;
    }
    const text = `Order ${number} ${status}.`;
    yield context.createEvent({
      content: { role: 'model', parts: [{ text }] },
      actions: { stateDelta: { lastOrder: number } },
    });
  }
}

const clerk = new LlmAgent({
  name: 'clerk',
  model: 'gemini-flash-latest',
  instruction: 'You work at the order desk of a shop. The order that was asked for last: {lastOrder?}',
});

export const rootAgent = new OrderDesk(clerk);
