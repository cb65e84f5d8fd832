/** Returns the lines that two lists do not share, in order: `- ` for those of the first, `+ ` for those of the second. */
export function diffLines(before: readonly string[], after: readonly string[]): string[] {
  // Length of the longest common part that begins at each pair of positions.
  const common = Array.from({ length: before.length + 1 }, () => Array.from({ length: after.length + 1 }, () => 0));
  const at = (i: number, j: number): number => common[i]?.[j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--) {
      const row = common[i];
      if (row) row[j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  const changes: string[] = [];
  for (let i = 0, j = 0; i < before.length || j < after.length;) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      i++;
      j++;
    } else if (i < before.length && (j === after.length || at(i + 1, j) >= at(i, j + 1)))
      changes.push(`- ${before[i++]}`);
    else changes.push(`+ ${after[j++]}`);
  }
  return changes;
}
