import { EventloomError } from '@eventloom/core';

/** A skill cannot be used: its SKILL.md is missing or invalid, or a file is too large or outside of the skill's folder. Not retryable. */
export class SkillError extends EventloomError {
  static override readonly code = 'SKILL_INVALID';
}
