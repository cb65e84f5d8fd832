import type { LlmRequest } from '@eventloom/core';
import { LlmAgent, type LlmAgentConfig } from '@eventloom/llm-agent';
import { SequentialAgent } from '@eventloom/multi-agent';
import { ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { scenario, scripted, summaryOf, transferTo } from './fixtures/scenario.ts';

/** The transfer targets, the instruction and the tools in a request. */
function offered({ config }: LlmRequest): { targets: unknown; instruction: unknown; names: unknown } {
  const declarations = (config.tools?.[0] as { functionDeclarations: Record<string, unknown>[] } | undefined)
    ?.functionDeclarations;
  const transfer = declarations?.find(({ name }) => name === 'transfer_to_agent');
  const schema = transfer?.['parametersJsonSchema'] as { properties: { agent_name: { enum: string[] } } } | undefined;
  return {
    targets: schema?.properties.agent_name.enum,
    instruction: config.systemInstruction,
    names: declarations?.map(({ name }) => name),
  };
}

test('an agent may transfer to its sub-agents, its parent and its peers, in this order', async () => {
  const model = new ScriptedModel(['done']);
  const below = scripted('below', []);
  const middle = new LlmAgent({ name: 'middle', model, subAgents: [below], instruction: 'Be kind.' });
  const peers = [scripted('left', []), middle, scripted('right', [], { description: 'turns right' })];
  const { run } = await scenario({
    agent: scripted('top', [transferTo('middle')], { subAgents: peers, description: 'knows all' }),
  });
  await run();
  const { targets, instruction } = offered(model.requests[0]?.request ?? expect.unreachable());
  expect(targets).toEqual(['below', 'top', 'left', 'right']);
  expect(instruction).toMatch(/^Be kind\.\n\nYou are an agent\. .*\n\n/);
  expect(instruction).toContain('- top: knows all');
  expect(instruction).toContain('- right: turns right');
  expect(instruction).toContain('transfer to `top`');
});

test.each<[string, Partial<LlmAgentConfig>, string[] | undefined]>([
  ['its parent', { disallowTransferToParent: true }, ['peer']],
  ['its peers', { disallowTransferToPeers: true }, ['top']],
  ['either', { disallowTransferToParent: true, disallowTransferToPeers: true }, undefined],
])('the instruction does not list %s as a target if the agent may not transfer there', async (_, config, expected) => {
  const model = new ScriptedModel(['done']);
  const agent = new LlmAgent({ name: 'agent', model, ...config });
  const { run } = await scenario({
    agent: scripted('top', [transferTo('agent')], { subAgents: [agent, scripted('peer', [])] }),
  });
  await run();
  const { targets, instruction } = offered(model.requests[0]?.request ?? expect.unreachable());
  expect(targets).toEqual(expected);
  expect(String(instruction).includes('transfer_to_agent')).toBe(expected !== undefined);
});

test('an agent below a workflow agent may transfer only to its own sub-agents', async () => {
  const model = new ScriptedModel(['done']);
  const agent = new LlmAgent({ name: 'agent', model, subAgents: [scripted('below', [])] });
  const { run } = await scenario({
    agent: new SequentialAgent({ name: 'steps', subAgents: [agent, scripted('next', ['too'])] }),
  });
  await run();
  expect(offered(model.requests[0]?.request ?? expect.unreachable()).targets).toEqual(['below']);
});

test("the transfer tool is declared before the agent's own tools", async () => {
  const model = new ScriptedModel(['done']);
  const tool = new FunctionTool({ name: 'f', description: '', execute: () => '' });
  const agent = new LlmAgent({ name: 'agent', model, tools: [tool], subAgents: [scripted('below', [])] });
  const { run } = await scenario({ agent });
  await run();
  expect(offered(model.requests[0]?.request ?? expect.unreachable()).names).toEqual(['transfer_to_agent', 'f']);
});

test.each([['nobody'], ['lead'], [undefined], [5]])(
  'a transfer to %j, which is not allowed, is answered to the model as an error',
  async (name) => {
    const model = new ScriptedModel([transferTo(name), 'I do it myself.']);
    const lead = new LlmAgent({ name: 'lead', model, subAgents: [scripted('helper', [])] });
    const { run } = await scenario({ agent: lead });
    const events = await run();
    expect(events.map((event) => event.author)).toEqual(['lead', 'lead', 'lead']);
    expect(summaryOf(events[1] ?? expect.unreachable())).toContain('agent_name is one of: helper');
    expect(events[1]?.actions.transferToAgent).toBeUndefined();
  },
);

test('a custom tool may transfer to any agent of the tree', async () => {
  const go = (to: string) =>
    new FunctionTool({ name: 'go', description: '', execute: (_, { actions }) => void (actions.transferToAgent = to) });
  const deep = scripted('deep', ['down here']);
  const middle = scripted('middle', [], { subAgents: [deep] });
  const { run } = await scenario({
    agent: scripted('top', [{ calls: [{ name: 'go' }] }], { tools: [go('deep')], subAgents: [middle] }),
  });
  expect((await run()).map(summaryOf).slice(2)).toEqual(['deep: down here']);
});

test.each([
  ['gone', 'there is no agent of that name'],
  ['top', 'it has control already'],
])('a custom tool that transfers to %s is answered with an error', async (to, fault) => {
  const tool = new FunctionTool({
    name: 'go',
    description: '',
    execute: (_, { actions }) => void (actions.transferToAgent = to),
  });
  const { run } = await scenario({
    agent: scripted('top', [{ calls: [{ name: 'go' }] }, 'I stay.'], { tools: [tool] }),
  });
  const events = await run();
  expect(summaryOf(events[1] ?? expect.unreachable())).toContain(fault);
  expect(events.map(summaryOf).at(-1)).toBe('top: I stay.');
});

test.each<[string, Partial<LlmAgentConfig>, string, string | undefined]>([
  ['its parent', { disallowTransferToParent: true }, 'top', 'may not transfer to agents above it'],
  ['one further above', { disallowTransferToParent: true }, 'root', 'may not transfer to agents above it'],
  ['a peer', { disallowTransferToPeers: true }, 'peer', 'may not transfer to agents beside it'],
  ['one elsewhere in the tree', { disallowTransferToPeers: true }, 'far', 'may not transfer to agents beside it'],
  ['a peer, which only its parent may not be', { disallowTransferToParent: true }, 'peer', undefined],
  ['one below it', { disallowTransferToParent: true, disallowTransferToPeers: true }, 'below', undefined],
])('a custom tool that transfers to %s is bound by the transfer rules of its agent', async (_, config, to, refusal) => {
  const tool = new FunctionTool({
    name: 'go',
    description: '',
    execute: (_args, { actions }) => void (actions.transferToAgent = to),
  });
  const below = scripted('below', ['below']);
  const agent = scripted('agent', [{ calls: [{ name: 'go' }] }, 'I stay.'], {
    ...config,
    tools: [tool],
    subAgents: [below],
  });
  const top = scripted('top', [transferTo('agent')], { subAgents: [agent, scripted('peer', ['peer'])] });
  const root = scripted('root', [transferTo('top')], { subAgents: [top, scripted('far', [])] });
  const { run } = await scenario({ agent: root });
  const events = (await run()).map(summaryOf);
  expect(events.at(-1)).toBe(refusal === undefined ? `${to}: ${to}` : 'agent: I stay.');
  if (refusal !== undefined) expect(events.at(-2)).toContain(refusal);
});
