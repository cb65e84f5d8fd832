import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** What an agent's author is told who expects a compiler; empty for an error that has nothing to do with it. */
export function typescriptHint(error: Error): string {
  const { code, url } = error as { code?: unknown; url?: unknown };
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') {
    return '; agents run as they are, without a compiler: write erasable syntax only, no enums, namespaces or parameter properties';
  }
  if (code !== 'ERR_MODULE_NOT_FOUND' || typeof url !== 'string' || !url.startsWith('file:')) return '';
  const file = fileURLToPath(url);
  const source = [`${file}.ts`, file.replace(/\.([cm]?)js$/, '.$1ts')].find(
    (path) => path !== file && existsSync(path),
  );
  return source === undefined ? '' : `; agents run without a compiler: import the file under its own name, ${source}`;
}
