import { mutationCases } from '@eventloom/core/conformance';
import { test } from 'vitest';
import { credentialServiceConformance } from './index.ts';
import { credentialMutants } from './mutants/credential-mutants.ts';

test.each(mutationCases(credentialServiceConformance, credentialMutants))('$id $title', ({ run }) => run());
