// Skills in folders of this machine.

export { loadAllSkillsInDir, loadSkillFromDir } from './skills-in-dir.ts';
