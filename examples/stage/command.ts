/** The command that plays an example in a terminal; the name of the example follows it. */
export const COMMAND = 'npx -y pnpm@12.21.0 example';
