/** Builds the page of Studio unless its newest build is newer than its sources. */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const page = join(root, 'packages/studio/dist/page');
const sources = globSync(
  [
    'apps/studio-page/{index.html,package.json,vite.config.ts}',
    'apps/studio-page/{src,public}/**/*.*',
    'packages/{client,core}/src/**/*.ts',
  ],
  { cwd: root },
);
const newest = Math.max(...sources.map((path) => statSync(join(root, path)).mtimeMs));

function isBuilt(): boolean {
  const index = join(page, 'index.html');
  return existsSync(index) && statSync(index).mtimeMs >= newest;
}

if (!isBuilt()) {
  // Tests in several processes run this at the same time: each builds in a folder of its own, and the first one to
  // finish installs its build. The folder is outside of the package, which may be packed meanwhile.
  const own = join(root, 'node_modules/.cache', `studio-page-${process.pid}`);
  const vite = join(root, 'apps/studio-page/node_modules/.bin/vite');
  execFileSync(vite, ['build', '--logLevel', 'error', '--outDir', own, '--emptyOutDir'], {
    cwd: join(root, 'apps/studio-page'),
    // Tests run this too, and React has its checks only in development builds.
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: 'inherit',
  });
  if (!isBuilt()) {
    try {
      rmSync(page, { recursive: true, force: true });
      mkdirSync(dirname(page), { recursive: true });
      renameSync(own, page);
    } catch (error) {
      // Another process may have installed its build between the two calls.
      if (!isBuilt()) throw error;
    }
  }
  rmSync(own, { recursive: true, force: true });
}
