import { EventloomError } from '@eventloom/core';

/** The session has no such artifact, or not in this version. */
export class ArtifactNotFoundError extends EventloomError {
  static override readonly code = 'ARTIFACT_NOT_FOUND';
}
