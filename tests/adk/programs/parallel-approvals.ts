import {
  BaseLlm,
  type BaseLlmConnection,
  type Event,
  FunctionTool,
  getFunctionCalls,
  InMemoryRunner,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  ParallelAgent,
} from '@google/adk';
import { type Content, createUserContent } from '@google/genai';
import { z } from 'zod';
import type { Program } from '../stage.ts';

/** Calls the tool `book` first, and then says what it read. Agents side by side may ask in any order, so each has a model of its own. */
class Booker extends BaseLlm {
  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    const response = contents.at(-1)?.parts?.[0]?.functionResponse?.response;
    const part = response
      ? { text: `${this.model}: ${JSON.stringify(response)}` }
      : { functionCall: { name: 'book', args: { what: this.model } } };
    yield { content: { role: 'model', parts: [part] } };
  }

  override connect(): Promise<BaseLlmConnection> {
    throw new Error('no voice');
  }
}

/** Two agents work side by side and ask for an approval each; one message answers both. */
const program: Program = {
  replies: [],
  async main(tell) {
    const booked: string[] = [];
    const book = new FunctionTool({
      name: 'book',
      description: 'Books something.',
      parameters: z.object({ what: z.string() }),
      requireConfirmation: true,
      execute: ({ what }) => {
        booked.push(what);
        return { booked: what };
      },
    });
    const subAgents = ['flight', 'hotel'].map(
      (name) => new LlmAgent({ name, model: new Booker({ model: name }), tools: [book] }),
    );
    const runner = new InMemoryRunner({ agent: new ParallelAgent({ name: 'trip', subAgents }), appName: 'trips' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'trips', userId: 'ann' });
    const events: Event[] = [];
    const send = async (newMessage: Content): Promise<void> => {
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) events.push(event);
    };
    await send(createUserContent('To Lima, please.'));
    const asked = events.flatMap(getFunctionCalls).filter(({ name }) => name === 'adk_request_confirmation');
    const parts = asked.map(({ id = '', name = '' }) => ({
      functionResponse: { id, name, response: { confirmed: true } },
    }));
    await send({ role: 'user', parts });
    tell({ asked: asked.length, booked: booked.toSorted() });
    tell(events.flatMap(({ content }) => content?.parts?.flatMap(({ text }) => text ?? []) ?? []).toSorted());
  },
};
export default program;
