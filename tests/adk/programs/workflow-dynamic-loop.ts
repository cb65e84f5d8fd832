import { LlmAgent, node, type NodeContext, Workflow } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';
const coder = new LlmAgent({ name: 'coder', model, instruction: 'Write code.' });
const fixer = new LlmAgent({ name: 'fixer', model, instruction: 'Mend {code}. Findings: {findings}' });

const check = node(
  (_context: NodeContext, code: string) => ({ findings: code.includes(';') ? '' : 'add a semicolon' }),
  {
    name: 'check',
  },
);

const work = node(
  async (context: NodeContext, request: string) => {
    let code = (await context.runNode(coder, request)).output as string;
    let { findings } = (await context.runNode(check, code)).output as { findings: string };
    for (let round = 0; findings && round < 3; round++) {
      context.state.set('code', code);
      context.state.set('findings', findings);
      code = (await context.runNode(fixer, { code, findings })).output as string;
      ({ findings } = (await context.runNode(check, code)).output as { findings: string });
    }
    return code;
  },
  { name: 'work', rerunOnResume: true },
);

const program: Program = {
  replies: ['a = 1', 'a  = 1', 'a = 1;'].map((text) => jsonReply(wireResponse(text))),
  main: (tell) => converse(tell, new Workflow({ name: 'coding', edges: [['START', work]] }), ['Set a.']),
};
export default program;
