import { BuiltInCodeExecutor, LlmAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const agent = new LlmAgent({
  name: 'scientist',
  model: 'gemini-2.5-flash',
  instruction: "Print results, like print(f'{{x=}}'). Never install packages.",
  codeExecutor: new BuiltInCodeExecutor(),
});

const program: Program = {
  replies: [
    jsonReply({
      candidates: [
        {
          content: {
            role: 'model',
            parts: [
              { text: 'I calculate.' },
              { executableCode: { language: 'PYTHON', code: 'print(6 * 7)' } },
              { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '42\n' } },
              { text: 'It is 42.' },
            ],
          },
          finishReason: 'STOP',
        },
      ],
    }),
    jsonReply(wireResponse('84.')),
  ],
  main: (tell) => converse(tell, agent, ['What is 6 * 7?', 'And twice that?']),
};
export default program;
