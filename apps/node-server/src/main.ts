import './quiet-warnings.ts';
import { runCommand } from './run-command.ts';
import { processTerminal } from './terminal.ts';

const { argv, env } = process;
try {
  const input = { args: argv.slice(2), environment: env, workingFolder: process.cwd() };
  process.exit(await runCommand(input, processTerminal(env)));
} catch (error) {
  // What fails here is the program itself, and there is nothing to go on with.
  console.error(error);
  process.exit(1);
}
