/** What plays an example in a terminal. The name comes behind it. */
export const COMMAND = 'npx -y pnpm@12.21.0 example';
