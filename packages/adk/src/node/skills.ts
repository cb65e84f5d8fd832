import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { toError } from '@eventloom/core';
import { SkillError } from '@eventloom/skills';

/** Folders that have no skills: hidden ones, and those of package managers. */
const IGNORED = /^\.|^(node_modules|__pycache__|venv)$/;

/**
 * Returns the folders below a folder that have a SKILL.md or skill.md, in the order of their names.
 * @throws SkillError for a path that is not a folder
 */
export async function findSkillDirs(base: string): Promise<string[]> {
  try {
    return await findBelow(base);
  } catch (cause) {
    throw new SkillError(
      `${base}: cannot be read as a folder (${toError(cause).message.slice(0, 200)}); write the path of a folder`,
      { cause },
    );
  }
}

async function findBelow(folder: string): Promise<string[]> {
  const found: string[] = [];
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    if (!entry.isDirectory() || IGNORED.test(entry.name)) continue;
    const inner = join(folder, entry.name);
    const isSkill = (await readdir(inner)).some((name) => name === 'SKILL.md' || name === 'skill.md');
    found.push(...(isSkill ? [inner] : await findBelow(inner)));
  }
  return found;
}
