import { type Event, StreamingMode } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { QuickJsCodeExecutor } from '@eventloom/quickjs';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { loadAllSkillsFromFiles, loadSkillFromFiles } from './skill.ts';
import { SkillToolset, type SkillToolsetOptions } from './skill-toolset.ts';
import { loadAllSkillsInBucket } from './skills-in-bucket.ts';

const text = (name: string, body = 'Do it.') => `---\nname: ${name}\ndescription: Does ${name}.\n---\n${body}\n`;
const PNG = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, 255, 0]);
const sums = loadSkillFromFiles({
  'SKILL.md': text('sums', 'Run scripts/sum.js.'),
  'references/rules.md': 'No cheating.',
  'assets/logo.png': PNG,
  'scripts/sum.js': 'args.numbers.reduce((sum, each) => sum + each, files["references/rules.md"].length)',
  'scripts/fail.js': 'throw new Error("no")',
  'scripts/sum.py': 'print(1)',
  'notes.txt': 'left out',
});

async function play(options: SkillToolsetOptions, steps: readonly ScriptedStep[]) {
  const model = new ScriptedModel(steps);
  const agent = new LlmAgent({ name: 'bot', model, tools: [new SkillToolset(options)] });
  const runner = new Runner({
    appName: 'app',
    agent,
    sessionService: new InMemorySessionService(),
    autoCreateSession: true,
  });
  const events = await runner.run({
    userId: 'u',
    sessionId: 's',
    newMessage: { role: 'user', parts: [{ text: 'go' }] },
    runConfig: { streamingMode: StreamingMode.NONE },
  });
  await runner.close();
  return { events, model, responses: responsesOf(events) };
}

function responsesOf(events: readonly Event[]) {
  return events.flatMap(({ content }) =>
    (content?.parts ?? []).flatMap(({ functionResponse }) => functionResponse?.response ?? []),
  );
}

const call = (name: string, args: Record<string, unknown>): ScriptedStep => ({ calls: [{ name, args }] });
const load = (name: string) => call('load_skill', { name });
const resource = (path: string) => call('load_skill_resource', { skill_name: 'sums', path });
const script = (path: string, args: object = {}) =>
  call('run_skill_script', { skill_name: 'sums', script_path: path, args });

describe('an agent with skills', () => {
  test('knows their descriptions, and gets the instructions when it loads one', async () => {
    const { responses, model } = await play({ skills: [sums] }, [call('list_skills', {}), load('sums'), 'done']);
    expect(model.requests[0]?.request.config.systemInstruction).toContain('- sums: Does sums.');
    expect(model.requests[0]?.request.config.systemInstruction).not.toContain('Run scripts');
    expect(Object.keys(model.requests[0]?.request.toolsDict ?? {})).not.toContain('run_skill_script');
    expect(responses).toEqual([
      { skills: [{ name: 'sums', description: 'Does sums.' }] },
      {
        skill_name: 'sums',
        instructions: 'Run scripts/sum.js.',
        files: ['references/rules.md', 'assets/logo.png', 'scripts/sum.js', 'scripts/fail.js', 'scripts/sum.py'],
      },
    ]);
  });

  test('reads files of loaded skills only, and none outside of them', async () => {
    const { responses } = await play({ skills: [sums] }, [
      resource('references/rules.md'),
      load('sums'),
      resource('references/rules.md'),
      resource('references/../SKILL.md'),
      resource('/etc/passwd'),
      resource('references/__proto__'),
      load('nothing'),
      'done',
    ]);
    const error = (part: string) => ({ error: expect.stringContaining(part) });
    expect(responses).toEqual([
      error('call load_skill first'),
      expect.anything(),
      { skill_name: 'sums', path: 'references/rules.md', content: 'No cheating.' },
      error('has no file'),
      error('has no file'),
      error('has no file'),
      error('the skills are: sums'),
    ]);
  });

  test('gets an image as media', async () => {
    const { events } = await play({ skills: [sums] }, [load('sums'), resource('assets/logo.png'), 'done']);
    expect(JSON.stringify(events)).toContain('"mimeType":"image/png"');
  });

  // Workers compile no WebAssembly at run time: the tests of quickjs import it there.
  test.skipIf(navigator.userAgent === 'Cloudflare-Workers')(
    'runs JavaScript in the executor, with arguments and files, and nothing else',
    async () => {
      const { responses } = await play({ skills: [sums], codeExecutor: new QuickJsCodeExecutor() }, [
        load('sums'),
        script('scripts/sum.js', { numbers: [1, 2] }),
        script('fail.js'),
        script('scripts/sum.py'),
        'done',
      ]);
      expect(responses.slice(1)).toEqual([
        { stdout: expect.stringContaining('15'), stderr: '' },
        { error: 'the script failed', stdout: '', stderr: expect.stringContaining('no') },
        { error: 'only JavaScript is run: a path that ends with .js' },
      ]);
    },
  );

  test('has so many skills loaded at a time, and releases the one that was loaded first', async () => {
    const skills = ['a', 'b', 'c'].map((name) => loadSkillFromFiles({ 'SKILL.md': text(name), 'references/x': name }));
    const { responses } = await play({ skills, maxActiveSkills: 2 }, [
      load('a'),
      load('b'),
      load('a'),
      load('c'),
      call('load_skill_resource', { skill_name: 'b', path: 'references/x' }),
      call('load_skill_resource', { skill_name: 'a', path: 'references/x' }),
      'done',
    ]);
    expect(responses[3]).toMatchObject({ skill_name: 'c', released: ['b'] });
    expect(responses[4]).toEqual({ error: expect.stringContaining('not loaded') });
    expect(responses[5]).toMatchObject({ content: 'a' });
  });
});

describe('a skill is refused', () => {
  const long = 'x'.repeat(20_000);
  test.each([
    ['without front matter', 'Do it.', 'must begin with front matter'],
    ['whose front matter has no end', '---\nname: a\n', 'no line of ---'],
    ['whose front matter is too long', `---\nname: a\nlicense: ${long}\n---\n`, 'no line of ---'],
    ['whose front matter is not YAML', '---\n\tname: [\n---\n', 'is not YAML'],
    ['whose front matter has aliases', '---\na: &a [x]\nb: *a\n---\n', 'no aliases'],
    ['without a description', '---\nname: a\n---\n', 'description must be a text'],
    ['with a name of other characters', text('A b'), 'small letters'],
    ['that is too large', text('a', 'x'.repeat(300_000)), 'at most 262144'],
  ])('%s', (_, skill, message) => {
    expect(() => loadSkillFromFiles({ 'SKILL.md': skill })).toThrow(expect.objectContaining({ code: 'SKILL_INVALID' }));
    expect(() => loadSkillFromFiles({ 'SKILL.md': skill })).toThrow(message);
  });

  test.each([
    'references/../../x',
    '../x',
    '/etc/passwd',
    'references\\..\\x',
    'references//x',
    'references/a\0b',
    'C:/x',
  ])('with a file at %j', (path) => {
    expect(() => loadSkillFromFiles({ 'SKILL.md': text('a'), [path]: '' })).toThrow('expected a path in the skill');
  });

  test('with a file that is too large', () => {
    const files = { 'SKILL.md': text('a'), 'assets/x': new Uint8Array(5_242_881) };
    expect(() => loadSkillFromFiles(files)).toThrow('at most 5242880');
  });

  test('whose name is not that of its folder', () => {
    expect(() => loadAllSkillsFromFiles({ 'a/SKILL.md': text('b') })).toThrow('must be that of the folder, "a"');
  });

  test('beside another one of its name', () => {
    expect(() => new SkillToolset({ skills: [sums, sums] })).toThrow('two skills have the name "sums"');
  });
});

describe('skills in a bucket', () => {
  const bucketOf = (objects: Readonly<Record<string, string>>) => {
    const gets: string[] = [];
    const keys = Object.keys(objects);
    return {
      gets,
      list: async ({ prefix, cursor = '0' }: { prefix: string; cursor?: string }) => {
        const at = Number(cursor);
        const [key = ''] = keys.filter((each) => each.startsWith(prefix)).slice(at);
        const truncated = at + 1 < keys.length;
        return { objects: [{ key, size: objects[key]?.length ?? 0 }], truncated, cursor: String(at + 1) };
      },
      get: async (key: string) => {
        gets.push(key);
        const found = objects[key];
        return found === undefined ? null : { arrayBuffer: async () => new TextEncoder().encode(found).buffer };
      },
    };
  };

  test('are listed page by page, and their files are read when they are needed', async () => {
    const bucket = bucketOf({ 's/a/SKILL.md': text('a'), 's/a/references/x.md': 'X', 's/b/SKILL.md': text('b') });
    const skills = await loadAllSkillsInBucket(bucket, 's/');
    expect(skills.map(({ frontmatter }) => frontmatter.name)).toEqual(['a', 'b']);
    expect(bucket.gets).toEqual(['s/a/SKILL.md', 's/b/SKILL.md']);
    const { responses } = await play({ skills }, [
      load('a'),
      call('load_skill_resource', { skill_name: 'a', path: 'references/x.md' }),
      'done',
    ]);
    expect(responses[1]).toMatchObject({ content: 'X' });
  });

  test('that are too large are refused before they are read', async () => {
    const bucket = bucketOf({ 's/a/SKILL.md': 'x'.repeat(300_000) });
    await expect(loadAllSkillsInBucket(bucket, 's/')).rejects.toMatchObject({ code: 'SKILL_INVALID' });
    expect(bucket.gets).toEqual([]);
  });
});
