import { importedSpecifiers } from './module-syntax.ts';
import { packageOf } from './package-graph.ts';
import { isTestFile, type Workspace } from './repository.ts';

/**
 * Returns imports of packages that the manifest does not declare. Tests and private workspaces may use the root's
 * dependencies. Tests may import their own package by its name, as the pages that quote them do.
 */
export function undeclaredImports(workspaces: readonly Workspace[]): string[] {
  const root = workspaces.find(({ folder }) => folder === '');
  return workspaces.flatMap(({ manifest, files }) => {
    const { imports, dependencies, optionalDependencies, peerDependencies } = manifest;
    const shipped = { ...imports, ...dependencies, ...optionalDependencies, ...peerDependencies };
    const own = { [manifest.name]: manifest.version };
    const forTests = { ...own, ...shipped, ...manifest.devDependencies, ...root?.manifest.devDependencies };
    return files.flatMap((file) => {
      const declared = manifest.private || isTestFile(file.path) ? forTests : shipped;
      const packages = importedSpecifiers(file).filter(isPackageSpecifier).map(packageOf);
      return packages.filter((name) => !(name in declared)).map((name) => `${file.path} imports ${name}`);
    });
  });
}

/**
 * Packages that face the network. Published packages accept compatible updates of them, so that users get security
 * fixes without waiting for us.
 */
const takesUpdates = new Set(['@hono/node-server', 'hono', 'jose', 'ws']);

/**
 * Returns dependencies whose version is not exact, or for packages that face the network, in published packages, not
 * `^` of it. An alias (`npm:name@version`) is exact too. Peers are exempt, because they need a range. The lockfile has
 * the installed versions in any case.
 */
export function wrongVersions(workspaces: readonly Workspace[]): string[] {
  return workspaces.flatMap(({ manifest }) => {
    const { name: dependent, private: isPrivate, dependencies, devDependencies, optionalDependencies } = manifest;
    const shipped = isPrivate ? {} : { ...dependencies, ...optionalDependencies };
    const versions = { ...dependencies, ...devDependencies, ...optionalDependencies };
    return Object.entries(versions)
      .filter(([name, version]) => {
        const wanted =
          takesUpdates.has(name) && name in shipped ? /^\^\d+\.\d+\.\d+$/ : /^(npm:[\w@/-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/;
        return version !== 'workspace:*' && !wanted.test(version);
      })
      .map(([name, version]) => `${dependent}: ${name}@${version}`);
  });
}

/** True for the name of a package: not relative, and without a scheme as in `node:fs` and `cloudflare:test`. */
function isPackageSpecifier(specifier: string): boolean {
  return !/^(\.|[a-z]+:)/.test(specifier);
}
