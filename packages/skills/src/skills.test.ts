import {
  type BaseSessionService,
  BaseTool,
  BaseToolset,
  type Event,
  getFunctionCalls,
  type Part,
  StreamingMode,
  StorageError,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { QuickJsCodeExecutor } from '@eventloom/quickjs';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { loadAllSkillsFromFiles, loadSkillFromFiles, type Skill } from './skill.ts';
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

async function play(
  options: SkillToolsetOptions,
  steps: readonly ScriptedStep[],
  { sessionService = new InMemorySessionService(), parts = [{ text: 'go' }] }: PlayOptions = {},
) {
  const model = new ScriptedModel(steps);
  const agent = new LlmAgent({ name: 'bot', model, tools: [new SkillToolset(options)] });
  const runner = new Runner({ appName: 'app', agent, sessionService, autoCreateSession: true });
  const events = await runner.run({
    userId: 'u',
    sessionId: 's',
    newMessage: { role: 'user', parts: [...parts] },
    runConfig: { streamingMode: StreamingMode.NONE },
  });
  await runner.close();
  const offered = model.requests.map(({ request }) => Object.keys(request.toolsDict));
  return { events, model, offered, responses: responsesOf(events) };
}

interface PlayOptions {
  /** The session service of an earlier run. */
  readonly sessionService?: BaseSessionService;
  readonly parts?: readonly Part[];
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

  test('reads only files of loaded skills, and none outside of them', async () => {
    const { responses } = await play({ skills: [sums] }, [
      resource('references/rules.md'),
      load('sums'),
      resource('references/rules.md'),
      resource('references/../SKILL.md'),
      resource('/etc/passwd'),
      resource('references/__proto__'),
      call('load_skill_resource', { skill_name: 'sums' }),
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
      error('path: expected the path of a file'),
      error('the skills are: sums'),
    ]);
  });

  test('gets an image as media', async () => {
    const { events } = await play({ skills: [sums] }, [load('sums'), resource('assets/logo.png'), 'done']);
    expect(JSON.stringify(events)).toContain('"mimeType":"image/png"');
  });

  // Workers cannot compile WebAssembly at run time; the tests of quickjs import it there.
  test.skipIf(navigator.userAgent === 'Cloudflare-Workers')(
    'runs only JavaScript in the executor, with arguments and files',
    async () => {
      const { responses } = await play({ skills: [sums], codeExecutor: new QuickJsCodeExecutor() }, [
        load('sums'),
        script('scripts/sum.js', { numbers: [1, 2] }),
        script('fail.js'),
        script('scripts/sum.py'),
        call('run_skill_script', { skill_name: 'sums' }),
        'done',
      ]);
      expect(responses.slice(1)).toEqual([
        { stdout: expect.stringContaining('15'), stderr: '' },
        { error: 'the script failed', stdout: '', stderr: expect.stringContaining('no') },
        { error: 'only JavaScript is run: a path that ends with .js' },
        { error: expect.stringContaining('script_path: expected the path of a script') },
      ]);
    },
  );

  test('has at most maxActiveSkills skills loaded, and releases the one that was loaded first', async () => {
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

describe('additional tools', () => {
  class PlainTool extends BaseTool {
    readonly #result: string;

    constructor(name: string, result: string) {
      super({ name, description: `Does ${name}.` });
      this.#result = result;
    }

    override _getDeclaration() {
      return { name: this.name, description: this.description };
    }

    override runAsync() {
      return Promise.resolve({ result: this.#result });
    }
  }
  const toolOf = (name: string, result = 'own') => new PlainTool(name, result);
  const wanting = (name: string, ...tools: readonly unknown[]) =>
    loadSkillFromFiles({
      'SKILL.md': `---\nname: ${name}\ndescription: Does it.\nmetadata: { adk_additional_tools: ${JSON.stringify(tools)} }\n---\n`,
    });
  class Menu extends BaseToolset {
    readonly calls: string[] = [];
    override getTools(): Promise<BaseTool[]> {
      return Promise.resolve([toolOf('cook'), toolOf('add', 'of the menu'), toolOf('load_skill', 'of the menu')]);
    }
    override async suspend(): Promise<void> {
      this.calls.push('suspend');
    }
    override async close(): Promise<void> {
      this.calls.push('close');
    }
  }

  test('are offered from the step after a skill is loaded that names them, also in the next turn', async () => {
    const sessionService = new InMemorySessionService();
    const menu = new Menu();
    const options = {
      skills: [wanting('sums', 'add', 'cook', 'load_skill', 'nothing', 5), wanting('idle')],
      additionalTools: [toolOf('add'), toolOf('subtract'), menu],
    };
    const first = await play(options, [load('idle'), load('sums'), call('add', {}), 'done'], { sessionService });
    const own = ['list_skills', 'load_skill', 'load_skill_resource'];
    expect(first.offered).toEqual([own, own, [...own, 'add', 'cook'], [...own, 'add', 'cook']]);
    expect(first.responses[2]).toEqual({ result: 'own' });
    expect(menu.calls).toEqual(['suspend', 'close']);
    const second = await play(options, ['done'], { sessionService });
    expect(second.offered).toEqual([[...own, 'add', 'cook']]);
  });

  test('of a released skill are no longer offered', async () => {
    const options = {
      skills: [wanting('a', 'add'), wanting('b')],
      additionalTools: [toolOf('add')],
      maxActiveSkills: 1,
    };
    const { offered } = await play(options, [load('a'), load('b'), 'done']);
    expect(offered.map((names) => names.includes('add'))).toEqual([false, true, false]);
  });

  test.each([
    [[toolOf('load_skill')], 'additionalTools[0]: another tool has the name "load_skill"'],
    [[toolOf('a'), toolOf('a')], 'additionalTools[1]: another tool has the name "a"'],
    [['a'], 'additionalTools[0]: expected a tool or a toolset, got a string; write additionalTools: [getWeather]'],
  ])('that cannot be offered are refused', (additionalTools, message) => {
    expect(() => new SkillToolset({ skills: [], additionalTools: additionalTools as never })).toThrow(message);
  });
});

describe('a registry', () => {
  const found = { name: 'far', description: 'Is far.' };
  const far = loadSkillFromFiles({ 'SKILL.md': text('far', 'Go far.'), 'references/x.md': 'X' });
  const registryOf = (getSkill: (name: string) => Promise<unknown>, results: readonly unknown[] = [found]) => {
    const asked: string[] = [];
    return {
      asked,
      getSkill: async (name: string) => {
        asked.push(name);
        return (await getSkill(name)) as Skill | undefined;
      },
      searchSkills: () => Promise.resolve(results as never),
    };
  };
  const search = call('search_skills', { query: 'far' });
  const readFar = call('load_skill_resource', { skill_name: 'far', path: 'references/x.md' });

  test('is searched, and its skills are loaded and read, each fetched once a run', async () => {
    const registry = registryOf(async (name) => (name === 'far' ? far : undefined));
    const sessionService = new InMemorySessionService();
    const options = { skills: [sums], registry };
    const { responses, model } = await play(options, [readFar, search, load('far'), readFar, load('other'), 'done'], {
      sessionService,
    });
    expect(model.requests[0]?.request.config.systemInstruction).toContain('search_skills finds others');
    expect(responses).toMatchObject([
      { error: expect.stringContaining('call load_skill first') },
      { skills: [found] },
      { instructions: 'Go far.', files: ['references/x.md'] },
      { content: 'X' },
      { error: 'there is no skill of this name; the skills are: sums; search_skills finds others' },
    ]);
    expect(registry.asked).toEqual(['far', 'other']);
    expect((await play(options, [readFar, 'done'], { sessionService })).responses).toMatchObject([{ content: 'X' }]);
    expect(registry.asked).toEqual(['far', 'other', 'far']);
  });

  test('omits results that are invalid, that have names of own skills, or that exceed the limit', async () => {
    const many = Array.from({ length: 200 }, (_, index) => ({ name: `s${index}`, description: 'x' }));
    const wrong = [null, 5, { name: '../x', description: 'x' }, { name: 'x' }, { name: 'sums', description: 'Mine.' }];
    const { responses } = await play(
      { skills: [sums], registry: registryOf(async () => undefined, [...wrong, ...many]) },
      [search, 'done'],
    );
    expect(responses).toEqual([{ skills: many.slice(0, 50) }]);
  });

  test.each([
    ['fails', () => Promise.reject(new TypeError('no network')), 'registry: failed: no network'],
    ['returns another skill', async () => sums, 'registry: getSkill: expected the skill "far", got "sums"'],
    [
      'returns no skill',
      async () => ({ name: 'far' }),
      'registry: getSkill: expected a skill or undefined for "far", got an object; write return {',
    ],
    [
      'returns wrong front matter',
      async () => ({ frontmatter: { name: 'far' }, instructions: '' }),
      'registry, "far": description: expected a text of 1 to 1024 characters, got nothing',
    ],
  ])('that %s is an error for the model, and gets a new request at the next call', async (_, getSkill, message) => {
    const registry = registryOf(getSkill);
    const { responses } = await play({ skills: [], registry }, [load('far'), load('far'), 'done']);
    expect(responses).toEqual([
      { error: expect.stringContaining(message) },
      { error: expect.stringContaining(message) },
    ]);
  });

  test('whose storage fails ends the run, and is no error for the model', async () => {
    const fails = () => Promise.reject(StorageError.of('the skill storage', new Error('connection lost')));
    const playing = play({ skills: [], registry: registryOf(fails) }, [load('far'), 'done']);
    await expect(playing).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  });
});

// Workers cannot compile WebAssembly at run time.
describe.skipIf(navigator.userAgent === 'Cloudflare-Workers')('a script that the model writes', () => {
  const script_content = 'console.log(args.a + 1)';
  const inline = { calls: [{ id: 'c', name: 'run_skill_inline_script', args: { script_content, args: { a: 1 } } }] };
  const options = () => ({ skills: [], codeExecutor: new QuickJsCodeExecutor(), allowInlineScripts: true });

  test.each([
    [true, { stdout: '2\n', stderr: '' }],
    [false, { error: 'This script is rejected.' }],
  ])('runs only if a person who saw it confirms it: %s', async (confirmed, response) => {
    const sessionService = new InMemorySessionService();
    const { events } = await play(options(), [inline], { sessionService });
    const request = events.flatMap(getFunctionCalls).find(({ name }) => name === 'adk_request_confirmation');
    expect(JSON.stringify(request?.args)).toContain(
      'Please approve or reject this script of the model:\\n\\nconsole.log(args.a',
    );
    const answer = { functionResponse: { id: request?.id, name: 'adk_request_confirmation', response: { confirmed } } };
    const { responses } = await play(options(), ['done'], { sessionService, parts: [answer as Part] });
    expect(responses.at(-1)).toEqual(response);
  });

  test('is refused if it is too long or in another language', async () => {
    const run = (args: Record<string, unknown>) => call('run_skill_inline_script', args);
    const { responses } = await play(options(), [
      run({ script_content: 'x'.repeat(20_000) }),
      run({ script_content: 'print(1)', language: 'python' }),
      'done',
    ]);
    expect(responses).toEqual([
      { error: 'script_content: expected a text of at most 16384 characters' },
      { error: 'only JavaScript is run: write language: "javascript"' },
    ]);
  });
});

describe('a skill is refused', () => {
  const long = 'x'.repeat(20_000);
  test.each([
    ['without front matter', 'Do it.', 'the front matter is missing; begin the file with a line of ---'],
    ['whose front matter has no end', '---\nname: a\n', 'no line of ---'],
    ['whose front matter is too long', `---\nname: a\nlicense: ${long}\n---\n`, 'no line of ---'],
    ['whose front matter is not YAML', '---\n\tname: [\n---\n', 'is not YAML'],
    [
      'whose front matter has aliases',
      '---\na: &a [x]\nb: *a\n---\n',
      'the front matter has aliases; write each value',
    ],
    [
      'without a description',
      '---\nname: a\n---\n',
      'description: expected a text of 1 to 1024 characters, got nothing',
    ],
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
    expect(() => loadAllSkillsFromFiles({ 'a/SKILL.md': text('b') })).toThrow(
      'name: expected the name of the folder, "a", got "b"; rename one of them',
    );
  });

  test('beside another skill with its name', () => {
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

test('SkillToolset without skills, files and buckets of another kind are refused with what to write', async () => {
  expect(() => new SkillToolset({} as never)).toThrow('SkillToolset: skills: expected a list of skills, got nothing');
  expect(() => loadSkillFromFiles(undefined as never)).toThrow("write loadSkillFromFiles({ 'SKILL.md': text })");
  expect(() => loadAllSkillsFromFiles('skills' as never)).toThrow(
    "loadAllSkillsFromFiles: expected files by path, got a string; write loadAllSkillsFromFiles({ 'weather/SKILL.md': text })",
  );
  await expect(loadAllSkillsInBucket({} as never)).rejects.toThrow(
    'loadAllSkillsInBucket: expected a bucket, got an object; write loadAllSkillsInBucket(env.SKILLS)',
  );
});
