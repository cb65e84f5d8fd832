import { LlmAgent, START, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';

/** The second agent of a workflow sees the conversation, with what the first one said. */
const program: Program = {
  replies: ['A boat.', 'A red boat.', 'A house.', 'A red boat beside a house.'].map((text) =>
    jsonReply(wireResponse(text)),
  ),
  async main(tell) {
    const sketch = new LlmAgent({ name: 'sketch', model, instruction: 'Sketch.' });
    const paint = new LlmAgent({ name: 'paint', model, instruction: 'Paint.', includeContents: 'default' });
    const workflow = new Workflow({ name: 'studio', edges: [[START, sketch, paint]] });
    await converse(tell, workflow, ['Something at sea.', 'And something on land.']);
  },
};
export default program;
