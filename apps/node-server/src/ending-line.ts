/** What is printed when the program is to end while runs are in flight: what it waits for, and how not to wait. */
export function endingLine(running: number, drainMs: number, signal: NodeJS.Signals): string {
  const again = signal === 'SIGINT' ? 'Ctrl-C again' : 'another signal';
  return `finishing ${running === 1 ? '1 run' : `${running} runs`}, for ${drainMs / 1000} s at most; ${again} ends at once`;
}
