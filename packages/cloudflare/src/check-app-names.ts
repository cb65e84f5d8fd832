import { ConfigurationError } from '@eventloom/core';

/** @throws ConfigurationError unless these are the names of these runners: a request reaches an object for an app that is named */
export function checkAppNames(appNames: readonly string[], runners: readonly { readonly appName: string }[]): void {
  const made = new Set(runners.map(({ appName }) => appName));
  if (made.size === appNames.length && appNames.every((appName) => made.has(appName))) return;
  throw new ConfigurationError(
    `createCloudflareServer: appNames says ${JSON.stringify(appNames)}, and runners makes ${JSON.stringify([...made])}; name each app in both`,
  );
}
