import { EventloomError } from '@eventloom/core';

/** A skill cannot be used: its SKILL.md is missing or wrong, or a file is too large or in a place where it may not be. Not retryable. */
export class SkillError extends EventloomError {
  static override readonly code = 'SKILL_INVALID';
}
