import {
  appendInstructions,
  type BaseCodeExecutor,
  BaseTool,
  BaseToolset,
  type BaseToolsetOptions,
  type CodeFile,
  ConfigurationError,
  encodeBase64,
  type FunctionDeclaration,
  type ReadonlyContext,
  type RunAsyncToolRequest,
  type ToolContext,
  type ToolProcessLlmRequest,
  toolResult,
} from '@eventloom/core';
import { checkOptions, getOwn, integer, isRecord, type OptionRules } from '@eventloom/core/internal';
import { SkillError } from './errors.ts';
import { KINDS, MAX_FILE_BYTES, type Skill, type SkillFile, toFrontmatter } from './skill.ts';

/** Options of a `SkillToolset`. */
export interface SkillToolsetOptions extends BaseToolsetOptions {
  /** The skills that the agent may load. */
  readonly skills: readonly Skill[];
  /**
   * Runs the JavaScript of skills, and adds the tool `run_skill_script`: `new QuickJsCodeExecutor()` of `@eventloom/quickjs`. Default: no script
   * is run.
   */
  readonly codeExecutor?: BaseCodeExecutor | undefined;
  /** Maximum number of skills that are loaded at a time in a session. The one that was loaded first is released for a new one. Default 8. */
  readonly maxActiveSkills?: number | undefined;
}

const OPTIONS: OptionRules<SkillToolsetOptions> = {
  skills: 'list',
  codeExecutor: 'object',
  maxActiveSkills: integer(1, 100),
  name: 'text',
  onUnavailable: 'text',
};

/** Maximum number of skills of a toolset. */
const MAX_SKILLS = 200;
/** Maximum length of a text for the model, in characters. */
const MAX_TEXT = 262_144;
/** Maximum size of an image or a PDF file for the model, in bytes: 10 MiB of base64. */
const MAX_MEDIA_BYTES = MAX_FILE_BYTES;

/** The skills of a toolset, which its tools share. */
interface Shelf {
  readonly skills: ReadonlyMap<string, Skill>;
  readonly codeExecutor: BaseCodeExecutor | undefined;
  /** Loads a skill in the session, and returns the names of those that were released for it. */
  activate(name: string, context: ToolContext): string[];
  /** Returns an active skill, or what the model has to do first. */
  find(name: unknown, context: ToolContext): Skill | { readonly error: string };
}

/**
 * Offers skills to an agent: the names and descriptions of all are in the instruction, and the model loads one when it needs it. Then it gets the
 * skill's instructions, may read its files, and run its scripts if there is a `codeExecutor`.
 *
 * Which skills are loaded is kept in the session's state.
 *
 * @example
 * const toolset = new SkillToolset({
 *   skills: [{ frontmatter: { name: 'greeting', description: 'Greets people.' }, instructions: 'Say hello twice.' }],
 * });
 * const agent = new LlmAgent({ name: 'host', model: 'gemini-flash-latest', tools: [toolset] });
 */
export class SkillToolset extends BaseToolset {
  readonly #tools: readonly BaseTool[];

  /** @throws ConfigurationError for wrong options and two skills of one name @throws SkillError for a skill with wrong front matter */
  constructor(options: SkillToolsetOptions) {
    checkOptions(
      'SkillToolset',
      OPTIONS,
      options,
      {
        additionalTools: 'write the tools in the tools of the agent',
        allowInlineScripts: 'write codeExecutor in the agent, which runs the code that its model writes',
        registry: 'write skills: a list of skills',
        scriptOutputDir: 'leave it out; files that a script makes are in its result',
      },
      '{ skills: [skill] }',
    );
    const { skills, codeExecutor, maxActiveSkills = 8, name = 'skills', onUnavailable } = options;
    super([], undefined, { name, ...(onUnavailable !== undefined && { onUnavailable }) });
    const byName = new Map<string, Skill>();
    for (const [index, skill] of skills.entries()) {
      const { frontmatter, instructions } = isRecord(skill) ? skill : {};
      if (!isRecord(frontmatter) || typeof instructions !== 'string')
        throw new ConfigurationError(`SkillToolset: skills[${index}] must be a skill: { frontmatter, instructions }`);
      const { name: skillName } = toFrontmatter(frontmatter, `skills[${index}]`);
      if (byName.has(skillName)) throw new ConfigurationError(`SkillToolset: two skills have the name "${skillName}"`);
      byName.set(skillName, skill);
    }
    if (byName.size > MAX_SKILLS)
      throw new ConfigurationError(`SkillToolset: at most ${MAX_SKILLS} skills are allowed`);
    const shelf = createShelf(byName, codeExecutor, `skills:${name}`, maxActiveSkills);
    this.#tools = [
      new ListSkillsTool(shelf),
      new LoadSkillTool(shelf),
      new LoadSkillResourceTool(shelf),
      ...(codeExecutor ? [new RunSkillScriptTool(shelf, codeExecutor)] : []),
    ];
  }

  override getTools(_context?: ReadonlyContext): Promise<BaseTool[]> {
    return Promise.resolve([...this.#tools]);
  }

  /** Does nothing: the toolset keeps no connection. */
  override async close(): Promise<void> {}
}

function createShelf(
  skills: ReadonlyMap<string, Skill>,
  codeExecutor: BaseCodeExecutor | undefined,
  stateKey: string,
  maxActive: number,
): Shelf {
  const activeIn = (context: ToolContext): string[] => {
    const stored: unknown = context.state.get(stateKey);
    return Array.isArray(stored) ? stored.filter((name) => typeof name === 'string' && skills.has(name)) : [];
  };
  return {
    skills,
    codeExecutor,
    activate(name, context) {
      const active = [...activeIn(context).filter((other) => other !== name), name];
      const released = active.splice(0, Math.max(0, active.length - maxActive));
      context.state.set(stateKey, active);
      return released;
    },
    find(name, context) {
      const skill = typeof name === 'string' ? skills.get(name) : undefined;
      if (!skill) return { error: `there is no skill of this name; the skills are: ${[...skills.keys()].join(', ')}` };
      if (!activeIn(context).includes(skill.frontmatter.name))
        return { error: `the skill "${skill.frontmatter.name}" is not loaded; call load_skill first` };
      return skill;
    },
  };
}

const TEXT = { type: 'string' };

/** `list_skills`. */
class ListSkillsTool extends BaseTool {
  readonly #shelf: Shelf;

  constructor(shelf: Shelf) {
    super({ name: 'list_skills', description: 'Lists the skills with their descriptions.', idempotent: true });
    this.#shelf = shelf;
  }

  override _getDeclaration(): FunctionDeclaration {
    return declare(this, {});
  }

  override runAsync(): Promise<unknown> {
    const skills = Array.from(this.#shelf.skills.values(), ({ frontmatter: { name, description } }) => ({
      name,
      description,
    }));
    return Promise.resolve({ skills });
  }
}

/** `load_skill`. Adds the names and descriptions of the skills to the instruction. */
class LoadSkillTool extends BaseTool {
  readonly #shelf: Shelf;
  readonly #instruction: string;

  constructor(shelf: Shelf) {
    super({
      name: 'load_skill',
      description: 'Loads the instructions of a skill, and lists its files. Load a skill before you use it.',
      idempotent: true,
    });
    this.#shelf = shelf;
    const lines = Array.from(
      shelf.skills.values(),
      ({ frontmatter: { name, description } }) => `- ${name}: ${description}`,
    );
    this.#instruction = [
      'You have skills: instructions for certain tasks. If a task fits the description of one, call load_skill with its name, and then follow its instructions.',
      ...lines,
    ].join('\n');
  }

  override _getDeclaration(): FunctionDeclaration {
    return declare(this, { name: TEXT }, ['name']);
  }

  override async processLlmRequest(request: ToolProcessLlmRequest): Promise<void> {
    await super.processLlmRequest(request);
    if (this.#shelf.skills.size > 0) appendInstructions(request.llmRequest, [this.#instruction]);
  }

  override runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    const name = args['name'];
    const skill = typeof name === 'string' ? this.#shelf.skills.get(name) : undefined;
    if (!skill) return Promise.resolve(this.#shelf.find(name, toolContext));
    const released = this.#shelf.activate(skill.frontmatter.name, toolContext);
    return Promise.resolve({
      skill_name: skill.frontmatter.name,
      instructions: cut(skill.instructions),
      files: KINDS.flatMap((kind) => Object.keys(skill.resources?.[kind] ?? {}).map((path) => `${kind}/${path}`)),
      ...(released.length > 0 && { released }),
    });
  }
}

/** `load_skill_resource`. */
class LoadSkillResourceTool extends BaseTool {
  readonly #shelf: Shelf;

  constructor(shelf: Shelf) {
    super({
      name: 'load_skill_resource',
      description: 'Reads a file of a skill that is loaded.',
      idempotent: true,
    });
    this.#shelf = shelf;
  }

  override _getDeclaration(): FunctionDeclaration {
    const path = { type: 'string', description: 'The path in the skill, such as references/tables.md.' };
    return declare(this, { skill_name: TEXT, path }, ['skill_name', 'path']);
  }

  /** @throws SkillError if the file can no longer be read */
  override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    const skill = this.#shelf.find(args['skill_name'], toolContext);
    if ('error' in skill) return skill;
    const path = String(args['path']);
    const file = fileOf(skill, path);
    if (file === undefined) return { error: noFile(skill, path) };
    const content = await read(file, path);
    const response = { skill_name: skill.frontmatter.name, path };
    const text = typeof content === 'string' ? content : textOf(content);
    if (text !== undefined)
      return text.length <= MAX_TEXT
        ? { ...response, content: text }
        : { error: `the file has ${text.length} characters; at most ${MAX_TEXT} can be read` };
    const mimeType = mediaType(path);
    if (typeof content === 'string' || mimeType === undefined || content.length > MAX_MEDIA_BYTES)
      return { error: 'the file is neither text nor an image or a PDF file' };
    return toolResult({ response, parts: [{ inlineData: { mimeType, data: encodeBase64(content) } }] });
  }
}

/** `run_skill_script`. */
class RunSkillScriptTool extends BaseTool {
  readonly #shelf: Shelf;
  readonly #executor: BaseCodeExecutor;

  constructor(shelf: Shelf, executor: BaseCodeExecutor) {
    super({
      name: 'run_skill_script',
      description: 'Runs a script (JavaScript) of a skill that is loaded, and returns what it printed.',
    });
    this.#shelf = shelf;
    this.#executor = executor;
  }

  override _getDeclaration(): FunctionDeclaration {
    const path = { type: 'string', description: 'The path of the script, such as scripts/sum.js.' };
    const args = { type: 'object', description: 'The arguments, which the script has as the object args.' };
    return declare(this, { skill_name: TEXT, script_path: path, args }, ['skill_name', 'script_path']);
  }

  /** @throws SkillError if the script can no longer be read */
  override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    const skill = this.#shelf.find(args['skill_name'], toolContext);
    if ('error' in skill) return skill;
    const given = String(args['script_path']);
    const path = given.startsWith('scripts/') ? given : `scripts/${given}`;
    const script = fileOf(skill, path);
    if (script === undefined) return { error: noFile(skill, path) };
    if (!/\.m?js$/.test(path)) return { error: 'only JavaScript is run: a path that ends with .js' };
    const content = await read(script, path);
    const source = typeof content === 'string' ? content : textOf(content);
    if (source === undefined) return { error: 'the script is not text' };
    const { invocationContext, abortSignal } = toolContext;
    const late = new AbortController();
    const cancel = invocationContext.platform.schedule(this.#executor.timeoutMs, () => late.abort());
    const { stdout, stderr, outcome } = await this.#executor
      .executeCode({
        invocationContext,
        codeExecutionInput: {
          code: `const args = ${JSON.stringify(args['args'] ?? {})};\n${source}`,
          language: 'javascript',
          inputFiles: await inputFiles(skill),
        },
        abortSignal: AbortSignal.any([abortSignal, late.signal]),
      })
      .finally(cancel);
    const printed = { stdout: cut(stdout), stderr: cut(stderr) };
    const isOk = outcome === undefined ? stderr === '' : outcome === 'OUTCOME_OK';
    return isOk ? printed : { error: 'the script failed', ...printed };
  }
}

/** Maximum size of all files that a script gets, in bytes. */
const MAX_INPUT_BYTES = 10_485_760;

/** Returns the references and assets of a skill, for its scripts. */
async function inputFiles({ resources }: Skill): Promise<CodeFile[]> {
  const files: CodeFile[] = [];
  let bytes = 0;
  for (const kind of ['references', 'assets'] as const)
    for (const [path, file] of Object.entries(resources?.[kind] ?? {})) {
      const name = `${kind}/${path}`;
      const content = await read(file, name);
      const data = typeof content === 'string' ? new TextEncoder().encode(content) : content;
      if ((bytes += data.length) > MAX_INPUT_BYTES)
        throw new SkillError(`${name}: the files for a script have more than ${MAX_INPUT_BYTES} bytes`);
      files.push({ name, content: encodeBase64(data), mimeType: mediaType(path) ?? 'text/plain' });
    }
  return files;
}

function declare(
  { name, description }: BaseTool,
  properties: Readonly<Record<string, object>>,
  required: readonly string[] = [],
): FunctionDeclaration {
  return { name, description, parametersJsonSchema: { type: 'object', properties, required } };
}

/** Returns the file at a path; undefined if there is none. Only files that the skill listed are found, so no path leaves its folder. */
function fileOf({ resources }: Skill, path: string): SkillFile | undefined {
  const kind = KINDS.find((each) => path.startsWith(`${each}/`));
  const files = kind && resources?.[kind];
  return files && getOwn(files, path.slice(kind.length + 1));
}

function noFile({ frontmatter, resources }: Skill, path: string): string {
  const paths = KINDS.flatMap((kind) => Object.keys(resources?.[kind] ?? {}).map((each) => `${kind}/${each}`));
  return `the skill "${frontmatter.name}" has no file ${JSON.stringify(path.slice(0, 256))}; its files are: ${paths.join(', ') || 'none'}`;
}

async function read(file: SkillFile, path: string): Promise<string | Uint8Array> {
  const content = typeof file === 'function' ? await file() : file;
  if (content.length > MAX_FILE_BYTES)
    throw new SkillError(`${path}: has ${content.length} bytes; at most ${MAX_FILE_BYTES}`);
  return content;
}

/** Returns bytes as text; undefined if they are not UTF-8. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

const MEDIA: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  pdf: 'application/pdf',
};

function mediaType(path: string): string | undefined {
  return getOwn(MEDIA, path.slice(path.lastIndexOf('.') + 1).toLowerCase());
}

function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}
