import { lstat, readdir, readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { toError } from '@eventloom/core';
import { describeKind } from '@eventloom/core/internal';
import { SkillError } from '../errors.ts';
import {
  KINDS,
  loadSkillFromFiles,
  MAX_FILE_BYTES,
  MAX_FILES,
  MAX_SKILL_BYTES,
  type Skill,
  type SkillFile,
} from '../skill.ts';

/**
 * Loads the skill in a folder: its SKILL.md or skill.md now, and the files in `references`, `assets` and `scripts` when they are needed.
 * @throws SkillError for a missing or invalid SKILL.md, a symbolic link, a file that is too large, and too many files
 *
 * @example
 * import { loadSkillFromDir } from '@eventloom/skills/node';
 *
 * const skill = await loadSkillFromDir('skills/weather');
 */
export async function loadSkillFromDir(dir: string): Promise<Skill> {
  checkDir('loadSkillFromDir', dir);
  const folder = resolve(dir);
  const text = await readRegular(join(folder, (await findSkillFile(folder)) ?? 'SKILL.md'), MAX_SKILL_BYTES);
  const files: Record<string, SkillFile> = { 'SKILL.md': new TextDecoder().decode(text) };
  for (const kind of KINDS) await addFiles(files, folder, kind);
  return loadSkillFromFiles(files, basename(folder));
}

/**
 * Loads the skills in the subfolders that have a SKILL.md or skill.md, in the order of their names.
 * @throws SkillError for the first invalid skill
 */
export async function loadAllSkillsInDir(dir: string): Promise<Skill[]> {
  checkDir('loadAllSkillsInDir', dir);
  const folder = resolve(dir);
  const skills: Skill[] = [];
  for (const entry of await entriesOf(folder))
    if (entry.isDirectory() && (await findSkillFile(join(folder, entry.name))))
      skills.push(await loadSkillFromDir(join(folder, entry.name)));
  return skills;
}

function checkDir(caller: string, dir: unknown): void {
  if (typeof dir !== 'string')
    throw new SkillError(
      `${caller}: expected the path of a folder, got ${describeKind(dir)}; write ${caller}('skills')`,
    );
}

/** Returns the name of the file with a skill in a folder: SKILL.md, or skill.md without one; undefined if there is neither. */
async function findSkillFile(folder: string): Promise<string | undefined> {
  const names = (await entriesOf(folder)).map(({ name }) => name);
  return ['SKILL.md', 'skill.md'].find((name) => names.includes(name));
}

async function entriesOf(folder: string) {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  } catch (cause) {
    throw new SkillError(
      `${folder}: cannot be read as a folder (${toError(cause).message.slice(0, 200)}); write the path of a folder`,
      { cause },
    );
  }
}

async function addFiles(files: Record<string, SkillFile>, folder: string, path: string): Promise<void> {
  const isThere = path.includes('/') || (await entriesOf(folder)).some(({ name }) => name === path);
  if (!isThere) return;
  for (const entry of await entriesOf(join(folder, path))) {
    const inner = `${path}/${entry.name}`;
    if (Object.keys(files).length > MAX_FILES)
      throw new SkillError(`${folder}: has more than ${MAX_FILES} files, which is the maximum of a skill`);
    if (entry.isDirectory()) await addFiles(files, folder, inner);
    else if (entry.isFile()) files[inner] = () => readRegular(join(folder, inner), MAX_FILE_BYTES);
    else
      throw new SkillError(
        `${join(folder, inner)}: expected a file, got a link or a device; replace it by a copy of the file`,
      );
  }
}

async function readRegular(path: string, maxBytes: number): Promise<Uint8Array> {
  let size: number;
  try {
    const stats = await lstat(path);
    if (!stats.isFile())
      throw new SkillError(
        `${path}: expected a file, got ${stats.isDirectory() ? 'a folder' : 'a link or a device; replace it by a copy of the file'}`,
      );
    size = stats.size;
  } catch (cause) {
    throw SkillError.isInstance(cause)
      ? cause
      : new SkillError(`${path}: cannot be read (${toError(cause).message.slice(0, 200)})`, { cause });
  }
  if (size > maxBytes) throw new SkillError(`${path}: has ${size} bytes; at most ${maxBytes} are allowed`);
  return readFile(path);
}
