import {
  BaseAgent,
  type Event,
  FunctionTool,
  type InvocationContext,
  LlmAgent,
  requestInput,
  SequentialAgent,
} from 'eventloom';
import * as z from 'zod';

const order = new FunctionTool({
  name: 'order_shirt',
  description: 'Orders a shirt for the customer.',
  // The function is called again from its beginning after the answer, so ask before you act.
  execute: (_args, toolContext) => {
    const size = toolContext.getInput();
    if (size === undefined)
      return toolContext.requestInput({ message: 'Which size?', responseSchema: z.enum(['S', 'M', 'L']) });
    toolContext.state.set('size', size);
    return { status: 'ordered', size };
  },
});

const clerk = new LlmAgent({
  name: 'clerk',
  model: 'gemini-flash-latest',
  instruction: 'You take orders for shirts.',
  tools: [order],
});

class Courier extends BaseAgent {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const day = yield* requestInput(context, { message: 'On which day may it come?', responseSchema: z.string() });
    // There is no answer yet: the run ends here, and begins here again with the answer.
    if (typeof day !== 'string') return;
    const text = `Size ${String(context.session.state['size'])} comes on ${day}.`;
    yield context.createEvent({ content: { role: 'model', parts: [{ text }] } });
  }
}

export const rootAgent = new SequentialAgent({ name: 'shop', subAgents: [clerk, new Courier({ name: 'courier' })] });
