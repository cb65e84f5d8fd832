import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { BaseAgent } from '@eventloom/core';
import { LoopAgent, SequentialAgent } from '@eventloom/multi-agent';
import { FunctionTool } from '@eventloom/tools';
import { ScriptedModel } from '@eventloom/testing';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { loadAgentFromConfig, type LoadAgentOptions } from './agent-config.ts';
import { AgentConfigError } from './errors.ts';
import { AdkLlmAgent } from './llm-agent.ts';

const AGENT = 'name: helper\ninstruction: Help.\n';

function write(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'adk-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

function load(files: Readonly<Record<string, string | Uint8Array>>, options?: LoadAgentOptions): BaseAgent {
  return loadAgentFromConfig(join(write(files), 'root.yaml'), options);
}

function loadLlmAgent(text: string, options?: LoadAgentOptions): AdkLlmAgent {
  const agent = load({ 'root.yaml': text }, options);
  if (!(agent instanceof AdkLlmAgent)) throw new TypeError(`${agent.name} is no LlmAgent`);
  return agent;
}

/** Loads files that cannot be used. Returns the error as `file:line: message`, without the folder. */
function refusal(files: Readonly<Record<string, string | Uint8Array>>, options?: LoadAgentOptions): string {
  const folder = write(files);
  try {
    loadAgentFromConfig(join(folder, 'root.yaml'), options);
  } catch (error) {
    expect(error).toBeInstanceOf(AgentConfigError);
    expect(error).toMatchObject({ code: 'ADK_AGENT_CONFIG' });
    return error instanceof Error ? error.message.replaceAll(`${folder}/`, '').replaceAll(folder, 'FOLDER') : '';
  }
  return 'loaded';
}

const tool = (name: string): FunctionTool => new FunctionTool({ name, description: 'Does it.', execute: () => 1 });

describe('loadAgentFromConfig', () => {
  test('creates an LlmAgent with every field', () => {
    const callback = (): undefined => undefined;
    const schema = { type: 'object', properties: {} } as const;
    const agent = loadLlmAgent(
      `agent_class: LlmAgent
name: helper
model: gemini-flash-latest
description: Helps.
instruction: Help {name?}.
static_instruction: Be kind.
disallow_transfer_to_parent: true
disallow_transfer_to_peers: false
input_schema: { name: my.Schema }
output_schema: { name: my.Schema }
output_key: answer
include_contents: none
tools: [{ name: google_search }, { name: my.tool }]
before_agent_callbacks: [{ name: my.callback }]
after_agent_callbacks: [{ name: my.callback }]
before_model_callbacks: [{ name: my.callback }]
after_model_callbacks: [{ name: my.callback }]
before_tool_callbacks: [{ name: my.callback }]
after_tool_callbacks: [{ name: my.callback }, { name: my.callback }]
generate_content_config:
  temperature: 0.1
  thinking_config: { include_thoughts: true }
  labels: { cost_center: tests }
`,
      { tools: { 'my.tool': tool('mine') }, callbacks: { 'my.callback': callback }, schemas: { 'my.Schema': schema } },
    );
    expect(agent).toMatchObject({
      name: 'helper',
      model: 'gemini-flash-latest',
      description: 'Helps.',
      staticInstruction: 'Be kind.',
      disallowTransferToParent: true,
      disallowTransferToPeers: true,
      outputKey: 'answer',
      includeContents: 'none',
      inputSchema: schema,
      outputSchema: schema,
      generateContentConfig: {
        temperature: 0.1,
        thinkingConfig: { includeThoughts: true },
        labels: { cost_center: 'tests' },
      },
    });
    expect(agent.tools.map((held) => 'name' in held && held.name)).toEqual(['google_search', 'mine']);
    for (const option of ['beforeAgent', 'afterAgent', 'beforeModel', 'afterModel', 'beforeTool'] as const)
      expect(agent[`${option}Callback`]).toEqual([callback]);
    expect(agent.afterToolCallback).toEqual([callback, callback]);
  });

  test('creates the agents of other files and of the program', () => {
    const reviewer = new AdkLlmAgent({ name: 'reviewer' });
    const root = load(
      {
        'root.yaml': `agent_class: SequentialAgent
name: pipeline
sub_agents:
  - config_path: ./steps/loop.yaml
  - code: my_library.reviewer
`,
        'steps/loop.yaml':
          'agent_class: LoopAgent\nname: refine\nmax_iterations: 3\nsub_agents: [{ config_path: ../writer.yaml }]\n',
        'writer.yaml': 'name: writer\ninstruction: Write.\n',
      },
      { agents: { 'my_library.reviewer': reviewer } },
    );
    expect(root).toBeInstanceOf(SequentialAgent);
    expect(root.subAgents[0]).toBeInstanceOf(LoopAgent);
    expect(root.subAgents[0]).toMatchObject({ maxIterations: 3, subAgents: [{ name: 'writer' }] });
    expect(root.subAgents[1]).toBe(reviewer);
  });

  test.each([
    ['a mapping', 'args: { agent: { config_path: search.yaml }, skip_summarization: true }'],
    ['a list', 'args: [{ name: agent, value: search.yaml }, { name: skip_summarization, value: True }]'],
  ])('creates an AgentTool from %s of arguments', (_title, args) => {
    const root = load({
      'root.yaml': `${AGENT}tools: [{ name: AgentTool, ${args} }]`,
      'search.yaml': 'name: search\ninstruction: Search.',
    });
    expect(root).toMatchObject({ tools: [{ name: 'search', skipSummarization: true }] });
  });

  test('gives arguments to functions that create tools, models and callbacks', () => {
    const createTool = vi.fn((_args: object) => tool('made'));
    const model = new ScriptedModel([]);
    const createModel = vi.fn((_args: object) => model);
    const callback = (): undefined => undefined;
    const agent = loadLlmAgent(
      `${AGENT}model_code: { name: my.model, args: [{ name: api_base, value: 'http://localhost' }] }
tools: [{ name: my.create, args: { param_one: [1, { deep_name: true }] } }]
before_model_callbacks: [{ name: my.callback, args: [{ name: limit, value: 3 }] }]
`,
      {
        tools: { 'my.create': createTool },
        models: { 'my.model': createModel },
        callbacks: { 'my.callback': () => callback },
      },
    );
    expect(createTool).toHaveBeenCalledWith({ param_one: [1, { deep_name: true }] });
    expect(createModel).toHaveBeenCalledWith({ api_base: 'http://localhost' });
    expect(agent).toMatchObject({ model, tools: [{ name: 'made' }], beforeModelCallback: [callback] });
  });

  test('reads anchors and their aliases', () => {
    const agent = loadLlmAgent('name: &name helper\ndescription: *name\ninstruction: *name\n');
    expect(agent).toMatchObject({ description: 'helper', instruction: 'helper' });
  });

  test('merges the mappings of <<, and prefers written and earlier fields', () => {
    const agent = loadLlmAgent(`${AGENT}generate_content_config:
  temperature: 1
  thinking_config: &thinking { thinking_budget: 7 }
  http_options: { <<: *thinking }
  <<: [{ temperature: 2, top_k: 3 }, { top_k: 4, seed: 5 }]
  labels: { '<<': kept }
`);
    expect(agent.generateContentConfig).toEqual({
      temperature: 1,
      topK: 3,
      seed: 5,
      thinkingConfig: { thinkingBudget: 7 },
      httpOptions: { thinkingBudget: 7 },
      labels: { '<<': 'kept' },
    });
  });

  test.each([
    ['a field that is not known', `${AGENT}modle: x`, 'root.yaml:3: "modle": is not known here; expected agent_class,'],
    ['a missing name', 'instruction: Help.', 'root.yaml:1: the agent: name is missing'],
    ['a missing instruction', 'name: helper', 'root.yaml:1: the agent: instruction is missing'],
    ['a value of a wrong kind', `${AGENT}output_key: 7`, 'root.yaml:3: output_key: expected text, got the number 7'],
    [
      'a boolean of YAML 1.1',
      `${AGENT}disallow_transfer_to_peers: yes`,
      'root.yaml:3: disallow_transfer_to_peers: expected true or false',
    ],
    [
      'an unknown choice',
      `${AGENT}include_contents: all`,
      'root.yaml:3: include_contents: expected default or none, got "all"',
    ],
    [
      'a tool that nobody gave',
      `${AGENT}tools:\n  - name: node:fs.rm`,
      'root.yaml:4: name: "node:fs.rm" is not known; write loadAgentFromConfig(path, { tools:',
    ],
    [
      'a name of the prototype',
      `${AGENT}tools: [{ name: constructor }]`,
      'root.yaml:3: name: "constructor" is not known',
    ],
    [
      'a callback that nobody gave',
      `${AGENT}after_tool_callbacks: [{ name: os.system }]`,
      'root.yaml:3: name: "os.system" is not known; write loadAgentFromConfig(path, { callbacks:',
    ],
    [
      'arguments for a built-in tool',
      `${AGENT}tools: [{ name: google_search, args: { a: 1 } }]`,
      'root.yaml:3: tools[0]: the tool "google_search" takes no args',
    ],
    [
      'a class that is not offered',
      `agent_class: os.system\n${AGENT}`,
      'root.yaml:1: agent_class: expected LlmAgent, SequentialAgent, ParallelAgent or LoopAgent, got "os.system"',
    ],
    [
      'an option that the agent refuses',
      `${AGENT}generate_content_config: { response_schema: {} }`,
      'root.yaml:3: the agent: agent "helper": generateContentConfig.responseSchema is set by the agent',
    ],
    [
      'an option that generate_content_config does not have',
      `name: name\ninstruction: Help.\ngenerate_content_config:\n  top_k: 1\n  temprature: 1`,
      'root.yaml:5: the agent: agent "name": generateContentConfig has no option "temprature"',
    ],
    [
      'half a round',
      'agent_class: LoopAgent\nname: rounds\nmax_iterations: 2.5\nsub_agents: []',
      'root.yaml:3: the agent: agent "rounds": maxIterations: expected an integer',
    ],
    ['a name with a blank', 'instruction: Help.\nname: a b', 'root.yaml:2: the agent: agent name: expected letters'],
    [
      'two tools of one name',
      `${AGENT}tools:\n  - name: google_search\n  - name: google_search`,
      'root.yaml:4: the agent: agent "helper": two tools have the name "google_search"',
    ],
    [
      'two agents of one name',
      `${AGENT}sub_agents:\n  - code: helper`,
      'root.yaml:4: the agent: agent "helper": two agents of its tree have the name "helper"',
    ],
    [
      'text in place of a mapping to merge',
      `${AGENT}generate_content_config:\n  <<: text`,
      'root.yaml:4: expected a mapping, or a list of mappings, after <<',
    ],
    [
      'a name that is unknown in a merged mapping',
      `${AGENT}<<:\n  modle: x`,
      'root.yaml:4: "modle": is not known here',
    ],
    [
      'the name __proto__ in a merged mapping',
      `${AGENT}<<: { __proto__: { a: 1 } }`,
      'root.yaml:3: expected a name that is text other than __proto__',
    ],
    [
      'both kinds of references',
      `${AGENT}sub_agents: [{ code: a, config_path: b }]`,
      'root.yaml:3: sub_agents[0]: expected either config_path or code; write config_path: other_agent.yaml',
    ],
    ['two models', `${AGENT}model: a\nmodel_code: { name: b }`, 'root.yaml:4: model_code: model is there too'],
    [
      'a file that is not there',
      `${AGENT}sub_agents:\n  - config_path: no.yaml`,
      'root.yaml:4: config_path: the file "no.yaml" cannot be read (ENOENT)',
    ],
    [
      'a folder',
      `${AGENT}sub_agents: [{ config_path: . }]`,
      'root.yaml:3: config_path: the file "FOLDER" is not a file',
    ],
    ['a file above the folder', `${AGENT}sub_agents: [{ config_path: ../../etc/passwd }]`, 'is outside of the folder'],
    [
      'an absolute path',
      `${AGENT}sub_agents: [{ config_path: /etc/passwd }]`,
      'the file "/etc/passwd" is not a relative path; write ./agent.yaml',
    ],
    [
      'a file that names itself',
      `${AGENT}sub_agents: [{ config_path: ./root.yaml }]`,
      'root.yaml:3: config_path: the files name each other in a circle: root.yaml, root.yaml',
    ],
    ['a list in place of an agent', '- a', 'root.yaml:1: the agent: expected a mapping, got a list'],
    ['an empty file', '', 'root.yaml:1: the agent: expected a mapping, got null'],
    ['text that is not YAML', `${AGENT}tools: [`, 'root.yaml:3: is not YAML:'],
    ['two documents', `${AGENT}---\n${AGENT}`, 'root.yaml:3: has several documents; write each agent into a file'],
    ['a tag', `${AGENT}model: !!python/object/apply:os.system [ls]`, 'root.yaml:3: is not YAML: Unresolved tag'],
    ['a name twice', `${AGENT}name: other`, 'root.yaml:3: has the name "name" twice'],
    ['a name that is not text', `${AGENT}1: other`, 'root.yaml:3: expected a name that is text'],
    [
      'the name __proto__',
      `${AGENT}generate_content_config: { __proto__: { a: 1 } }`,
      'root.yaml:3: expected a name that is text other than __proto__',
    ],
    [
      'an argument called __proto__',
      `${AGENT}tools: [{ name: my.create, args: [{ name: __proto__, value: 1 }] }]`,
      'args[0]: the name "__proto__" cannot be used',
    ],
    [
      'an alias inside its anchor',
      `${AGENT}generate_content_config: &a { labels: *a }`,
      'root.yaml:3: has an alias inside its own anchor',
    ],
    ['an alias without an anchor', `${AGENT}model: *none`, 'root.yaml:3: '],
    ['too many levels', `${AGENT}model: ${'['.repeat(40)}${']'.repeat(40)}`, 'root.yaml:3: has more than 32 levels'],
    ['very many levels', `${AGENT}model: ${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'has more than 32 levels'],
    ['too many values', `${AGENT}model: [${'1,'.repeat(20_001)}]`, 'root.yaml:3: has more than 20000 values'],
    ['too many aliases', `${AGENT}model: [&a 1, ${'*a ,'.repeat(101)}]`, 'root.yaml:3: has more than 100 aliases'],
    [
      'aliases that multiply',
      `${AGENT}a: &a [${'1,'.repeat(5000)}]\nb: &b [*a , *a , *a , *a , *a ]`,
      'root.yaml:3: has more than 20000 values',
    ],
    ['too many bytes', `${AGENT}# ${'x'.repeat(256 * 1024)}`, 'root.yaml:1: has more than 262144 bytes'],
    ['bytes that are not UTF-8', Uint8Array.of(0x6e, 0xff), 'root.yaml:1: is not text in UTF-8'],
  ])('refuses %s', (_title, text, message) => {
    const options = {
      tools: { 'my.create': () => tool('made') },
      agents: { helper: new AdkLlmAgent({ name: 'helper' }) },
    };
    expect(refusal({ 'root.yaml': text }, options)).toContain(message);
  });

  test('names the file and the line of a fault in another file', () => {
    const files = {
      'root.yaml': `${AGENT}sub_agents: [{ config_path: a/b.yaml }]`,
      'a/b.yaml': 'name: b\n\noops: 1\n',
    };
    expect(refusal(files)).toContain('a/b.yaml:3: "oops": is not known here');
  });

  test('refuses files that name each other in a circle, also by way of a link', () => {
    const folder = write({ 'root.yaml': `${AGENT}sub_agents: [{ config_path: link.yaml }]` });
    symlinkSync('root.yaml', join(folder, 'link.yaml'));
    expect(() => loadAgentFromConfig(join(folder, 'root.yaml'))).toThrow(
      /in a circle: [^,]*root\.yaml, [^,]*link\.yaml; remove one of the references$/,
    );
  });

  test('refuses a link that leads out of the folder', () => {
    const outside = write({ 'secret.yaml': AGENT });
    const folder = write({ 'root.yaml': `${AGENT}sub_agents: [{ config_path: link.yaml }]` });
    symlinkSync(join(outside, 'secret.yaml'), join(folder, 'link.yaml'));
    expect(() => loadAgentFromConfig(join(folder, 'root.yaml'))).toThrow('leads out of the folder');
  });

  test('refuses more than 16 files that name one another, and more than 100 in a tree', () => {
    const chain = Array.from({ length: 20 }, (_, index) => [
      index === 0 ? 'root.yaml' : `${index}.yaml`,
      `name: a${index}\ninstruction: Help.\nsub_agents: [{ config_path: ${index + 1}.yaml }]`,
    ]);
    expect(refusal(Object.fromEntries(chain))).toContain('more than 16 files name one another');
    const wide = `${AGENT}sub_agents: [${'{ config_path: leaf.yaml }, '.repeat(101)}]`;
    expect(refusal({ 'root.yaml': wide, 'leaf.yaml': 'name: leaf\ninstruction: Help.' })).toContain(
      'more than 100 files are named',
    );
  });

  test('refuses an option that does not exist', () => {
    expect(() => load({ 'root.yaml': AGENT }, { tols: {} } as LoadAgentOptions)).toThrow('did you mean "tools"?');
  });

  test('refuses values of the program that are of a wrong kind', () => {
    const yaml = {
      'root.yaml': `${AGENT}tools: [{ name: t }]\nafter_model_callbacks: [{ name: c }]\nmodel_code: { name: m }\nsub_agents: [{ code: a }]`,
    };
    const right = {
      tools: { t: tool('t') },
      callbacks: { c: () => 1 },
      models: { m: new ScriptedModel([]) },
      agents: { a: new AdkLlmAgent({ name: 'a' }) },
    };
    expect(refusal(yaml, { ...right, tools: { t: 7 as never } })).toContain(
      'root.yaml:3: tools[0]: expected a tool, got the number 7',
    );
    expect(refusal(yaml, { ...right, callbacks: { c: 7 as never } })).toContain(
      'root.yaml:4: after_model_callbacks[0]: expected a function',
    );
    expect(refusal(yaml, { ...right, models: { m: () => 7 as never } })).toContain(
      'root.yaml:5: model_code: expected a model, got the number 7',
    );
    expect(refusal(yaml, { ...right, agents: { a: 7 as never } })).toContain(
      'root.yaml:6: sub_agents[0]: expected an agent, got the number 7',
    );
    expect(refusal(yaml, right)).toBe('loaded');
  });
});
