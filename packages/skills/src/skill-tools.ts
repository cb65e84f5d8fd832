import {
  appendInstructions,
  BaseTool,
  encodeBase64,
  type FunctionDeclaration,
  type RunAsyncToolRequest,
  type ToolProcessLlmRequest,
  toolResult,
} from '@eventloom/core';
import { getOwn } from '@eventloom/core/internal';
import { SkillError } from './errors.ts';
import { KINDS, MAX_FILE_BYTES, type Skill, type SkillFile } from './skill.ts';
import type { Shelf } from './skill-shelf.ts';

/** Maximum length of a text for the model, in characters. */
const MAX_TEXT = 262_144;
/** Maximum length of a query, in characters. */
const MAX_QUERY = 1000;
/** Maximum size of an image or a PDF file for the model, in bytes: 10 MiB of base64. */
const MAX_MEDIA_BYTES = MAX_FILE_BYTES;

/** The schema of a text argument. */
export const TEXT = { type: 'string' };

/** The tool `list_skills`, which returns the names and descriptions of all skills. */
export class ListSkillsTool extends BaseTool {
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

/**
 * The tool `load_skill`, which returns the instructions of a skill. It also adds the names and descriptions of the skills to the
 * instruction.
 */
export class LoadSkillTool extends BaseTool {
  readonly #shelf: Shelf;
  readonly #instruction: string;
  readonly #loaded: () => void;

  /** @param loaded called when a session has loaded a skill */
  constructor(shelf: Shelf, loaded: () => void) {
    super({
      name: 'load_skill',
      description: 'Loads the instructions of a skill, and lists its files. Load a skill before you use it.',
      idempotent: true,
    });
    this.#shelf = shelf;
    this.#loaded = loaded;
    const lines = Array.from(
      shelf.skills.values(),
      ({ frontmatter: { name, description } }) => `- ${name}: ${description}`,
    );
    this.#instruction = [
      'You have skills: instructions for certain tasks. If a task fits the description of one, call load_skill with its name, and then follow its instructions.',
      ...lines,
      ...(shelf.registry ? ['If none fits, search_skills finds others, which load_skill loads too.'] : []),
    ].join('\n');
  }

  override _getDeclaration(): FunctionDeclaration {
    return declare(this, { name: TEXT }, ['name']);
  }

  override async processLlmRequest(request: ToolProcessLlmRequest): Promise<void> {
    await super.processLlmRequest(request);
    if (this.#shelf.skills.size > 0 || this.#shelf.registry)
      appendInstructions(request.llmRequest, [this.#instruction]);
  }

  /** @throws SkillError if the registry fails */
  override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    const skill = await this.#shelf.skillOf(args['name'], toolContext);
    if (!skill) return this.#shelf.unknownSkill();
    const released = this.#shelf.activate(skill.frontmatter.name, toolContext);
    this.#loaded();
    return {
      skill_name: skill.frontmatter.name,
      instructions: cut(skill.instructions),
      files: KINDS.flatMap((kind) => Object.keys(skill.resources?.[kind] ?? {}).map((path) => `${kind}/${path}`)),
      ...(released.length > 0 && { released }),
    };
  }
}

/** The tool `search_skills`, which searches the registry. */
export class SearchSkillsTool extends BaseTool {
  readonly #shelf: Shelf;

  constructor(shelf: Shelf) {
    const description = shelf.registry?.searchToolDescription?.();
    super({
      name: 'search_skills',
      description: description ?? 'Searches for skills by words or a question. Load a found skill with load_skill.',
      idempotent: true,
    });
    this.#shelf = shelf;
  }

  override _getDeclaration(): FunctionDeclaration {
    return declare(this, { query: TEXT }, ['query']);
  }

  /** @throws SkillError if the registry fails */
  override async runAsync({ args }: RunAsyncToolRequest): Promise<unknown> {
    const { query } = args;
    if (typeof query !== 'string' || query.length > MAX_QUERY)
      return { error: `query: expected a text of at most ${MAX_QUERY} characters` };
    return { skills: await this.#shelf.search(query) };
  }
}

/** The tool `load_skill_resource`, which returns a file of a loaded skill. */
export class LoadSkillResourceTool extends BaseTool {
  readonly #shelf: Shelf;

  constructor(shelf: Shelf) {
    super({
      name: 'load_skill_resource',
      description: 'Reads a file of a loaded skill.',
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
    const skill = await this.#shelf.find(args['skill_name'], toolContext);
    if ('error' in skill) return skill;
    const { path } = args;
    if (typeof path !== 'string')
      return { error: 'path: expected the path of a file; write for example references/tables.md' };
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

/** Returns the declaration of a tool with these arguments. */
export function declare(
  { name, description }: BaseTool,
  properties: Readonly<Record<string, object>>,
  required: readonly string[] = [],
): FunctionDeclaration {
  return { name, description, parametersJsonSchema: { type: 'object', properties, required } };
}

/** Returns the file at a path; undefined if there is none. Only files that the skill listed are found, so no path leaves its folder. */
export function fileOf({ resources }: Skill, path: string): SkillFile | undefined {
  const kind = KINDS.find((each) => path.startsWith(`${each}/`));
  const files = kind && resources?.[kind];
  return files && getOwn(files, path.slice(kind.length + 1));
}

/** Returns the error message for a path without a file. */
export function noFile({ frontmatter, resources }: Skill, path: string): string {
  const paths = KINDS.flatMap((kind) => Object.keys(resources?.[kind] ?? {}).map((each) => `${kind}/${each}`));
  return `the skill "${frontmatter.name}" has no file ${JSON.stringify(path.slice(0, 256))}; its files are: ${paths.join(', ') || 'none'}`;
}

/**
 * Reads a file of a skill.
 *
 * @throws SkillError if the file is too large
 */
export async function read(file: SkillFile, path: string): Promise<string | Uint8Array> {
  const content = typeof file === 'function' ? await file() : file;
  if (content.length > MAX_FILE_BYTES)
    throw new SkillError(`${path}: has ${content.length} bytes; at most ${MAX_FILE_BYTES} are allowed`);
  return content;
}

/** Returns bytes as text; undefined if they are not UTF-8. */
export function textOf(bytes: Uint8Array): string | undefined {
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

/** Returns the media type of an image or a PDF file by its name; undefined for other files. */
export function mediaType(path: string): string | undefined {
  return getOwn(MEDIA, path.slice(path.lastIndexOf('.') + 1).toLowerCase());
}

/** Truncates a text for the model, and marks the truncation. */
export function cut(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
}
