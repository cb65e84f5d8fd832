export { loadAllSkillsInDir, loadSkillFromDir } from '@eventloom/skills/node';
