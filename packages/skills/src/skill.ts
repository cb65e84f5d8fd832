import type { MaybePromise } from '@eventloom/core';
import { describeKind, isRecord } from '@eventloom/core/internal';
import { parseDocument } from 'yaml';
import { SkillError } from './errors.ts';

/** Maximum size of SKILL.md, in bytes. */
export const MAX_SKILL_BYTES = 262_144;
/** Maximum size of another file, in bytes. */
export const MAX_FILE_BYTES = 5_242_880;
/** Maximum number of files of a skill. */
export const MAX_FILES = 500;
/** Maximum length of the front matter, in characters. */
const MAX_FRONT_MATTER = 16_384;
/** Maximum length of a path, in characters. */
const MAX_PATH = 256;
const MAX_FOLDERS = 8;

/** The front matter of a skill: the data that an agent has before the skill is loaded. */
export interface Frontmatter {
  /** The name of the skill's folder: at most 64 small letters, digits and single hyphens. */
  readonly name: string;
  /** Describes what the skill does and when to use it. At most 1,024 characters. */
  readonly description: string;
  readonly license?: string | undefined;
  /** Requirements of the skill. At most 500 characters. */
  readonly compatibility?: string | undefined;
  /** Names of the tools that the skill expects. Information only: it adds and allows no tools. */
  readonly allowedTools?: string | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

/** The contents of a file of a skill, or a function that reads them when they are needed. */
export type SkillFile = string | Uint8Array | (() => MaybePromise<string | Uint8Array>);

/** The files of a skill in addition to SKILL.md, by their paths in the folder of their kind. */
export interface SkillResources {
  /** Texts for the model: `references/…`. */
  readonly references?: Readonly<Record<string, SkillFile>> | undefined;
  /** Templates, images and data: `assets/…`. */
  readonly assets?: Readonly<Record<string, SkillFile>> | undefined;
  /** Programs that the model may run: `scripts/…`. */
  readonly scripts?: Readonly<Record<string, SkillFile>> | undefined;
}

/** A skill in the format of agentskills.io: instructions that an agent loads when it needs them, and files that they refer to. */
export interface Skill {
  readonly frontmatter: Frontmatter;
  /** The instructions for the model, in Markdown. */
  readonly instructions: string;
  readonly resources?: SkillResources | undefined;
}

/** The kinds of files, which are the names of their folders. */
export const KINDS = ['references', 'assets', 'scripts'] as const;

/**
 * Creates a skill from files in a bundle, by their paths in the skill's folder, such as `SKILL.md` and `references/tables.md`. Files in
 * folders of other kinds are left out.
 * @throws SkillError for a missing or invalid SKILL.md, a path that leaves the folder, a file that is too large, and too many files
 *
 * @example
 * const skill = loadSkillFromFiles({
 *   'SKILL.md': '---\nname: greeting\ndescription: Greets people.\n---\nSay hello in the language of the user.',
 * });
 */
export function loadSkillFromFiles(files: Readonly<Record<string, SkillFile>>, folder = ''): Skill {
  const where = folder === '' ? 'SKILL.md' : `${folder}/SKILL.md`;
  const text = files?.['SKILL.md'];
  if (typeof text !== 'string')
    throw new SkillError(
      `${where}: expected the text of a skill, got ${describeKind(text)}; write loadSkillFromFiles({ 'SKILL.md': text })`,
    );
  const skill = parseSkill(text, where, folder);
  const paths = Object.keys(files);
  if (paths.length > MAX_FILES)
    throw new SkillError(`${where}: the skill has ${paths.length} files; at most ${MAX_FILES} are allowed`);
  const resources = Object.fromEntries(KINDS.map((kind) => [kind, filesOf(kind, files)]));
  return { ...skill, resources };
}

/** Creates skills from files by their paths, such as `greeting/SKILL.md`: each folder with a SKILL.md is a skill. @throws SkillError */
export function loadAllSkillsFromFiles(files: Readonly<Record<string, SkillFile>>): Skill[] {
  if (!isRecord(files))
    throw new SkillError(
      `loadAllSkillsFromFiles: expected files by path, got ${describeKind(files)}; write loadAllSkillsFromFiles({ 'weather/SKILL.md': text })`,
    );
  const folders = new Map<string, Record<string, SkillFile>>();
  for (const [path, file] of Object.entries(files)) {
    const slash = path.indexOf('/');
    if (slash <= 0) continue;
    const folder = path.slice(0, slash);
    const own = folders.get(folder) ?? {};
    own[path.slice(slash + 1)] = file;
    folders.set(folder, own);
  }
  return [...folders].flatMap(([folder, own]) => ('SKILL.md' in own ? [loadSkillFromFiles(own, folder)] : []));
}

function filesOf(kind: string, files: Readonly<Record<string, SkillFile>>): Readonly<Record<string, SkillFile>> {
  const found: Record<string, SkillFile> = {};
  for (const [path, file] of Object.entries(files)) {
    checkPath(path);
    if (!path.startsWith(`${kind}/`)) continue;
    const length = typeof file === 'function' ? 0 : file.length;
    if (length > MAX_FILE_BYTES)
      throw new SkillError(`${path}: has ${length} bytes; at most ${MAX_FILE_BYTES} are allowed`);
    found[path.slice(kind.length + 1)] = file;
  }
  return found;
}

/** Returns the path if it stays in its folder. @throws SkillError */
function checkPath(path: string): string {
  const segments = path.length <= MAX_PATH ? path.split('/') : [];
  const isInside = segments.every((segment) => segment !== '' && segment !== '.' && segment !== '..');
  if (!isInside || segments.length === 0 || segments.length > MAX_FOLDERS || /[\\\0:]/.test(path))
    throw new SkillError(
      `${JSON.stringify(path.slice(0, MAX_PATH))}: expected a path in the skill's folder, such as references/tables.md`,
    );
  return path;
}

/**
 * Reads a SKILL.md.
 * @param folder name of the skill's folder, which must be the skill's name; empty if it has none
 * @throws SkillError that says what is wrong
 */
function parseSkill(text: string, where = 'SKILL.md', folder = ''): Skill {
  if (text.length > MAX_SKILL_BYTES)
    throw new SkillError(
      `${where}: has ${text.length} characters; at most ${MAX_SKILL_BYTES} are allowed; move parts of it to files in references/`,
    );
  const body = text.startsWith('\uFEFF') ? text.slice(1) : text;
  const opening = /^---[ \t]*\r?\n/.exec(body)?.[0];
  if (opening === undefined)
    throw new SkillError(
      `${where}: the front matter is missing; begin the file with a line of ---, name: …, description: … and a second line of ---`,
    );
  const closing = findClosing(body, opening.length);
  if (!closing)
    throw new SkillError(
      `${where}: the front matter has no line of --- at its end; write the line after its last field`,
    );
  const frontmatter = toFrontmatter(parseYaml(body.slice(opening.length, closing.start), where), where);
  if (folder !== '' && folder !== frontmatter.name)
    throw new SkillError(
      `${where}: name: expected the name of the folder, ${JSON.stringify(folder)}, got ${JSON.stringify(frontmatter.name)}; rename one of them`,
    );
  return { frontmatter, instructions: body.slice(closing.end).trim() };
}

/** Finds the line that ends the front matter. */
function findClosing(body: string, from: number): { readonly start: number; readonly end: number } | undefined {
  const limit = Math.min(body.length, from + MAX_FRONT_MATTER);
  for (let start = from; start < limit;) {
    const newline = body.indexOf('\n', start);
    const end = newline === -1 ? body.length : newline + 1;
    if (body.slice(start, end).trimEnd() === '---') return { start, end };
    start = end;
  }
  return undefined;
}

function parseYaml(text: string, where: string): Readonly<Record<string, unknown>> {
  const document = parseDocument(text, { logLevel: 'silent' });
  const [fault] = document.errors;
  if (fault)
    throw new SkillError(
      `${where}: the front matter is not YAML: ${(fault.message.split('\n')[0] ?? '').slice(0, 200)}`,
    );
  try {
    const value: unknown = document.toJS({ maxAliasCount: 0 });
    if (isRecord(value)) return value;
  } catch (cause) {
    throw new SkillError(`${where}: the front matter has aliases; write each value where it is needed`, { cause });
  }
  throw new SkillError(`${where}: the front matter has no fields; write name: greeting and description: …`);
}

const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/**
 * Returns the front matter of a skill.
 *
 * @throws SkillError for a missing or invalid field
 */
export function toFrontmatter(given: Readonly<Record<string, unknown>>, where: string): Frontmatter {
  const { name, description, metadata } = given;
  if (typeof name !== 'string' || name.length > 64 || !NAME.test(name))
    throw new SkillError(
      `${where}: name: expected at most 64 small letters, digits and single hyphens, got ${typeof name === 'string' ? JSON.stringify(name.slice(0, 80)) : describeKind(name)}; write name: greeting`,
    );
  if (typeof description !== 'string' || description.trim() === '' || description.length > 1024)
    throw new SkillError(
      `${where}: description: expected a text of 1 to 1024 characters, got ${lengthOf(description)}; write description: … with what the skill is for`,
    );
  if (metadata !== undefined && !isRecord(metadata))
    throw new SkillError(
      `${where}: metadata: expected names with values, got ${describeKind(metadata)}; write metadata: { author: me }`,
    );
  return {
    name,
    description,
    ...optional('license', given['license'], 1024, where),
    ...optional('compatibility', given['compatibility'], 500, where),
    ...optional('allowedTools', given['allowed-tools'] ?? given['allowedTools'], 4096, where),
    ...(metadata && { metadata }),
  };
}

function optional(key: string, value: unknown, maxLength: number, where: string): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'string' || value.length > maxLength)
    throw new SkillError(
      `${where}: ${key}: expected a text of at most ${maxLength} characters, got ${lengthOf(value)}`,
    );
  return { [key]: value };
}

function lengthOf(value: unknown): string {
  return typeof value === 'string' ? `one of ${value.length}` : describeKind(value);
}
