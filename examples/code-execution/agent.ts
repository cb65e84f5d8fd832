import { QuickJsThreadCodeExecutor } from '@eventloom/quickjs/node';
import { LlmAgent } from 'eventloom';

export const rootAgent = new LlmAgent({
  name: 'analyst',
  model: 'gemini-flash-latest',
  instruction: 'Answer questions about numbers. Work nothing out by yourself: write code that does.',
  codeExecutor: new QuickJsThreadCodeExecutor(),
});
