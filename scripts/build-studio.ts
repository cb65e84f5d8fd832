/** Builds the page of Studio unless its newest build is newer than its sources. */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const built = join(root, 'packages/studio/dist/page/index.html');
const sources = globSync(
  [
    'apps/studio-page/{index.html,package.json,vite.config.ts}',
    'apps/studio-page/{src,public}/**/*.*',
    'packages/client/src/**/*.ts',
  ],
  { cwd: root },
);
const newest = Math.max(...sources.map((path) => statSync(join(root, path)).mtimeMs));
if (!existsSync(built) || statSync(built).mtimeMs < newest) {
  const vite = join(root, 'apps/studio-page/node_modules/.bin/vite');
  execFileSync(vite, ['build', '--logLevel', 'error'], {
    cwd: join(root, 'apps/studio-page'),
    // Tests run this, too, and the page has React's checks only for development.
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: 'inherit',
  });
}
