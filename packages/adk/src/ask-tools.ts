import { REQUEST_INPUT, type ToolContext } from '@eventloom/core';
import { LongRunningFunctionTool } from '@eventloom/tools';

const waitForAnswer = (_args: unknown, toolContext: ToolContext): undefined => {
  toolContext.actions.skipSummarization = true;
  return undefined;
};

/** A tool that lets the model offer a person several options. The client sends the choice as a function response with the call's id. */
export const getUserChoiceTool = /* @__PURE__ */ new LongRunningFunctionTool({
  name: 'get_user_choice',
  description: 'Presents a list of options to the user and waits for the choice.',
  parameters: {
    type: 'object',
    properties: {
      options: { type: 'array', items: { type: 'string' }, description: 'Options to present to the user.' },
    },
    required: ['options'],
  },
  execute: waitForAnswer,
});

/** A tool that lets the model ask a person for input. The client sends the answer as a function response with the call's id. */
export const requestInputTool = /* @__PURE__ */ new LongRunningFunctionTool({
  name: REQUEST_INPUT,
  description: 'Presents a message to the user and waits for free or structured input.',
  parameters: {
    type: 'object',
    properties: {
      message: { type: 'string', description: 'The question to the user.' },
      response_schema: { type: 'object', description: 'Expected schema of the answer.' },
    },
    required: ['message'],
  },
  execute: waitForAnswer,
});
