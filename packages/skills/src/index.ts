// Skills in the format of agentskills.io.

export type { SkillToolsetOptions } from './skill-toolset.ts';
export { SkillToolset } from './skill-toolset.ts';
export type { SkillRegistry } from './skill-shelf.ts';

// Skills and their files
export type { Frontmatter, Skill, SkillFile, SkillResources } from './skill.ts';
export { loadAllSkillsFromFiles, loadSkillFromFiles } from './skill.ts';
export type { SkillBucket } from './skills-in-bucket.ts';
export { loadAllSkillsInBucket } from './skills-in-bucket.ts';

// Errors
export { SkillError } from './errors.ts';
