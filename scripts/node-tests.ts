/**
 * The tests of the project `node`, in two groups that run concurrently: those that start processes, servers and
 * browsers, and the others. Each pattern begins with a folder of the repository.
 */
export const processTests = ['tests/**/*.test.ts', 'apps/**/*.test.ts'];
export const unitTests = [
  'packages/*/src/**/*.test.ts',
  'examples/**/*.test.ts',
  'bench/src/**/*.test.ts', // counts of what a turn costs
];
