import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import { diffLines } from './diff-lines.ts';

const folder = import.meta.dirname;
const files = globSync('programs/*.ts', { cwd: folder }).toSorted();

/** The result of a program: its reported events and values, and the requests to its model, as lines of JSON. */
interface Played {
  readonly file: string;
  readonly output: readonly unknown[];
  readonly asked: readonly unknown[];
}

async function play(library: string): Promise<Map<string, Played>> {
  const child = spawn(process.execPath, ['play-programs.ts', library, ...files], { cwd: folder });
  const [printed] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const lines = printed.split('\n').filter((line) => line.startsWith('{"file":'));
  return new Map(lines.map((line) => JSON.parse(line) as Played).map((played) => [played.file, played]));
}

// Two processes, each of which loads a library of hundreds of files.
describe('programs written for @google/adk', () => {
  let theirs = new Map<string, Played>();
  let ours = new Map<string, Played>();

  beforeAll(async () => {
    [theirs, ours] = await Promise.all([play('@google/adk'), play('@eventloom/adk')]);
  });

  test.each(files)('%s completes after only its imports were changed, and runs on @google/adk', (file) => {
    const { output } = ours.get(file) ?? expect.unreachable();
    expect(output.filter((said) => typeof said === 'string' && said.startsWith('thrown: '))).toEqual([]);
    expect(output.length).toBeGreaterThan(0);
    expect(theirs.get(file)?.output.length).toBeGreaterThan(0);
    // An event that the runtime itself refuses is never a difference on purpose.
    expect(JSON.stringify(output)).not.toContain('INVALID_EVENT');
  });

  test('differ from @google/adk only as differences.txt says (after a change on purpose: pnpm docs:update)', async () => {
    const sections = files.map((file) => {
      const [before, after] = [theirs.get(file), ours.get(file)];
      const changes = [
        ...diffLines(linesOf(before?.output), linesOf(after?.output)),
        ...diffLines(linesOf(before?.asked), linesOf(after?.asked)),
      ];
      return `${basename(file, '.ts')}: ${changes.length === 0 ? 'the same' : `\n${changes.join('\n')}`}\n`;
    });
    const intro =
      '# Lines with - are those of @google/adk, lines with + those of Eventloom: events first, then requests to the model, each after its instruction, functions and options if these changed. Texts of the libraries themselves are named in angle brackets.\n\n';
    await expect(intro + sections.join('')).toMatchFileSnapshot(join(folder, 'differences.txt'));
  });
});

function linesOf(values: readonly unknown[] = []): string[] {
  return values.map((value) => JSON.stringify(value));
}
