import { BaseAgent, type BaseAgentConfig, type Event } from '@eventloom/core';
import type { TransferRules } from '@eventloom/core/internal';
import { expect, test } from 'vitest';
import { SequentialAgent } from './sequential-agent.ts';
import { transferInstruction, transferTargets } from './transfer-targets.ts';
import { TransferToAgentTool } from './transfer-to-agent-tool.ts';

/** An agent with the transfer rules of an agent with a model. */
class Speaker extends BaseAgent {
  readonly #rules: TransferRules;

  constructor(config: BaseAgentConfig, rules: Partial<TransferRules> = {}) {
    super(config);
    this.#rules = { toParent: true, toPeers: true, ...rules };
  }

  override get transferRules(): TransferRules {
    return this.#rules;
  }

  protected async *runAsyncImpl(): AsyncGenerator<Event, void, void> {}
}

function names(agent: BaseAgent, root: BaseAgent = agent.rootAgent): string[] {
  return transferTargets(agent, root).map(({ name }) => name);
}

function speaker(name: string, subAgents: BaseAgent[] = [], rules?: Partial<TransferRules>): Speaker {
  return new Speaker({ name, subAgents }, rules);
}

test('sub-agents come first, then the parent, then the peers', () => {
  const agent = speaker('agent', [speaker('below'), new SequentialAgent({ name: 'steps', subAgents: [] })]);
  speaker('top', [speaker('left'), agent, speaker('right')]);
  expect(names(agent)).toEqual(['below', 'steps', 'top', 'left', 'right']);
});

test.each<[Partial<TransferRules>, string[]]>([
  [{ toParent: false }, ['peer']],
  [{ toPeers: false }, ['top']],
  [{ toParent: false, toPeers: false }, []],
])('with the rules %j the targets are %j', (rules, expected) => {
  const agent = speaker('agent', [], rules);
  speaker('top', [agent, speaker('peer')]);
  expect(names(agent)).toEqual(expected);
});

test('a workflow agent has no targets and is not a target of its sub-agents', () => {
  const agent = speaker('agent');
  const steps = new SequentialAgent({ name: 'steps', subAgents: [agent, speaker('next')] });
  speaker('top', [steps]);
  expect(names(agent)).toEqual([]);
  expect(names(steps)).toEqual([]);
});

test('transferTargets ignores agents above the root of the run', () => {
  const agent = speaker('agent', [speaker('below')]);
  speaker('top', [agent, speaker('peer')]);
  expect(names(agent, agent)).toEqual(['below']);
});

test('the instruction lists every target with its description, and the parent as a fallback', () => {
  const agent = speaker('agent');
  const peer = new Speaker({ name: 'peer', description: 'knows prices' });
  const top = speaker('top', [agent, peer]);
  const text = transferInstruction(agent, [top, peer]);
  expect(text).toContain('- top\n- peer: knows prices');
  expect(text).toContain('transfer to `top`');
  expect(transferInstruction(agent, [peer])).not.toContain('`top`');
});

test('the tool accepts only names of targets', () => {
  const tool = new TransferToAgentTool([speaker('a'), speaker('b')]);
  expect(tool._getDeclaration()).toMatchObject({
    name: 'transfer_to_agent',
    parametersJsonSchema: {
      type: 'object',
      properties: { agent_name: { type: 'string', enum: ['a', 'b'] } },
      required: ['agent_name'],
    },
  });
});
