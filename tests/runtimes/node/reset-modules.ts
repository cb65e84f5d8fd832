import { registerHooks } from 'node:module';
import { onTestFinished, vi } from 'vitest';

const packages = new URL('../../../packages/', import.meta.url).href;
let copies = 0;

// Node itself loads the modules of these tests, and vitest cannot reset those. From the call to the end of the test,
// imports load another copy of the modules of packages.
vi.resetModules = () => {
  const query = `?copy=${++copies}`;
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      const isOwn = resolved.url.startsWith(packages) && !resolved.url.includes('/node_modules/');
      return isOwn ? { ...resolved, url: `${resolved.url}${query}` } : resolved;
    },
  });
  onTestFinished(() => hooks.deregister());
  return vi;
};
