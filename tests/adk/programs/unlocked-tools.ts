import { type BaseTool, BaseToolset, FunctionTool, LlmAgent, type ReadonlyContext } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const login = new FunctionTool({
  name: 'login',
  description: 'Logs in.',
  execute: (_args, context) => {
    context?.state.set('isIn', true);
    return { status: 'welcome' };
  },
});
const readMail = new FunctionTool({ name: 'read_mail', description: 'Reads mail.', execute: () => ({ mails: 2 }) });

/** Offers other tools once somebody is logged in, within the same run. */
class Mailbox extends BaseToolset {
  constructor() {
    super([]);
  }
  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    return context?.state.get('isIn') ? [readMail] : [login];
  }
  override async close(): Promise<void> {}
}

const agent = new LlmAgent({
  name: 'post',
  model: 'gemini-flash-latest',
  instruction: 'Help.',
  tools: [new Mailbox()],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'login', args: {} }] })),
    jsonReply(wireResponse({ calls: [{ name: 'read_mail', args: {} }] })),
    jsonReply(wireResponse('You have two mails.')),
  ],
  main: (tell) => converse(tell, agent, ['Do I have mail?']),
};
export default program;
