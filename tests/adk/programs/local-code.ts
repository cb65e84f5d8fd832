import { LlmAgent, UnsafeLocalCodeExecutor } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const codeExecutor = new UnsafeLocalCodeExecutor();
codeExecutor.codeBlockDelimiters = [['```javascript\n', '\n```']];

const agent = new LlmAgent({
  name: 'programmer',
  model: 'gemini-flash-latest',
  instruction: 'Write JavaScript.',
  codeExecutor,
});

const program: Program = {
  replies: [
    jsonReply(wireResponse('Let me see.\n```javascript\nconsole.log(6 * 7);\n```\nThat was it.')),
    jsonReply(wireResponse('It is 42.\n```python\nprint(1)\n```')),
  ],
  main: (tell) => converse(tell, agent, ['What is 6 * 7?']),
};
export default program;
