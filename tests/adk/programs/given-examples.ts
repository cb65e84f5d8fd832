import { BaseExampleProvider, type Example, ExampleTool, LlmAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

/** Gives the examples that share a word with the question. */
class Collection extends BaseExampleProvider {
  readonly #examples: readonly Example[];

  constructor(examples: readonly Example[]) {
    super();
    this.#examples = examples;
  }

  override getExamples(query: string): Example[] {
    return this.#examples.filter(({ input }) => query.includes(input.parts?.[0]?.text?.slice(0, 4) ?? ''));
  }
}

const collection = new Collection([
  {
    input: { role: 'user', parts: [{ text: '6 * 7?' }] },
    output: [{ role: 'model', parts: [{ text: 'Answer: 42' }] }],
  },
]);
const agent = new LlmAgent({
  name: 'calculator',
  model: 'gemini-flash-latest',
  instruction: 'Follow the examples.',
  tools: [new ExampleTool(collection)],
});

const program: Program = {
  replies: [
    (request) =>
      jsonReply(wireResponse(JSON.stringify(request.body.systemInstruction).includes('42') ? 'Answer: 43' : 'none')),
    (request) =>
      jsonReply(wireResponse(JSON.stringify(request.body.systemInstruction).includes('42') ? 'Answer: 43' : 'none')),
  ],
  async main(tell) {
    tell({ examples: collection.getExamples('6 * 7?').length });
    await converse(tell, agent, ['What is 6 * 7 + 1?', 'Thank you.']);
  },
};
export default program;
