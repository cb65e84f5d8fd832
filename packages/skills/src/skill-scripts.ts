import {
  type BaseCodeExecutor,
  BaseTool,
  type CodeFile,
  encodeBase64,
  type FunctionDeclaration,
  type RunAsyncToolRequest,
  type ToolContext,
} from '@eventloom/core';
import { SkillError } from './errors.ts';
import type { Skill } from './skill.ts';
import type { Shelf } from './skill-shelf.ts';
import { cut, declare, fileOf, mediaType, noFile, read, TEXT, textOf } from './skill-tools.ts';

/** Maximum length of a script that the model writes, in characters, because a person has to read it. */
const MAX_INLINE = 16_384;
const ARGS = { type: 'object', description: 'The arguments, which the script gets as the object args.' };

/** The tool `run_skill_script`, with which the model runs a script of a loaded skill. */
export class RunSkillScriptTool extends BaseTool {
  readonly #shelf: Shelf;
  readonly #executor: BaseCodeExecutor;

  constructor(shelf: Shelf, executor: BaseCodeExecutor) {
    super({
      name: 'run_skill_script',
      description: 'Runs a script (JavaScript) of a loaded skill, and returns its output.',
    });
    this.#shelf = shelf;
    this.#executor = executor;
  }

  override _getDeclaration(): FunctionDeclaration {
    const path = { type: 'string', description: 'The path of the script, such as scripts/sum.js.' };
    return declare(this, { skill_name: TEXT, script_path: path, args: ARGS }, ['skill_name', 'script_path']);
  }

  /** @throws SkillError if the script can no longer be read */
  override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    const skill = await this.#shelf.find(args['skill_name'], toolContext);
    if ('error' in skill) return skill;
    const { script_path: given } = args;
    if (typeof given !== 'string')
      return { error: 'script_path: expected the path of a script; write for example scripts/sum.js' };
    const path = given.startsWith('scripts/') ? given : `scripts/${given}`;
    const script = fileOf(skill, path);
    if (script === undefined) return { error: noFile(skill, path) };
    if (!/\.m?js$/.test(path)) return { error: 'only JavaScript is run: a path that ends with .js' };
    const content = await read(script, path);
    const source = typeof content === 'string' ? content : textOf(content);
    if (source === undefined) return { error: 'the script is not text' };
    return runScript(this.#executor, source, args['args'], await inputFiles(skill), toolContext);
  }
}

/** The tool `run_skill_inline_script`, with which the model runs a script that it writes. A person confirms each script. */
export class RunSkillInlineScriptTool extends BaseTool {
  readonly #executor: BaseCodeExecutor;

  constructor(executor: BaseCodeExecutor) {
    super({
      name: 'run_skill_inline_script',
      description:
        'Runs a script (JavaScript) that you write, after a person has confirmed it, and returns its output.',
    });
    this.#executor = executor;
  }

  override _getDeclaration(): FunctionDeclaration {
    const language = { type: 'string', enum: ['javascript'] };
    return declare(this, { script_content: TEXT, language, args: ARGS }, ['script_content']);
  }

  override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    const { script_content: source, language = 'javascript' } = args;
    if (typeof source !== 'string' || source.length > MAX_INLINE)
      return { error: `script_content: expected a text of at most ${MAX_INLINE} characters` };
    if (language !== 'javascript') return { error: 'only JavaScript is run: write language: "javascript"' };
    const { toolConfirmation: given } = toolContext;
    if (!given) {
      toolContext.requestConfirmation({
        hint: `Please approve or reject this script of the model:\n\n${source}`,
        payload: { language, script_content: source, args: args['args'] ?? {} },
        endsTurn: true,
      });
      return { error: 'This script requires confirmation, please approve or reject.' };
    }
    if (!given.confirmed) return { error: 'This script is rejected.' };
    return runScript(this.#executor, source, args['args'], [], toolContext);
  }
}

/** Runs a script, and returns its output or its error for the model. */
async function runScript(
  executor: BaseCodeExecutor,
  source: string,
  args: unknown,
  files: readonly CodeFile[],
  { invocationContext, abortSignal }: ToolContext,
): Promise<unknown> {
  const late = new AbortController();
  const cancel = invocationContext.platform.schedule(executor.timeoutMs, () => late.abort());
  const { stdout, stderr, outcome } = await executor
    .executeCode({
      invocationContext,
      codeExecutionInput: {
        code: `const args = ${JSON.stringify(args ?? {})};\n${source}`,
        language: 'javascript',
        inputFiles: files,
      },
      abortSignal: AbortSignal.any([abortSignal, late.signal]),
    })
    .finally(cancel);
  const printed = { stdout: cut(stdout), stderr: cut(stderr) };
  const isOk = outcome === undefined ? stderr === '' : outcome === 'OUTCOME_OK';
  return isOk ? printed : { error: 'the script failed', ...printed };
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
