import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadAllSkillsInDir, loadSkillFromDir } from './skills-in-dir.ts';

const text = (name: string) => `---\nname: ${name}\ndescription: Does ${name}.\n---\nDo it.\n`;

async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'skills-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
  return folder;
}

test('folders with a SKILL.md or skill.md are skills, in the order of their names', async () => {
  const folder = await folderWith({
    'b/SKILL.md': text('b'),
    'a/SKILL.md': text('a'),
    'a/references/deep/x.md': 'X',
    'c/skill.md': text('c'),
    'other/README.md': '',
  });
  const skills = await loadAllSkillsInDir(folder);
  expect(skills.map(({ frontmatter }) => frontmatter.name)).toEqual(['a', 'b', 'c']);
  expect(Object.keys(skills[0]?.resources?.references ?? {})).toEqual(['deep/x.md']);
});

test('files are read on demand, and refused if they have become too large or a link', async () => {
  const folder = await folderWith({ 'a/SKILL.md': text('a'), 'a/assets/x.txt': 'X', 'secret.txt': 'secret' });
  const skill = await loadSkillFromDir(join(folder, 'a'));
  const file = skill.resources?.assets?.['x.txt'];
  if (typeof file !== 'function') return expect.unreachable();
  expect(new TextDecoder().decode((await file()) as Uint8Array)).toBe('X');
  await writeFile(join(folder, 'a/assets/x.txt'), 'x'.repeat(5_242_881));
  await expect(file()).rejects.toThrow('at most 5242880');
  await rm(join(folder, 'a/assets/x.txt'));
  await symlink(join(folder, 'secret.txt'), join(folder, 'a/assets/x.txt'));
  await expect(file()).rejects.toThrow('expected a file, got a link or a device');
});

test('a symbolic link, a SKILL.md that is a link, and a missing folder are refused', async () => {
  const folder = await folderWith({ 'a/SKILL.md': text('a'), 'a/scripts/x.js': '', 'b/x': '', 'secret.txt': 'secret' });
  await symlink(join(folder, 'secret.txt'), join(folder, 'a/scripts/y.js'));
  await symlink(join(folder, 'a/SKILL.md'), join(folder, 'b/SKILL.md'));
  for (const name of ['a', 'b', 'c'])
    await expect(loadSkillFromDir(join(folder, name))).rejects.toMatchObject({ code: 'SKILL_INVALID' });
  await expect(loadAllSkillsInDir(join(folder, 'nowhere'))).rejects.toThrow('cannot be read as a folder');
});

test.each([undefined, 5, { dir: 'skills' }])('a folder that is %j is refused with what to write', async (dir) => {
  const load = loadSkillFromDir(dir as never);
  await expect(load).rejects.toMatchObject({ code: 'SKILL_INVALID' });
  await expect(load).rejects.toThrow(
    /^loadSkillFromDir: expected the path of a folder, got .*; write loadSkillFromDir\('skills'\)$/,
  );
  await expect(loadAllSkillsInDir(dir as never)).rejects.toThrow("write loadAllSkillsInDir('skills')");
});
