import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identityConfig } from '../identity-contest.ts';
import { writeStatelessVad } from '../vad/repository.ts';
import { largeFloats, slowMs } from './target.ts';

const slowly = `parameters { key: "execute_delay_ms" value: { string_value: "${slowMs}" } }\n`;

/** The models of the soak: three that echo, and one that runs in a thread. */
export const writeSoakRepository = (): string => {
  const repository = mkdtempSync(join(tmpdir(), 'weir-soak-'));
  const configs = { small: identityConfig(16), slow: identityConfig(16) + slowly, large: identityConfig(largeFloats) };
  for (const [name, config] of Object.entries(configs)) {
    mkdirSync(join(repository, name, '1'), { recursive: true });
    writeFileSync(join(repository, name, 'config.pbtxt'), config);
  }
  writeStatelessVad(repository, 'vad');
  return repository;
};
