import { mutationCases } from '@eventloom/core/conformance';
import { test } from 'vitest';
import { memoryServiceConformance } from './index.ts';
import { addMutants, rewindMutants } from './mutants/add-mutants.ts';
import { deleteMutants, scopeMutants } from './mutants/scope-mutants.ts';
import { rankMutants, wordMutants } from './mutants/search-mutants.ts';

const mutants = [...addMutants, ...rewindMutants, ...wordMutants, ...rankMutants, ...scopeMutants, ...deleteMutants];

test.each(mutationCases(memoryServiceConformance, mutants))('$id $title', ({ run }) => run());
