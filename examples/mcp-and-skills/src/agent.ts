import { fileURLToPath } from 'node:url';
import { MCPToolset, StreamableHTTPConnectionParams } from '@eventloom/mcp';
import { QuickJsCodeExecutor } from '@eventloom/quickjs';
import { SkillToolset } from '@eventloom/skills';
import { loadAllSkillsInDir } from '@eventloom/skills/node';
import { type BaseLlm, LlmAgent } from 'eventloom';

const SKILLS = fileURLToPath(new URL('../skills', import.meta.url));

/** Creates an agent with the tools of the MCP server behind `fetch`, and the skills of the folder next to this file. */
export async function createClerk(fetch: (request: Request) => Promise<Response>, model: string | BaseLlm) {
  const shop = new MCPToolset({
    name: 'shop',
    toolNamePrefix: 'shop',
    connectionParams: new StreamableHTTPConnectionParams({
      url: 'http://shop.example/mcp',
      // The server runs in this process. Omit this option for a server with an address.
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
