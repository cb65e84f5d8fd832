import {
  BaseAgent,
  type Context,
  createEvent,
  createEventActions,
  type Event,
  FunctionTool,
  type InvocationContext,
  LlmAgent,
  SequentialAgent,
} from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

/** Changes the state with events, and reads it before and after each of them was committed. */
class Updater extends BaseAgent {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const read = (): string => JSON.stringify(context.session.state['status'] ?? 'none');
    const seen = [read()];
    for (const status of ['processing', { step: 2, left: [3, 4] }]) {
      const event = createEvent({
        invocationId: context.invocationId,
        author: this.name,
        actions: createEventActions({ stateDelta: { status } }),
        content: { parts: [{ text: 'The state changes.' }] },
      });
      seen.push(read());
      yield event;
      seen.push(read());
    }
    yield createEvent({
      invocationId: context.invocationId,
      author: this.name,
      content: { role: 'model', parts: [{ text: seen.join(', ') }] },
    });
  }

  protected override async *runLiveImpl(): AsyncGenerator<Event, void, void> {}
}

const look = new FunctionTool({
  name: 'look',
  description: 'Reads the state.',
  execute: (_input, toolContext) => {
    const read = toolContext?.state.get('field_1');
    toolContext?.state.set('field_2', `after ${String(read)}`);
    return { field_1: read, field_2: toolContext?.state.get('field_2') };
  },
});
const reader = new LlmAgent({
  name: 'reader',
  model: 'gemini-flash-latest',
  instruction: 'Look.',
  tools: [look],
  beforeAgentCallback: (callbackContext: Context) => {
    callbackContext.state.set('field_1', 'value_1');
    return undefined;
  },
});
const rootAgent = new SequentialAgent({ name: 'root', subAgents: [new Updater({ name: 'updater' }), reader] });

const program: Program = {
  replies: [
    jsonReply(
      wireResponse({
        calls: [
          { name: 'look', args: {} },
          { name: 'look', args: {} },
        ],
      }),
    ),
    jsonReply(wireResponse('I have looked.')),
  ],
  main: (tell) => converse(tell, rootAgent, ['Change the state.']),
};
export default program;
