import { initializer, node, onnxModel, type TensorInfo } from './onnx-models.ts';

const int64s = (name: string, ...values: bigint[]) => initializer(name, 'INT64', [values.length], new BigInt64Array(values));

const whole = (name: string, datatype: 'INT32' | 'FP32', ...dims: string[]): TensorInfo => ({ name, datatype, dims });

/**
 * X FP32 [total], the requests' elements end to end, and ENDS INT32 [requests + 1], their counts added up, with a zero before → SUM FP32 [requests,1]
 * of each request's elements, and DOUBLE FP32 [total], each of them twice.
 */
export const raggedSums = (): Uint8Array =>
  onnxModel({
    inputs: [whole('X', 'FP32', 'total'), whole('ENDS', 'INT32', 'ends')],
    outputs: [
      { name: 'SUM', datatype: 'FP32', dims: ['requests', 1] },
      { name: 'DOUBLE', datatype: 'FP32', dims: ['total'] },
    ],
    nodes: [
      node('CumSum', ['X', 'AXIS'], ['sums']),
      node('Concat', ['NOTHING', 'sums'], ['from0'], { attributes: { axis: 0 } }),
      node('Gather', ['from0', 'ENDS'], ['at'], { attributes: { axis: 0 } }),
      node('Slice', ['at', 'ONE', 'LAST', 'ZERO'], ['ends']),
      node('Slice', ['at', 'ZERO', 'MINUS_ONE', 'ZERO'], ['starts']),
      node('Sub', ['ends', 'starts'], ['flat']),
      node('Unsqueeze', ['flat', 'ONE'], ['SUM']),
      node('Add', ['X', 'X'], ['DOUBLE']),
    ],
    initializers: [
      initializer('AXIS', 'INT64', [], new BigInt64Array([0n])),
      initializer('NOTHING', 'FP32', [1], new Float32Array([0])),
      int64s('ZERO', 0n),
      int64s('ONE', 1n),
      int64s('MINUS_ONE', -1n),
      int64s('LAST', 2n ** 40n),
    ],
  });

/**
 * X FP32 [total] of requests of one row, and what all but one kind of `batch_input` tell of it → each of these as rows, of the names in lower
 * case: COUNT, SUMS, ENDS (without its zero), LONGEST (a shape, in each row), SHAPES [requests,2], and FLAT, which is SHAPES again.
 */
export const batchInputs = (): Uint8Array =>
  onnxModel({
    inputs: [
      whole('X', 'FP32', 'total'),
      whole('COUNT', 'INT32', 'n'),
      whole('SUMS', 'FP32', 'n'),
      whole('ENDS', 'INT32', 'n1'),
      whole('LONGEST', 'INT32', 'longest'),
      whole('SHAPES', 'INT32', 'items', 'rank'),
      whole('FLAT', 'FP32', 'flat'),
    ],
    outputs: [
      whole('count', 'INT32', 'n'),
      whole('sums', 'FP32', 'n'),
      whole('ends', 'INT32', 'n'),
      { name: 'longest', datatype: 'INT64', dims: ['n'] },
      whole('shapes', 'INT32', 'n', 'rank'),
      whole('flat', 'FP32', 'n', 'rank'),
    ],
    nodes: [
      node('Identity', ['COUNT'], ['count']),
      node('Identity', ['SUMS'], ['sums']),
      node('Slice', ['ENDS', 'ONE', 'LAST', 'ZERO'], ['ends']),
      node('Shape', ['LONGEST'], ['size']),
      node('Shape', ['COUNT'], ['rows']),
      node('Expand', ['size', 'rows'], ['longest']),
      node('Identity', ['SHAPES'], ['shapes']),
      node('Reshape', ['FLAT', 'PAIRS'], ['flat']),
    ],
    initializers: [int64s('ZERO', 0n), int64s('ONE', 1n), int64s('LAST', 2n ** 40n), int64s('PAIRS', -1n, 2n)],
  });

/** T BYTES [total] → U BYTES [total], the same, and N INT32 [requests], which is COUNT again: strings end to end. */
export const raggedStrings = (): Uint8Array =>
  onnxModel({
    inputs: [{ name: 'T', datatype: 'BYTES', dims: ['total'] }, whole('COUNT', 'INT32', 'n')],
    outputs: [{ name: 'U', datatype: 'BYTES', dims: ['total'] }, whole('N', 'INT32', 'n')],
    nodes: [node('Identity', ['T'], ['U']), node('Identity', ['COUNT'], ['N'])],
  });

/** X FP32 [batch,length] and MASK FP32 of that shape → MEAN FP32 [batch,1] of the elements that the mask tells, and ECHO FP32 [batch,length]. */
export const maskedMean = (): Uint8Array =>
  onnxModel({
    inputs: ['X', 'MASK'].map((name) => ({ name, datatype: 'FP32', dims: ['batch', 'length'] })),
    outputs: [
      { name: 'MEAN', datatype: 'FP32', dims: ['batch', 1] },
      { name: 'ECHO', datatype: 'FP32', dims: ['batch', 'length'] },
    ],
    nodes: [
      node('Mul', ['X', 'MASK'], ['known']),
      node('ReduceSum', ['known', 'ONE'], ['sum']),
      node('ReduceSum', ['MASK', 'ONE'], ['count']),
      node('Div', ['sum', 'count'], ['MEAN']),
      node('Identity', ['X'], ['ECHO']),
    ],
    initializers: [int64s('ONE', 1n)],
  });

/**
 * X FP32 [batch,1], controls START INT32, READY BOOL and ID UINT64 and the state SUM_IN FP32, all [batch,1] → SUM_OUT, the state: X more, from
 * nothing where START is 1, and the same where READY is false; TOTAL, the same value; WHO UINT64, which is ID again.
 */
export const accumulator = (): Uint8Array =>
  onnxModel({
    inputs: (
      [
        ['X', 'FP32'],
        ['START', 'INT32'],
        ['READY', 'BOOL'],
        ['ID', 'UINT64'],
        ['SUM_IN', 'FP32'],
      ] as const
    ).map(([name, datatype]) => ({ name, datatype, dims: ['batch', 1] })),
    outputs: [
      { name: 'TOTAL', datatype: 'FP32', dims: ['batch', 1] },
      { name: 'WHO', datatype: 'UINT64', dims: ['batch', 1] },
      { name: 'SUM_OUT', datatype: 'FP32', dims: ['batch', 1] },
    ],
    nodes: [
      node('Cast', ['START'], ['isFirst'], { attributes: { to: 9 } }),
      node('Where', ['isFirst', 'NOTHING', 'SUM_IN'], ['before']),
      node('Add', ['before', 'X'], ['after']),
      node('Where', ['READY', 'after', 'before'], ['SUM_OUT']),
      node('Identity', ['SUM_OUT'], ['TOTAL']),
      node('Identity', ['ID'], ['WHO']),
    ],
    initializers: [initializer('NOTHING', 'FP32', [1], new Float32Array([0]))],
  });
