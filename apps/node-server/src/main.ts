import './quiet-warnings.ts';
import { runCommand } from './run-command.ts';
import { processTerminal } from './terminal.ts';

// A promise that an agent's code forgot, or a timer of its that throws, must not end the runs of everybody else. What they left
// half done is theirs alone: whatever the server itself does is awaited, and fails where it is done.
process.on('unhandledRejection', (reason) => console.error('a promise was rejected and nobody waits for it:', reason));
process.on('uncaughtException', (error) => console.error('an error was thrown and nobody caught it:', error));

const { argv, env } = process;
try {
  const input = { args: argv.slice(2), environment: env, workingFolder: process.cwd() };
  process.exit(await runCommand(input, processTerminal(env)));
} catch (error) {
  // What fails here is the program itself, and there is nothing to go on with.
  console.error(error);
  process.exit(1);
}
