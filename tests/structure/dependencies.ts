import { importedSpecifiers } from './module-syntax.ts';
import { packageOf } from './package-graph.ts';
import { isTestFile, type Workspace } from './repository.ts';

/** Imports of packages that the manifest does not declare. Tests and private workspaces may use what the root installs. */
export function undeclaredImports(workspaces: readonly Workspace[]): string[] {
  const root = workspaces.find(({ folder }) => folder === '');
  return workspaces.flatMap(({ manifest, files }) => {
    const { imports, dependencies, optionalDependencies, peerDependencies } = manifest;
    const shipped = { ...imports, ...dependencies, ...optionalDependencies, ...peerDependencies };
    const forTests = { ...shipped, ...manifest.devDependencies, ...root?.manifest.devDependencies };
    return files.flatMap((file) => {
      const declared = manifest.private || isTestFile(file.path) ? forTests : shipped;
      const packages = importedSpecifiers(file).filter(isPackageSpecifier).map(packageOf);
      return packages.filter((name) => !(name in declared)).map((name) => `${file.path} imports ${name}`);
    });
  });
}

/** Dependencies whose version is a range. Peers are exempt: a range is their point. */
export function inexactVersions(workspaces: readonly Workspace[]): string[] {
  return workspaces.flatMap(({ manifest }) => {
    const versions = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies };
    return Object.entries(versions)
      .filter(([, version]) => version !== 'workspace:*' && !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
      .map(([name, version]) => `${manifest.name}: ${name}@${version}`);
  });
}

/** Neither relative nor of a runtime's own scheme, as in `node:fs` and `cloudflare:test`. */
function isPackageSpecifier(specifier: string): boolean {
  return !/^(\.|[a-z]+:)/.test(specifier);
}
