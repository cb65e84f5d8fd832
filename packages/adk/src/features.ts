import { ConfigurationError } from '@eventloom/core';
import { readVariable } from '#runtime';

/** Features of the ADK that a program may switch. */
export const FeatureName = { PROGRESSIVE_SSE_STREAMING: 'PROGRESSIVE_SSE_STREAMING' } as const;
export type FeatureName = (typeof FeatureName)[keyof typeof FeatureName];

/** Stages of a feature. */
export const FeatureStage = { WIP: 'wip', EXPERIMENTAL: 'experimental', STABLE: 'stable' } as const;
export type FeatureStage = (typeof FeatureStage)[keyof typeof FeatureStage];

/** The stage of a feature, and its value where nothing switches it. */
export interface FeatureConfig {
  readonly stage: FeatureStage;
  readonly defaultOn: boolean;
}

const features = new Map<string, FeatureConfig>([
  [FeatureName.PROGRESSIVE_SSE_STREAMING, { stage: FeatureStage.EXPERIMENTAL, defaultOn: false }],
]);
const overrides = new Map<string, boolean>();

/** Returns the config of a feature; undefined for a feature that is not registered. */
export function getFeatureConfig(featureName: string): FeatureConfig | undefined {
  return features.get(featureName);
}

/** Registers a feature of the program. */
export function registerFeature(featureName: string, feature: FeatureConfig): void {
  features.set(featureName, feature);
}

/**
 * Switches a feature for the whole process; undefined leaves it to the environment.
 * @throws ConfigurationError for one that is not registered
 */
export function overrideFeatureEnabled(featureName: string, enabled?: boolean): void {
  registered(featureName);
  if (enabled === undefined) overrides.delete(featureName);
  else overrides.set(featureName, enabled);
}

/**
 * Returns the value of a feature: the override, the variable `ADK_ENABLE_…` or `ADK_DISABLE_…`, or the default.
 * Eventloom itself reads no feature.
 * @throws ConfigurationError for one that is not registered
 */
export function isFeatureEnabled(featureName: string): boolean {
  const { defaultOn } = registered(featureName);
  const override = overrides.get(featureName);
  if (override !== undefined) return override;
  if (isTrue(readVariable(`ADK_ENABLE_${featureName}`))) return true;
  return isTrue(readVariable(`ADK_DISABLE_${featureName}`)) ? false : defaultOn;
}

/** Switches a feature while `callback` runs. @throws ConfigurationError for one that is not registered */
export async function withTemporaryFeatureOverride<T>(
  featureName: string,
  enabled: boolean,
  callback: () => Promise<T> | T,
): Promise<T> {
  registered(featureName);
  const before = overrides.get(featureName);
  overrides.set(featureName, enabled);
  try {
    return await callback();
  } finally {
    if (before === undefined) overrides.delete(featureName);
    else overrides.set(featureName, before);
  }
}

function isTrue(value = ''): boolean {
  return ['true', '1'].includes(value.toLowerCase());
}

function registered(featureName: string): FeatureConfig {
  const config = features.get(featureName);
  if (!config)
    throw new ConfigurationError(
      `feature "${featureName}": is not registered; write registerFeature('${featureName}', …)`,
    );
  return config;
}
