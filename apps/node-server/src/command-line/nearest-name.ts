/** The name that differs least from what was typed, when it is close enough to be meant. */
export function nearestName(typed: string, names: readonly string[]): string | undefined {
  const [nearest] = names
    .map((name) => ({ name, distance: editDistance(typed, name) }))
    .toSorted((one, other) => one.distance - other.distance);
  return nearest && nearest.distance <= Math.max(2, Math.floor(typed.length / 3)) ? nearest.name : undefined;
}

/** Characters to insert, remove or replace to get from one text to the other. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, char] of Array.from(from).entries()) {
    const next = [index + 1];
    for (const [column, other] of Array.from(to).entries()) {
      const replaced = (row[column] ?? 0) + (char === other ? 0 : 1);
      next.push(Math.min(replaced, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
