import { describeKind } from '@eventloom/core/internal';
import { SkillError } from './errors.ts';
import {
  loadAllSkillsFromFiles,
  MAX_FILE_BYTES,
  MAX_FILES,
  MAX_SKILL_BYTES,
  type Skill,
  type SkillFile,
} from './skill.ts';

/** The part of an R2 bucket's interface with which skills are read. */
export interface SkillBucket {
  list(options: { prefix: string; cursor?: string }): Promise<{
    readonly objects: readonly { readonly key: string; readonly size: number }[];
    readonly truncated: boolean;
    readonly cursor?: string;
  }>;
  get(key: string): Promise<{ arrayBuffer(): Promise<ArrayBuffer> } | null>;
}

/** Maximum number of objects under the prefix. */
const MAX_OBJECTS = 20 * MAX_FILES;

/**
 * Loads the skills in a Cloudflare R2 bucket: the prefix is followed by a folder for each skill, with its SKILL.md. The other files are
 * read when they are needed.
 * @throws SkillError for a skill that is invalid or too large
 *
 * @example
 * import { loadAllSkillsInBucket, type SkillBucket, SkillToolset } from '@eventloom/skills';
 *
 * const createToolset = async (env: { SKILLS: SkillBucket }) => new SkillToolset({ skills: await
 * loadAllSkillsInBucket(env.SKILLS, 'skills/') });
 */
export async function loadAllSkillsInBucket(bucket: SkillBucket, prefix = ''): Promise<Skill[]> {
  if (typeof bucket?.list !== 'function')
    throw new SkillError(
      `loadAllSkillsInBucket: expected a bucket, got ${describeKind(bucket)}; write loadAllSkillsInBucket(env.SKILLS)`,
    );
  const files: Record<string, SkillFile> = {};
  let count = 0;
  let cursor: string | undefined;
  do {
    const page = await bucket.list(cursor === undefined ? { prefix } : { prefix, cursor });
    for (const { key, size } of page.objects) {
      if (++count > MAX_OBJECTS)
        throw new SkillError(
          `bucket, ${prefix}: has more than ${MAX_OBJECTS} objects, which is the maximum; write a prefix that has only the skills`,
        );
      const path = key.slice(prefix.length);
      const isSkill = /^[^/]+\/SKILL\.md$/.test(path);
      const max = isSkill ? MAX_SKILL_BYTES : MAX_FILE_BYTES;
      if (size > max) throw new SkillError(`${key}: has ${size} bytes; at most ${max} are allowed`);
      files[path] = isSkill ? new TextDecoder().decode(await read(bucket, key)) : () => read(bucket, key);
    }
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
  return loadAllSkillsFromFiles(files);
}

async function read(bucket: SkillBucket, key: string): Promise<Uint8Array> {
  const object = await bucket.get(key);
  if (!object) throw new SkillError(`${key}: is no longer in the bucket`);
  return new Uint8Array(await object.arrayBuffer());
}
