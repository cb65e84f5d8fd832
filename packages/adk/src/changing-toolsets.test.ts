import { type BaseTool, BaseToolset, type ReadonlyContext } from '@eventloom/core';
import { ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { AdkInMemoryRunner } from './in-memory-runner.ts';
import { AdkLlmAgent } from './llm-agent.ts';

const ran: string[] = [];
const stateTool = (name: string, isIn: boolean): FunctionTool =>
  new FunctionTool({
    name,
    description: name,
    execute: (_args, { state }) => {
      state.set('in', isIn);
      return name;
    },
  });
const login = stateTool('login', true);
const logout = stateTool('logout', false);
const secret = new FunctionTool({ name: 'secret', description: 'secret', execute: () => void ran.push('secret') });

/** Has other tools for users who are logged in. */
class Doors extends BaseToolset {
  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    return [login, logout, secret].filter((tool) => (tool === login) !== (context?.state.get('in') === true));
  }
  override async close(): Promise<void> {}
}

/** Has the same tools always, of which a function selects those for the state. */
class Filtered extends BaseToolset {
  constructor() {
    super((tool, { state }) => (tool === login) !== (state.get('in') === true));
  }
  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    return [login, logout, secret].filter((tool) => this.isToolSelected(tool, context));
  }
  override async close(): Promise<void> {}
}

test.each([
  ['getTools', new Doors()],
  ['toolFilter', new Filtered()],
])(
  'a toolset whose %s reads the state is asked before each request, and a tool that it withdrew does not run',
  async (_title, toolset) => {
    ran.length = 0;
    const call = (name: string) => ({ functionCall: { name, args: {} } });
    const steps = ['secret', 'login', 'secret', 'logout', 'secret'].map((name) => ({ parts: [call(name)] }));
    const model = new ScriptedModel([...steps, { text: 'done' }]);
    const agent = new AdkLlmAgent({ name: 'keeper', model, tools: [toolset] });
    const runner = new AdkInMemoryRunner({ agent });
    const newMessage = { role: 'user', parts: [{ text: 'go' }] };
    for await (const _event of runner.runEphemeral({ userId: 'u', newMessage }));
    const offered = model.requests.map(({ request }) => Object.keys(request.toolsDict).join(' '));
    expect(offered).toEqual(['login', 'login', 'logout secret', 'logout secret', 'login', 'login']);
    expect(ran).toEqual(['secret']);
  },
);
