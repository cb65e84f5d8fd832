// Runs programs with @google/adk, or with our package instead: node play-programs.ts <package> <file>… Prints one line
// of JSON for each program.

import { registerHooks } from 'node:module';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { FakeGeminiServer } from '@eventloom/testing/fake-gemini';
import { EventNormalizer } from './normalize-event.ts';
import type { Program } from './stage.ts';

const [library = '@google/adk', ...files] = process.argv.slice(2);

registerHooks({
  resolve: (specifier, context, next) => next(specifier === '@google/adk' ? library : specifier, context),
});
process.env['GEMINI_API_KEY'] = 'test';
// Output of programs and libraries must not mix with the result.
console.log = console.info = console.warn = console.debug = console.error;

for (const file of files) {
  const { default: program } = (await import(pathToFileURL(file).href)) as { readonly default: Program };
  await using server = await FakeGeminiServer.start(program.replies);
  process.env['GOOGLE_GEMINI_BASE_URL'] = server.url;
  const normalizer = new EventNormalizer();
  const output: unknown[] = [];
  try {
    await program.main((said) => void output.push(normalizer.normalize(said)));
  } catch (error) {
    output.push(normalizer.normalize(`thrown: ${error instanceof Error ? error.message : String(error)}`));
  }
  const asked = server.requests.flatMap(({ body }) => normalizer.normalizeRequest(body));
  process.stdout.write(`${JSON.stringify({ file, output, asked })}\n`);
}
