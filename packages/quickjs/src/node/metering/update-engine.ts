import { writeFileSync } from 'node:fs';
import { ENGINE_PATH, meterEngine } from './meter-engine.ts';

writeFileSync(ENGINE_PATH, meterEngine());
