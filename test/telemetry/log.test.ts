import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LogConfig } from '../../src/telemetry/log.ts';
import { createLog } from '../../src/telemetry/log.ts';

let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'weir-log-'));
});
afterEach(() => rm(directory, { recursive: true }));

const everything: LogConfig = { verbose: 0, info: true, warning: true, error: true, format: 'default' };

const linesOf = async (config: Partial<LogConfig>, write: (log: ReturnType<typeof createLog>) => void): Promise<string[]> => {
  const file = join(directory, 'log');
  const log = createLog({ ...everything, file, ...config });
  write(log);
  await log.close();
  return (await readFile(file, 'utf8')).split('\n').slice(0, -1);
};

const line = /^([EWI])(\d{4}) (\d\d:\d\d:\d\d\.\d{6}) (\d+) ([\w.-]+):(\d+)\] (".*")$/;

describe('log', () => {
  it('writes lines as Triton does', async () => {
    const lines = await linesOf({}, (log) => {
      log.info('Started HTTPService at 0.0.0.0:8000');
      log.named('http').warning('slow');
      log.named('grpc').error('broken');
    });
    const fields = lines.map((text) => line.exec(text)?.slice(1));
    expect(fields.map((found) => found?.[0])).toEqual(['I', 'W', 'E']);
    expect(fields.map((found) => found?.[4])).toEqual(['weir', 'http', 'grpc']);
    expect(fields.map((found) => found?.[3])).toEqual(Array(3).fill(String(process.pid)));
    expect(fields[0]?.[6]).toBe('"Started HTTPService at 0.0.0.0:8000"');
  });

  it('writes ISO 8601 when asked to', async () => {
    const [first] = await linesOf({ format: 'ISO8601' }, (log) => log.info('hello'));
    expect(first).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ I \d+ weir:0\] "hello"$/);
  });

  it('lets no message look like a line of its own', async () => {
    const forged = 'x"\nI0101 00:00:00.000000 1 http:0] "forged\r\u2028\u2029\u0085\u001b[31m\\';
    const lines = await linesOf({}, (log) => log.error(`[request id: ${forged}] Infer failed`));
    expect(lines).toHaveLength(1);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: controls are what must not be there
    expect(lines[0]).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
    expect(JSON.parse(line.exec(lines[0] ?? '')?.[7] ?? '')).toBe(`[request id: ${forged}] Infer failed`);
  });

  it('writes what its switches and its verbose level let through', async () => {
    const lines = await linesOf({ verbose: 2, info: false, warning: false }, (log) => {
      log.info('no');
      log.warning('no');
      log.error('error');
      log.verbose(1, 'one');
      log.verbose(2, 'two');
      log.verbose(3, 'no');
    });
    expect(lines.map((text) => text.replace(/^(.).*\] /, '$1 '))).toEqual(['E "error"', 'I "one"', 'I "two"']);
  });

  it('writes a table as one entry', async () => {
    const lines = await linesOf({}, (log) => log.table('', ['+---+', '| m |', '+---+']));
    expect(lines.slice(1)).toEqual(['+---+', '| m |', '+---+']);
    expect(lines[0]).toMatch(/^I.*\] ""$/);
  });

  it('throws when its file cannot be opened', () => {
    expect(() => createLog({ ...everything, file: join(directory, 'no', 'such', 'folder') })).toThrow(/ENOENT/);
  });

  it('takes lines after it was closed without harm', async () => {
    const file = join(directory, 'log');
    const log = createLog({ ...everything, file });
    await log.close();
    log.info('late');
    log.flush();
    await log.close();
    expect(await readFile(file, 'utf8')).toBe('');
  });

  it('leaves no listener on the process', async () => {
    const before = process.listenerCount('exit');
    const logs = Array.from({ length: 20 }, (_, index) => createLog({ ...everything, file: join(directory, String(index)) }));
    expect(process.listenerCount('exit')).toBe(before + 1);
    await Promise.all(logs.map((log) => log.close()));
    expect(process.listenerCount('exit')).toBe(before);
  });

  it('sends information to stdout, problems to stderr, and loses nothing when the process exits at once', async () => {
    const module = new URL('../../src/telemetry/log.ts', import.meta.url).href;
    const program = `
      import { createLog } from ${JSON.stringify(module)};
      const log = createLog({ verbose: 0, info: true, warning: true, error: true, format: 'default' });
      for (let index = 0; index < 5000; index++) log.info('line ' + index);
      log.warning('a warning');
      log.error('an error');
      process.exit(0);`;
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
      maxBuffer: 1 << 24,
    });
    const numbers = [...stdout.matchAll(/"line (\d+)"\n/g)].map(([, number]) => Number(number));
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 5000 }, (_, index) => index));
    expect(stderr).toMatch(/^W.*"a warning"\nE.*"an error"\n$/);
  });
});
