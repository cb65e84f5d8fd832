import { describe, expect, test } from 'vitest';
import { InvalidArtifactNameError } from '../errors.ts';
import { artifactUri, checkArtifactName, isUserArtifact } from './artifact-name.ts';

const key = { appName: 'app', userId: 'u', sessionId: 's' };

describe('checkArtifactName', () => {
  test.each([
    'a',
    'report.pdf',
    'folder/sub/report.pdf',
    'user:report.pdf',
    'user:folder/report.pdf',
    '...',
    '.hidden',
    'a..b',
    'with space',
    'a:b',
    'отчёт.txt',
    '💡',
    'x'.repeat(512),
  ])('takes %s', (name) => {
    expect(() => checkArtifactName(name)).not.toThrow();
  });

  test.each([
    ['', 'is empty'],
    ['user:', 'is empty'],
    ['/a', 'is absolute'],
    ['user:/a', 'is absolute'],
    ['a//b', 'has an empty segment'],
    ['a/', 'has an empty segment'],
    ['..', 'has the segment ..'],
    ['a/../b', 'has the segment ..'],
    ['user:../b', 'has the segment ..'],
    ['./a', 'has the segment .'],
    ['a\\..\\b', 'holds a backslash'],
    ['a\0', 'holds a NUL character'],
    ['\ud83d', 'is not well-formed Unicode'],
    ['x'.repeat(513), 'is longer than 512 bytes'],
    ['é'.repeat(257), 'is longer than 512 bytes'],
  ])('refuses %j: %s', (name, fault) => {
    const check = (): void => checkArtifactName(name);
    expect(check).toThrow(InvalidArtifactNameError);
    expect(check).toThrow(fault);
  });
});

test('a name with the prefix user: belongs to the user', () => {
  expect(isUserArtifact('user:a')).toBe(true);
  expect(isUserArtifact('users:a')).toBe(false);
  expect(isUserArtifact('a/user:b')).toBe(false);
});

describe('artifactUri', () => {
  test("names a session's artifact, and a user's without the session", () => {
    expect(artifactUri({ ...key, filename: 'a.txt' }, 3)).toBe(
      'artifact://apps/app/users/u/sessions/s/artifacts/a.txt/versions/3',
    );
    expect(artifactUri({ ...key, filename: 'user:a.txt' }, 0)).toBe(
      'artifact://apps/app/users/u/artifacts/a.txt/versions/0',
    );
  });

  test('is unambiguous for names with any characters', () => {
    const odd = { appName: 'a/p?', userId: 'ü #', sessionId: '..%2F', filename: 'x/y z' };
    const uri = artifactUri(odd, 1);
    expect(uri).toBe('artifact://apps/a%2Fp%3F/users/%C3%BC%20%23/sessions/..%252F/artifacts/x%2Fy%20z/versions/1');
    expect(uri.split('/').slice(3, 10).map(decodeURIComponent)).toEqual([
      odd.appName,
      'users',
      odd.userId,
      'sessions',
      odd.sessionId,
      'artifacts',
      odd.filename,
    ]);
  });
});
