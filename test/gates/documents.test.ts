import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { renderConformance } from '../../conformance/render-document.ts';
import { renderDocument } from '../../src/cli/render-document.ts';
import { toStatus } from '../../src/frontends/grpc/transport/call-status.ts';
import { httpStatus } from '../../src/frontends/http/status.ts';
import { type ErrorCode, InferError } from '../../src/streams/inference/error.ts';
import { errorCodes, errorRows } from './support/error-codes.ts';
import { projectFiles, projectRoot, readProjectFile } from './support/source-file.ts';

it('docs/command-line.md is what the table of flags says (npm run docs writes it)', () => {
  expect(readProjectFile('docs/command-line.md')).toBe(renderDocument());
});

it('docs/conformance.md is what the table of kept differences says (npm run docs writes it)', () => {
  expect(readProjectFile('docs/conformance.md')).toBe(renderConformance());
});

it('docs/errors.md has a row for each error code', () => {
  const codes = errorCodes();
  expect(codes.length).toBeGreaterThan(5);
  expect(errorRows(readProjectFile('docs/errors.md')).map(({ code }) => code)).toEqual(codes);
});

const isErrorCode = (code: string): code is ErrorCode => errorCodes().includes(code);

it('docs/errors.md has the statuses of the front ends', () => {
  for (const { code, http, grpc } of errorRows(readProjectFile('docs/errors.md'))) {
    if (!isErrorCode(code)) throw new Error(`${code} is no error code`);
    expect([code, http]).toEqual([code, String(httpStatus(code))]);
    const number = toStatus(new InferError(code, '')).code ?? -1;
    expect([code, grpc]).toEqual([code, status[number]]);
  }
});

it('reads the rows of a table of codes', () => {
  const rows = errorRows('| code | what | HTTP | gRPC |\n|---|---|---|---|\n| `A_B` | words, words | 400 | A |\n| c | d | 1 | e |\n');
  expect(rows).toEqual([{ code: 'A_B', http: '400', grpc: 'A' }]);
});

/** Flags of the command that a document speaks of: in code, and not those of npm, git, node and their like. */
const flagsIn = (text: string): readonly string[] => [...text.matchAll(/`(--[a-z][a-z-]+)(?:[ =…][^`]*)?`/g)].map(([, flag = '']) => flag);

it.each(['README.md', 'CHANGELOG.md', 'docs/architecture.md', 'docs/errors.md', 'docs/in-process.md'])(
  '%s names only flags that there are',
  (path) => {
    const known = readProjectFile('docs/command-line.md');
    for (const flag of flagsIn(readProjectFile(path))) {
      if (flag === '--ws-') continue;
      expect([flag, known.includes(`\`${flag}\``)]).toEqual([flag, true]);
    }
  },
);

it('documents link to files that there are', () => {
  const broken = projectFiles()
    .filter((path) => path.endsWith('.md'))
    .flatMap((path) =>
      [...readProjectFile(path).matchAll(/\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)/g)]
        .map(([, link = '']) => join(dirname(path), link))
        .filter((target) => !existsSync(join(projectRoot, target)))
        .map((target) => `${path} links to ${target}`),
    );
  expect(broken).toEqual([]);
});

it('documents name files of src that there are', () => {
  const broken = projectFiles()
    .filter((path) => path.endsWith('.md'))
    .flatMap((path) =>
      [...readProjectFile(path).matchAll(/`((?:src|test|scripts|bench|proto|docs|examples)\/[\w./-]+)`/g)]
        .map(([, target = '']) => target)
        .filter((target) => !existsSync(join(projectRoot, target)))
        .map((target) => `${path} names ${target}`),
    );
  expect(broken).toEqual([]);
});
