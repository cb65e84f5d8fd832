import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel } from '@eventloom/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  getFunctionResponses,
  LlmAgent,
  loadAllSkillsInDir,
  loadSkillFromDir,
  Runner,
  setLogger,
  SkillToolset,
  validateSkillDir,
} from './index.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'eventloom-skills-'));
  for (const name of ['greeting', 'sums']) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'SKILL.md'), `---\nname: ${name}\ndescription: Knows ${name}.\n---\nUse ${name}.`);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

test('an agent loads a skill of a folder', async () => {
  const skills = await loadAllSkillsInDir(folder);
  expect(Object.keys(skills)).toEqual(['greeting', 'sums']);
  const model = new ScriptedModel([
    { parts: [{ functionCall: { name: 'load_skill', args: { name: 'sums' } } }] },
    'Done.',
  ]);
  const agent = new LlmAgent({ name: 'helper', model, tools: [new SkillToolset(skills)] });
  const runner = new Runner({ appName: 'app', agent, sessionService: new InMemorySessionService() });
  const newMessage = { role: 'user', parts: [{ text: 'Add.' }] };
  const responses: unknown[] = [];
  for await (const event of runner.runEphemeral({ userId: 'ann', newMessage }))
    responses.push(...getFunctionResponses(event).map(({ response }) => response));
  expect(responses).toEqual([expect.objectContaining({ instructions: 'Use sums.' })]);
});

test('a folder with an invalid skill is reported with its fault, and no error is thrown', async () => {
  expect(await validateSkillDir(join(folder, 'greeting'))).toEqual([]);
  expect(await validateSkillDir(join(folder, 'missing'))).toEqual([
    expect.stringContaining('missing: cannot be read as a folder'),
  ]);
});

test('a toolset takes a list of skills with scripts in the shape of the ADK', () => {
  const frontmatter = { name: 'draw', description: 'Draws.' };
  const skill = { frontmatter, instructions: 'Draw.', resources: { scripts: { 'draw.js': { src: '1 + 1' } } } };
  const toolset = new SkillToolset([skill]);
  expect(toolset.getSkill('draw')).toBe(skill);
  expect(toolset.getSkill('constructor')).toBeUndefined();
});

test('a folder gives one skill', async () => {
  expect((await loadSkillFromDir(join(folder, 'greeting'))).frontmatter.description).toBe('Knows greeting.');
});

test('a folder gives the texts of its files, and the bytes of those that are not text', async () => {
  const dir = join(folder, 'sums');
  for (const kind of ['references', 'assets', 'scripts']) mkdirSync(join(dir, kind));
  writeFileSync(join(dir, 'references', 'rules.md'), 'Carry \uFFFD.');
  writeFileSync(join(dir, 'assets', 'dot.png'), Uint8Array.of(137, 80, 255));
  writeFileSync(join(dir, 'scripts', 'add.js'), '1 + 1');
  expect((await loadSkillFromDir(dir)).resources).toEqual({
    references: { 'rules.md': 'Carry \uFFFD.' },
    assets: { 'dot.png': Buffer.of(137, 80, 255) },
    scripts: { 'add.js': { src: '1 + 1' } },
  });
});

test('skills are also found in inner folders, and one that is wrong is logged and left out', async () => {
  const base = join(folder, 'more');
  for (const [path, text] of [
    ['office/letters', '---\nname: letters\ndescription: Knows letters.\n---\nWrite.'],
    ['broken', 'no front matter'],
    ['node_modules/hidden', '---\nname: hidden\ndescription: Is hidden.\n---\nHide.'],
  ] as const) {
    mkdirSync(join(base, path), { recursive: true });
    writeFileSync(join(base, path, 'SKILL.md'), text);
  }
  mkdirSync(join(base, 'post'));
  writeFileSync(join(base, 'post', 'skill.md'), '---\nname: post\ndescription: Knows the post.\n---\nSend.');
  const lines: string[] = [];
  const ignore = (): void => undefined;
  const warn = (line: unknown): void => void lines.push(String(line));
  setLogger({ setLogLevel: ignore, log: ignore, debug: ignore, info: ignore, warn, error: ignore });
  try {
    expect(Object.keys(await loadAllSkillsInDir(base))).toEqual(['letters', 'post']);
  } finally {
    setLogger(null);
  }
  expect(lines).toEqual([expect.stringContaining('broken is left out')]);
  await expect(loadAllSkillsInDir(join(base, 'nowhere'))).rejects.toMatchObject({ code: 'SKILL_INVALID' });
});

test('a registry in the shape of the ADK adds the tool that searches it', async () => {
  const frontmatter = { name: 'draw', description: 'Draws.' };
  const skill = { frontmatter, instructions: 'Draw.', resources: { scripts: { 'draw.js': { src: '1 + 1' } } } };
  const registry = { getSkill: () => Promise.resolve(skill), searchSkills: () => Promise.resolve([frontmatter]) };
  const tools = await new SkillToolset([], { registry }).getTools();
  expect(tools.map(({ name }) => name)).toContain('search_skills');
});

test.each([
  [
    'registry',
    {},
    'registry: expected an object with the methods getSkill and searchSkills, got an object; write registry: {',
  ],
  ['allowInlineScripts', true, 'allowInlineScripts needs a codeExecutor'],
  ['scriptOutputDir', 'out', 'leave it out'],
])('the option %s is refused with what to write', (name, value, advice) => {
  expect(() => new SkillToolset([], { [name]: value })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION', message: expect.stringContaining(advice) }),
  );
});

test.each([null, 'skills', 5, [null]])('%j in place of skills is refused', (skills) => {
  expect(() => new SkillToolset(skills as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION', message: expect.stringContaining('skills') }),
  );
});
