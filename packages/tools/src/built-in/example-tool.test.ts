import { ConfigurationError, ToolContext, createLlmRequest } from '@eventloom/core';
import { testContext } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { BaseExampleProvider, type Example, ExampleTool } from './example-tool.ts';

const RAIN: Example = {
  input: { role: 'user', parts: [{ text: 'Rain in Rome?' }] },
  output: [
    { role: 'model', parts: [{ functionCall: { name: 'get_weather', args: { city: 'Rome' } } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'get_weather', response: { sky: 'clear' } } }] },
    { role: 'model', parts: [{ text: 'No.' }] },
  ],
};

async function instructionOf(tool: ExampleTool, text = 'Rain?'): Promise<unknown> {
  const invocationContext = testContext({ userContent: { role: 'user', parts: text ? [{ text }] : [] } });
  const llmRequest = createLlmRequest();
  await tool.processLlmRequest({
    toolContext: new ToolContext({ invocationContext, functionCallId: '' }),
    llmRequest,
  });
  expect(llmRequest.toolsDict).toEqual({});
  return llmRequest.config.systemInstruction;
}

test('the tool adds the examples to the instruction, with calls and responses', async () => {
  expect(await instructionOf(new ExampleTool([RAIN]))).toBe(`<EXAMPLES>
Begin few-shot
The following are examples of user queries and model responses using the available tools.

EXAMPLE 1:
Begin example
[user]
Rain in Rome?
[model]
\`\`\`tool_code
get_weather({"city":"Rome"})
\`\`\`
[user]
\`\`\`tool_outputs
{"name":"get_weather","response":{"sky":"clear"}}
\`\`\`
[model]
No.
End example

End few-shot
</EXAMPLES>`);
});

test('the tool asks a provider with the text of the message', async () => {
  class Similar extends BaseExampleProvider {
    override async getExamples(query: string): Promise<Example[]> {
      return query === 'Rain?' ? [RAIN] : [];
    }
  }
  const tool = new ExampleTool(new Similar());
  expect(await instructionOf(tool)).toContain('Rain in Rome?');
  expect(await instructionOf(tool, 'Snow?')).toBeUndefined();
});

test('the tool adds nothing for a message without text', async () => {
  expect(await instructionOf(new ExampleTool([RAIN]), '')).toBeUndefined();
});

test.each([
  [undefined, /^ExampleTool: expected a list of examples, got nothing; write \[/],
  [[RAIN, { input: RAIN.input }], /^ExampleTool: examples\[1\]: expected an example with input and output; write \[/],
])('%j is refused', (examples, message) => {
  const make = () => new ExampleTool(examples as unknown as Example[]);
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(message);
});
