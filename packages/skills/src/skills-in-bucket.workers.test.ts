import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { loadAllSkillsInBucket } from './skills-in-bucket.ts';

const text = (name: string) => `---\nname: ${name}\ndescription: Does ${name}.\n---\nDo it.\n`;

test('skills are read from an R2 bucket, and their files on demand', async () => {
  const bucket = env.ARTIFACTS;
  const prefix = `${crypto.randomUUID()}/`;
  for (const name of ['b', 'a']) {
    await bucket.put(`${prefix}${name}/SKILL.md`, text(name));
    await bucket.put(`${prefix}${name}/references/deep/x.md`, `of ${name}`);
  }
  await bucket.put(`${prefix}other/README.md`, 'no skill');
  const skills = await loadAllSkillsInBucket(bucket, prefix);
  expect(skills.map(({ frontmatter }) => frontmatter.name)).toEqual(['a', 'b']);
  const file = skills[1]?.resources?.references?.['deep/x.md'];
  if (typeof file !== 'function') return expect.unreachable();
  expect(new TextDecoder().decode((await file()) as Uint8Array)).toBe('of b');
  await bucket.delete(`${prefix}b/references/deep/x.md`);
  await expect(file()).rejects.toMatchObject({
    code: 'SKILL_INVALID',
    message: expect.stringContaining('is no longer'),
  });
});
