/** A difference that is kept on purpose. */
export interface Kept {
  /** Of the cases' names. */
  readonly cases: RegExp;
  /** Of the difference's path. */
  readonly path: RegExp;
  /** The texts are the same but for what this matches in Weir's. */
  readonly adds?: RegExp;
  readonly difference: string;
  readonly reason: string;
}

/** Every difference that is not in this list is a fault. `npm run conformance` fails on one, and on an entry here that nothing needs any more. */
export const kept: readonly Kept[] = [
  {
    cases: /^GET \/v2(\?.*)?$|^gRPC ServerMetadata/,
    path: /extensions\[\d+\]$/,
    difference: 'the server metadata lists fewer extensions',
    reason: 'It lists those that are there.',
  },
  {
    cases: /repository\/index .*"yes"/,
    path: /^(status|body\.error)$/,
    difference: "an index request whose `ready` is no boolean is 400 `Invalid value for 'ready': expected a boolean`",
    reason: 'So do newer versions of Triton.',
  },
  {
    cases: /(FP16|BF16) binary to JSON$/,
    path: /^body\.error$/,
    difference: 'the error that FP16 cannot be sent as JSON names the output',
    reason: 'So do newer versions of Triton.',
  },
  {
    cases: /too few values$/,
    path: /^body\.error$/,
    difference: "too few values in JSON `data` are `Failed to parse 'data' field: shape does not match true shape`",
    reason: 'So do newer versions of Triton.',
  },
  {
    cases: /too (few|many) strings$/,
    path: /^(status|body\.error)$/,
    difference: 'a wrong number of strings in JSON `data` gets the error that any other datatype gets',
    reason: 'So do newer versions of Triton.',
  },
  {
    cases: /header length (no number|beyond 32 bits)$/,
    path: /^body\.error$/,
    difference: 'a header length that is no 32-bit number is refused as such',
    reason: 'So do newer versions of Triton; 2.51 takes `abc` for 0, and the body for a raw tensor.',
  },
  {
    cases: /raw body of the wrong size$/,
    path: /^body\.error$/,
    difference: "the error on a raw body's size names the model's input instead of `raw_input`",
    reason: 'It is the name that the user knows.',
  },
  {
    cases: /gzip that is none$/,
    path: /^(status|body\..*)$/,
    difference: 'a body that cannot be decompressed is 400',
    reason: '2.51 goes on with nothing and may answer 200.',
  },
  {
    cases: /two inputs that disagree in rows$/,
    path: /^body\.error$/,
    difference: 'of two inputs that disagree in rows the second is named',
    reason: "Triton's order is that of a hash table.",
  },
  {
    cases: /^(load|warm-up|completion): /,
    path: /\.reason$/,
    adds: / \(\/[^ ]*config\.pbtxt[\s\S]*$/,
    difference: 'errors of a config end with the file, the line, the field and what was wanted, and all of them are told',
    reason: 'It is what the user has to know.',
  },
  {
    cases: /^load: /,
    path: /\.reason$/,
    adds: /: (Message type|integer value)[\s\S]*$/,
    difference: 'the error on a config that is no protobuf text says what is wrong with it, and where',
    reason: 'It is what the user has to know.',
  },
  {
    cases: /^load: batching and/,
    path: /^counters\.bad_batching_metrics_\w+\.reason$/,
    difference: 'settings of metrics in a config are refused',
    reason: 'They are not built yet; 2.51 does not know them either.',
  },
  {
    cases: /^load: batching and/,
    path: /^counters\.bad_batching_cached_decoupled\./,
    difference: 'a decoupled model may have the response cache',
    reason: 'All of its answers are kept together.',
  },
  {
    cases: /^load: states$/,
    path: /^counters\.bad_state_twice\./,
    difference: 'a state input that is given twice is refused',
    reason: 'So do newer versions of Triton.',
  },
  {
    cases: /^load: ensembles$/,
    path: /^counters\.bad_ensemble_broken\.reason$/,
    difference: 'an ensemble that needs a model whose config is wrong says why that model failed',
    reason: 'It is what the user has to know; 2.51 says so only of models that it has tried to load.',
  },
  {
    cases: /^load: ensembles$/,
    path: /^counters\.bad_ensemble_key_twice\./,
    difference: 'an ensemble in which a key stands twice in a map of a step is refused',
    reason: 'Only the last one would count, and the other is a slip.',
  },
  {
    cases: /^load: ensembles$/,
    path: /^counters\.bad_ensemble_(row_and_input|two_rows)\.reason$/,
    difference: 'the error on a step whose inputs are of different decoupled steps names its model',
    reason: 'So do newer versions of Triton.',
  },
  {
    cases: /^(ensemble: |calls: an ensemble$|cache: of an ensemble that fails$)/,
    path: /\.(details|error)$/,
    adds: /( \(step \d+, model '[^']+'\))+$/,
    difference: 'an error of an ensemble ends with the step and its model',
    reason: 'It is what the user has to know.',
  },
  {
    cases: /^ensemble: an optional input that several steps take$/,
    path: /^(answers\.alone|counters\.maybes\.)/,
    difference: 'a required input that is missing is refused, also where optional ones make up the number',
    reason: 'So do newer versions of Triton.',
  },
  {
    cases: /^ensemble: the process of a step ends$/,
    path: /^(answers\.after|counters)\b/,
    difference: 'a model whose process has ended is started again, and answers the ensembles that ask it',
    reason: '2.51 answers `Stub process … is not healthy` from then on.',
  },
  {
    cases: /^ensemble: cancelled while/,
    path: /^(counters\.|answers\.last\[0\]\.outputs\.REPORT\.says\.execution$)/,
    difference: 'a request to an ensemble whose caller goes is cancelled in the step that it is in, and counts as that',
    reason: 'Triton lets the step run, or run yet, and counts the request as a success.',
  },
  {
    cases: /^ensemble: a limit of requests in flight$/,
    path: /^(answers|counters)\./,
    difference: 'an ensemble may have `max_inflight_requests`',
    reason: 'So do newer versions of Triton; 2.51 does not know the field.',
  },
  {
    cases: /^ensemble: some of the outputs$/,
    path: /^(answers|counters)\./,
    difference: 'an ensemble that is asked for some of its outputs runs the steps that they need',
    reason: '2.51 answers `unexpected deadlock …`.',
  },
  {
    cases: /^ensemble: (a step that fails while another one runs|both of two steps fail|one request fails beside others)$/,
    path: /^counters\.\w+_left\.(statistics|metrics)/,
    difference: 'a step of an ensemble is cancelled, and counts as that, once another one has failed',
    reason: 'Nobody waits for it. Triton lets it run to its end, and answers after that.',
  },
  {
    cases:
      /^(ensemble: (a step( behind a decoupled one)?( that)? fails|both of two steps fail|one request fails|one within another)|batching: one error among answers|calls: what fails|cache: of an ensemble that fails$)/,
    path: /^counters\.\w+\.(statistics|metrics)/,
    difference: 'a request that a Python model answers with an error counts as failed, and not among `inference_count`',
    reason: 'It has failed; 2.51 counts it as a success.',
  },
  {
    cases:
      /^(batching: (an exception|too few answers) fails? the batch|ensemble: an exception in a step|calls: an ensemble|sequence direct: an exception, and the sequence goes on)$/,
    path: /(execution_count|exec_count|batch_stats\[\d\].*)$/,
    difference: 'an execution of which every request failed does not count in `execution_count` and `batch_stats`',
    reason: 'So do newer versions of Triton.',
  },
  {
    cases: /^(queue: (size|priorities, a policy)|ensemble: a( later)? step whose queue is full)/,
    path: /(inference_stats\.fail|reason="REJECTED")$/,
    difference: 'a request that finds the queue full counts as failed, with the reason REJECTED',
    reason: 'So do newer versions of Triton.',
  },
  {
    cases:
      /^(queue: time-out, (refused|a request shortens its own)|ensemble: (a step that is too late|a request that shortens the time-out of a step))$/,
    path: /^finished/,
    difference: 'a request whose time in the queue is up is answered then',
    reason: 'Triton looks every half second.',
  },
  {
    cases: /^sequence direct: shapes that differ run apart$/,
    path: /(together\[1\]|batch_stats\[\d\]\.\w+)$/,
    difference: 'a batch of a direct sequence model ends with its last row that runs',
    reason: 'Triton fills it up to the last slot that has a request, also one whose shape differs.',
  },
  {
    cases: /^sequence (direct|oldest): idle/,
    path: /\.details$/,
    adds: /: the sequence was idle for longer than \d+ microseconds and has ended$/,
    difference: 'the error on a request of a sequence that was idle for too long says so',
    reason: 'The START flag was not forgotten by the client.',
  },
  {
    cases: /^sequence direct: a string for a CORRID control$/,
    path: /^(answers|counters)\./,
    difference: 'a Python model gets ids that are strings by its CORRID control, and a number to it is refused by the types',
    reason: '2.51 answers `unexpected number of string elements 2 …`.',
  },
  {
    cases: /^iterative: /,
    path: /(inference_stats\.\w+|request_success|reason="CANCELED")$/,
    difference: 'a request that a model lets run again counts once',
    reason: 'It is one request to its client; 2.51 counts each step, and one more as cancelled.',
  },
  {
    cases: /^((iterative|decoupled|ensemble|calls): |cache: of a step that a decoupled ensemble)/,
    path: /\.response_stats\.\d+$/,
    difference: '`response_stats` tells of each answer of a decoupled Python model',
    reason: 'So do newer versions of Triton.',
  },
  {
    cases: /^cache: over a stream$/,
    path: /^answers\.a\[0\]\./,
    difference: 'a request on a stream to a model with the cache is answered also when its answer has yet to be kept',
    reason: '2.51 answers `response output count mismatch`.',
  },
  {
    cases: /^cache: (other parameters|of an ensemble, some of its outputs)$/,
    path: /^(answers|counters)\./,
    difference: 'requests with other parameters, or other requested outputs, are other requests to the cache',
    reason: 'The answer may depend on them.',
  },
  {
    cases: /^cache: what fails is not kept$/,
    path: /^(answers|counters)\./,
    difference: 'failures are not kept in the cache',
    reason: '2.51 answers the next request from it, with no outputs.',
  },
  {
    cases: /^cache: of an ensemble$/,
    path: /\.parameters\.sequence_\w+$/,
    difference: "an ensemble's answer from the cache has the parameters that the model's own has",
    reason: 'Whether it comes from the cache should not matter to its client.',
  },
  {
    cases: /^warm-up: /,
    path: /^counters\.\w+\.(statistics|metrics)/,
    difference: 'warm-up does not count in statistics and metrics',
    reason: 'They are of the requests of clients.',
  },
];
