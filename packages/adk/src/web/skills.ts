import { ConfigurationError } from '@eventloom/core';
import type { Skill } from '@eventloom/skills';

/** Throws: outside Node there are no folders. @throws ConfigurationError */
export async function loadSkillFromDir(_dir: string): Promise<Skill> {
  throw new ConfigurationError('loadSkillFromDir needs Node; on Workers write loadSkillFromFiles of @eventloom/skills');
}

/** Throws: outside Node there are no folders. @throws ConfigurationError */
export async function findSkillDirs(_base: string): Promise<string[]> {
  throw new ConfigurationError(
    'loadAllSkillsInDir needs Node; on Workers write loadAllSkillsFromFiles or loadAllSkillsInBucket of @eventloom/skills',
  );
}
