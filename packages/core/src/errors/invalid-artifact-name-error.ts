import { EventloomError } from './eventloom-error.ts';

/** An artifact's name is empty, absolute, climbs out of its folder or holds a NUL character. */
export class InvalidArtifactNameError extends EventloomError {
  static override readonly code = 'INVALID_ARTIFACT_NAME';
}
