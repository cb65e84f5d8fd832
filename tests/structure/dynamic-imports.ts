import { Visitor } from 'oxc-parser';
import { parseModule } from './module-syntax.ts';
import { isTestFile, type SourceFile } from './repository.ts';

/** Returns every `import()` in these files, without tests: its position and its specifier. */
export function dynamicImports(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path, text }) => !isTestFile(path) && /\bimport\b(?!\s*(?:[{*'"]|type\b))/.test(text))
    .flatMap((file) => {
      const found: string[] = [];
      new Visitor({
        ImportExpression({ source }) {
          const specifier = source.type === 'Literal' ? String(source.value) : 'an expression';
          found.push(`${file.path} loads ${specifier}`);
        },
      }).visit(parseModule(file).program);
      return found;
    });
}
