import { fileURLToPath } from 'node:url';
import { MCPToolset, StreamableHTTPConnectionParams } from '@eventloom/mcp';
import { QuickJsCodeExecutor } from '@eventloom/quickjs';
import { SkillToolset } from '@eventloom/skills';
import { loadAllSkillsInDir } from '@eventloom/skills/node';
import { type BaseLlm, LlmAgent } from 'eventloom';

const SKILLS = fileURLToPath(new URL('../skills', import.meta.url));

/** Creates an agent with the tools of the MCP server that answers these requests, and the skills of the folder beside this one. */
export async function createClerk(fetch: (request: Request) => Promise<Response>, model: string | BaseLlm) {
  const shop = new MCPToolset({
    name: 'shop',
    toolNamePrefix: 'shop',
    connectionParams: new StreamableHTTPConnectionParams({
      url: 'http://shop.example/mcp',
      // The server runs in this process. Leave this out for one that has an address.
      fetch: (url, init) => fetch(new Request(url, init)),
    }),
  });
  const skills = new SkillToolset({
    skills: await loadAllSkillsInDir(SKILLS),
    codeExecutor: new QuickJsCodeExecutor(),
  });
  return new LlmAgent({
    name: 'clerk',
    model,
    instruction: 'You help customers of a shop.',
    tools: [shop, skills],
  });
}
