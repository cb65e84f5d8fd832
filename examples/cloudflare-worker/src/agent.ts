import { Gemini } from '@eventloom/gemini';
import { LlmAgent } from '@eventloom/llm-agent';

/** The agent of this Worker. Made once for each user's object. */
export function createAgent(apiKey: string): LlmAgent {
  return new LlmAgent({
    name: 'helper',
    model: new Gemini({ model: 'gemini-flash-latest', apiKey }),
    instruction: 'Answer in a few plain words. The name of the user is {user:name?}.',
  });
}
