/** One line of the report: the measured figure, its value, and its target. */
export interface Row {
  readonly workload: string;
  readonly figure: string;
  readonly ours: number;
  /** The reference: the floor (the same work by hand, in the same run), or the figure of the target. */
  readonly floor?: number;
  readonly unit: string;
  readonly target?: string;
  /** True if the target is met. */
  readonly ok?: boolean;
}

/** Returns a row whose target is a ratio to the floor. */
export function ratioRow(
  workload: string,
  figure: string,
  unit: string,
  ours: number,
  floor: number,
  maxRatio: number,
): Row {
  return { workload, figure, unit, ours, floor, target: `≤ ${maxRatio}×`, ok: ours / floor <= maxRatio };
}

/** Returns a row with a value that should be high, whose target is a ratio to the baseline. */
export function rateRow(
  workload: string,
  figure: string,
  unit: string,
  ours: number,
  floor: number,
  minRatio: number,
): Row {
  return { workload, figure, unit, ours, floor, target: `≥ ${minRatio}×`, ok: ours / floor >= minRatio };
}

/** Returns a row with a value that grows, whose target is a ratio to its value at a small size. */
export function limitedGrowth(
  workload: string,
  figure: string,
  unit: string,
  ours: number,
  small: number,
  maxRatio: number,
): Row {
  return { ...ratioRow(workload, figure, unit, ours, small, maxRatio), target: `≤ ${maxRatio}× at 10` };
}

/** Returns a row whose target is a number. */
export function limitRow(workload: string, figure: string, unit: string, ours: number, limit: number): Row {
  return { workload, figure, unit, ours, target: `≤ ${limit} ${unit}`.trimEnd(), ok: ours <= limit };
}

/** Formats the rows as a table for the terminal. */
export function formatRows(rows: readonly Row[]): string {
  const cells = rows.map((row) => [
    row.workload,
    row.figure,
    `${number(row.ours)} ${row.unit}`.trimEnd(),
    row.floor === undefined ? '' : `${number(row.floor)} ${row.unit}`.trimEnd(),
    row.floor === undefined ? '' : `${number(row.ours / row.floor)}×`,
    row.target ?? '',
    row.ok === undefined ? '' : row.ok ? 'yes' : 'NO',
  ]);
  const table = [['', 'figure', 'ours', 'against', 'ratio', 'target', 'met'], ...cells];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((line) => line[column]?.length ?? 0))) ?? [];
  return table
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function number(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 2 : value < 100 ? 1 : 0 });
}
