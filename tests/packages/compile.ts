/**
 * Compiles programs one after the other with a version of TypeScript in JavaScript, which costs less than a process for
 * each: the compiler is warm, and a file that two programs read in the same format is parsed once. Arguments: the path
 * of the compiler, and those of the configurations, which have the same `target`. Prints the errors of each, and their
 * number.
 */
import { createRequire } from 'node:module';
import type typescript from 'typescript-5.6';

const [, , compiler = '', ...configurations] = process.argv;
const ts = createRequire(import.meta.url)(compiler) as typeof typescript;
const parsed = new Map<string, typescript.SourceFile | undefined>();

for (const path of configurations) {
  const { options, fileNames } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(path, (name) => ts.sys.readFile(name)).config,
    ts.sys,
    '.',
  );
  const disk = ts.createCompilerHost(options);
  const host: typescript.CompilerHost = {
    ...disk,
    getSourceFile(name, format, ...rest) {
      const key = `${typeof format === 'object' ? format.impliedNodeFormat : undefined} ${name}`;
      if (!parsed.has(key)) parsed.set(key, disk.getSourceFile(name, format, ...rest));
      return parsed.get(key);
    },
  };
  const errors = ts.getPreEmitDiagnostics(ts.createProgram(fileNames, options, host));
  process.stdout.write(`${ts.formatDiagnostics(errors, host)}${path}: ${errors.length} errors\n`);
}
