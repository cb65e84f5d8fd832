import { mutationCases } from '@eventloom/core/conformance';
import { test } from 'vitest';
import { artifactServiceConformance } from './index.ts';
import { nameMutants, saveMutants } from './mutants/save-mutants.ts';
import { versionMutants } from './mutants/version-mutants.ts';

const mutants = [...saveMutants, ...nameMutants, ...versionMutants];

test.each(mutationCases(artifactServiceConformance, mutants))('$id $title', ({ run }) => run());
