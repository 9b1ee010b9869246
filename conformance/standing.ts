/** Whether a model serves, and why it does not. */
export interface Standing {
  readonly isReady: boolean;
  readonly reason?: string;
}

interface IndexRow {
  readonly name: string;
  readonly state?: string;
  readonly reason?: string;
}

const errorLine = /^E\d{4} .*?\] (".*")$/;
const aboutModel = /^(?:Poll failed for model directory '[^']+'|failed to load model '[^']+'|failed to load '[^']+' version \d+): /;
const codeWords = /^(?:Invalid argument|Internal|Unavailable|Unsupported|Not found|Already exists|Unknown): /;
const libraryFrames = /^ {2}(?:\S*triton_python_backend_utils\.py|<frozen importlib\._bootstrap(?:_external)?>)\(\d+\): .*\n/gm;

/** A code word is left out, which the log does not always have, and so are frames of a traceback that are not the model's. */
const reasonIn = (text: string): string => text.replace(codeWords, '').replaceAll(libraryFrames, '');

/** Of a model that the server has not even tried to load, Triton tells in its log alone. */
const loggedReason = (lines: readonly string[], model: string): string | undefined => {
  const texts = lines.flatMap((line) => {
    const quoted = errorLine.exec(line)?.[1];
    return quoted === undefined ? [] : [JSON.parse(quoted) as string];
  });
  const positions = texts.map((text) => text.search(new RegExp(`\\b${model}\\b`)));
  const nearest = Math.min(...positions.filter((position) => position >= 0));
  const text = texts[positions.indexOf(nearest)];
  return text === undefined ? undefined : reasonIn(text.replace(aboutModel, ''));
};

/** From the body of the repository index, and from the log where the index says nothing of a model. */
export const standingOf = (index: unknown, lines: readonly string[], model: string): Standing => {
  const rows: readonly IndexRow[] = Array.isArray(index) ? index : [];
  const row = rows.find(({ name }) => name === model);
  if (row?.state === 'READY') return { isReady: true };
  const reason = row?.reason === undefined ? loggedReason(lines, model) : reasonIn(row.reason);
  return { isReady: false, ...(reason === undefined ? {} : { reason }) };
};
