import { ConfigurationError, ToolContext, createLlmRequest } from '@eventloom/core';
import { testContext } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { BaseExampleProvider, type Example, ExampleTool } from './example-tool.ts';

const RAIN: Example = {
  input: { role: 'user', parts: [{ text: 'Rain in Rome?' }] },
  output: [
    { role: 'model', parts: [{ text: 'I look.' }] },
    {
      role: 'model',
      parts: [{ functionCall: { name: 'get_weather', args: { city: 'Rome', days: 2, units: ['mm'] } } }],
    },
    { role: 'user', parts: [{ functionResponse: { name: 'get_weather', response: { sky: 'clear' } } }] },
    { role: 'model', parts: [{ text: 'No.' }] },
  ],
};

async function instructionOf(tool: ExampleTool, text = 'Rain?', model?: string): Promise<unknown> {
  const invocationContext = testContext({ userContent: { role: 'user', parts: text ? [{ text }] : [] } });
  const llmRequest = { ...createLlmRequest(), ...(model === undefined ? {} : { model }) };
  await tool.processLlmRequest({
    toolContext: new ToolContext({ invocationContext, functionCallId: '' }),
    llmRequest,
  });
  expect(llmRequest.toolsDict).toEqual({});
  return llmRequest.config.systemInstruction;
}

/** The text of the ADK for the example, with the words behind the fences of a call and of a response. */
const rainText = (call: string, response: string): string => `<EXAMPLES>
Begin few-shot
The following are examples of user queries and model responses using the available tools.

EXAMPLE 1:
Begin example
[user]
Rain in Rome?
[model]
I look.
\`\`\`${call}
get_weather(city='Rome', days=2, units=["mm"])
\`\`\`
[user]
\`\`\`${response}
{"name":"get_weather","response":{"sky":"clear"}}
\`\`\`
[model]
No.
End example

End few-shot
<EXAMPLES>`;

test.each([
  [undefined, rainText('', '')],
  ['gemini-2.5-flash', rainText('', '')],
  ['gemini-flash-latest', rainText('tool_code', 'tool_outputs')],
])('the tool adds the examples to the instruction for the model %s as the ADK writes them', async (model, text) => {
  expect(await instructionOf(new ExampleTool([RAIN]), 'Rain?', model)).toBe(text);
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
