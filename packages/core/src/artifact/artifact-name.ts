import { describeKind } from '../content/json.ts';
import { InvalidArtifactNameError } from '../errors.ts';
import { nameFault } from '../session/check-name.ts';
import { USER_PREFIX } from '../state/state-scope.ts';
import type { ArtifactKey } from './artifact-service.ts';

const MAX_NAME_BYTES = 512;

/**
 * Checks an artifact's name: segments joined by `/`, none of them empty, `.` or `..`; no backslash, no NUL; well-formed Unicode of at
 * most 512 bytes.
 * The prefix `user:` is not part of the path.
 * @throws InvalidArtifactNameError
 */
export function checkArtifactName(filename: string): void {
  const fault = findFault(filename);
  if (fault !== undefined) throw new InvalidArtifactNameError(`artifact name ${JSON.stringify(filename)}: ${fault}`);
}

function findFault(filename: string): string | undefined {
  if (typeof filename !== 'string')
    return `expected a string, got ${describeKind(filename)}; write filename: 'report.pdf'`;
  const path = isUserArtifact(filename) ? filename.slice(USER_PREFIX.length) : filename;
  const fault = nameFault(path, MAX_NAME_BYTES);
  if (fault !== undefined) return fault;
  if (path.includes('\\')) return 'holds a backslash; join segments with /';
  if (path.startsWith('/')) return 'is absolute; write it without the first /';
  for (const segment of path.split('/')) {
    if (segment === '') return 'has an empty segment; remove it';
    if (segment === '.' || segment === '..')
      return `has the segment ${segment}, which would leave its folder; remove it`;
  }
  return nameFault(filename, MAX_NAME_BYTES);
}

/** True for a name that belongs to the user and not to one session. */
export function isUserArtifact(filename: string): boolean {
  return filename.startsWith(USER_PREFIX);
}

/** Returns the URI of one version. Names are percent-encoded, so that the URI is unambiguous. */
export function artifactUri(key: ArtifactKey, version: number): string {
  const user = isUserArtifact(key.filename);
  const name = user ? key.filename.slice(USER_PREFIX.length) : key.filename;
  const session = user ? '' : `/sessions/${encodeURIComponent(key.sessionId)}`;
  return `artifact://apps/${encodeURIComponent(key.appName)}/users/${encodeURIComponent(key.userId)}${session}/artifacts/${encodeURIComponent(name)}/versions/${version}`;
}
