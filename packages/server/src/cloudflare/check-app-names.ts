import { ConfigurationError } from '@eventloom/core';

/** @throws ConfigurationError unless these are the names of these runners: a request reaches an object for an app that is named */
export function checkAppNames(appNames: readonly string[], runners: readonly { readonly appName: string }[]): void {
  const made = runners.map(({ appName }) => appName);
  if (made.length === appNames.length && made.every((appName) => appNames.includes(appName))) return;
  throw new ConfigurationError(
    `createCloudflareServer: appNames says ${JSON.stringify(appNames)}, and runners makes ${JSON.stringify(made)}; name each app in both`,
  );
}
