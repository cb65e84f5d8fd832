import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { artifactServiceConformance } from '../conformance/index.ts';
import { FileArtifactService } from './file-artifact-service.ts';

describe('FileArtifactService keeps the contract', () => {
  const cases = artifactServiceConformance(async ({ platform }) => {
    const folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
    const service = new FileArtifactService({ rootDir: join(folder, 'artifacts'), platform });
    return { service, close: () => rmSync(folder, { recursive: true, force: true }) };
  });
  for (const { id, title, run } of cases) test(`${id}: ${title}`, run);
});
