import { expect, test } from 'vitest';
import { appendToFile } from '#append-file';

test('the constructor on Workers, which have no files, throws and says what to write', async () => {
  await expect(appendToFile('adk_debug.yaml', '')).rejects.toMatchObject({
    code: 'CONFIGURATION',
    message:
      'DebugLoggingPlugin: cannot write adk_debug.yaml, because this runtime has no files; write new DebugLoggingPlugin({ write: (document) => … })',
  });
});
