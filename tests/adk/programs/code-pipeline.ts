import { InMemoryRunner, isFinalResponse, LlmAgent, SequentialAgent, stringifyContent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

const model = 'gemini-2.5-flash';
const agent = new SequentialAgent({
  name: 'CodePipeline',
  description: 'Writes, reviews and refactors code.',
  subAgents: [
    new LlmAgent({ name: 'Writer', model, instruction: 'Write the code.', outputKey: 'code' }),
    new LlmAgent({ name: 'Reviewer', model, instruction: 'Review {code}', outputKey: 'comments' }),
    new LlmAgent({ name: 'Refactorer', model, instruction: 'Refactor {code} by {comments}', outputKey: 'refactored' }),
  ],
});

const program: Program = {
  replies: ['let a=1', 'Use const.', 'const a = 1;'].map((text) => jsonReply(wireResponse(text))),
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'code' });
    const newMessage = { parts: [{ text: 'A constant, please.' }] };
    for await (const event of runner.runEphemeral({ userId: 'ann', newMessage })) {
      tell(event);
      tell(`${event.author}: ${stringifyContent(event)}, final: ${isFinalResponse(event)}`);
    }
  },
};
export default program;
