import type { Runner } from '@eventloom/runner';
import type { OnUnfinishedRuns } from '@eventloom/server';

/** What becomes of one run that was left, and of several. */
const BECOMES = { resume: ['goes on', 'go on'], close: ['is closed', 'are closed'] } as const;

/**
 * What is printed, a line each, of the runs that are not over when the program starts: of those that a server left, and of those whose sessions
 * are held, by a server that lives or until the lease of one that died runs out. To be asked before they are taken up.
 */
export async function leftRuns(runners: readonly Runner[], action: OnUnfinishedRuns): Promise<string[]> {
  if (action === 'leave') return [];
  const [one, several] = BECOMES[action];
  const becomes = (count: number): string => (count === 1 ? one : several);
  const lines: string[] = [];
  for (const runner of runners) {
    const { runs, nextCursor } = await runner.listOpenRuns({});
    const now = runner.platform.now();
    const heldMs = runs.map(({ heldUntilMs }) => heldUntilMs - now).filter((ms) => ms > 0);
    const left = runs.length - heldMs.length;
    const more = nextCursor === undefined ? '' : ' or more';
    if (left > 0) lines.push(`${runner.appName}: ${left}${more} ${runsOf(left)} that a server left ${becomes(left)}`);
    if (heldMs.length > 0) {
      const seconds = Math.ceil(Math.max(...heldMs) / 1000);
      lines.push(
        `${runner.appName}: ${heldMs.length} ${runsOf(heldMs.length)} held for ${seconds} s more ${becomes(heldMs.length)} then, if the server is gone`,
      );
    }
  }
  return lines;
}

function runsOf(count: number): string {
  return count === 1 ? 'run' : 'runs';
}
