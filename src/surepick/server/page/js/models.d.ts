// What the service sends and takes: made from its models by tests/server/page/test_types.py.

declare namespace Api {
  interface AgreementOf {
    share: number | null;
    comparisons: number;
  }
  interface BatchOf {
    number: number;
    size: number;
    told: number;
    leased: number;
    waiting: number;
    ahead: number;
  }
  interface Bounds {
    low: number;
    high: number;
    most?: number | null;
  }
  interface Created {
    name: string;
    notes: string[];
    study: Status;
  }
  interface Definition {
    name: string;
    algorithm: string;
    settings: Record<string, any>;
    problem: Record<string, any>;
    meta: Record<string, any>;
    seed: number;
    order_seed: number | null;
    created: number;
  }
  interface ErrorBody {
    kind: string;
    message: string;
  }
  interface HistoryOf {
    batches: HistoryRow[];
  }
  interface HistoryRow {
    batch: number;
    samples: number;
    survivors: number;
  }
  interface JudgeOf {
    name: string | null;
    token: string | null;
    comparisons: number;
    first: number;
    second: number;
    ties: number;
    agreement: number | null;
    shared: number;
    prefers: "first" | "second" | null;
    said: string;
  }
  interface JudgementOf {
    pull: number;
    at: number;
    judge: string | null;
    token: string | null;
    first: string;
    second: string;
    better: string | null;
    item: string | null;
  }
  interface JudgementsOf {
    comparisons: number;
    options: string[];
    won: number[][];
    met: number[][];
    standings: StandingOf[];
    judges: JudgeOf[];
    agreement: AgreementOf;
    latest: JudgementOf[];
  }
  interface Limits {
    max_samples: number | null;
    samples_left: number | null;
    budget: number | null;
    spent: number;
    left: number | null;
    in_money: boolean;
    cells: number | null;
  }
  interface Near {
    options: string[];
    lead: number;
    resolved: number;
    further: number;
    epsilon: number;
    near: string;
    refused: string;
    message: string;
  }
  interface NewStudy {
    name: string;
    table?: TableBody | null;
    problem?: ProblemBody | null;
    noise?: number | string | Bounds | number[] | null;
    cap?: number | null;
    misfit?: number | string | null;
    minimise?: boolean;
    delta?: number;
    epsilon?: number;
    top?: number;
    quantile?: number | null;
    numbers?: Record<string, any> | null;
    keep?: string[] | null;
    cheapest?: boolean;
    within?: number | null;
    baseline?: string | null;
    threshold?: number | null;
    claims?: string;
    max_samples?: number | null;
    budget?: number | null;
    guess?: boolean;
    question?: string | null;
    check_fit?: number | null;
    items?: number | null;
    pairs?: boolean;
    borda?: boolean;
    confirm?: boolean | null;
    show?: string | null;
    files?: Record<string, any> | null;
    complete?: number | null;
    overlap?: boolean | null;
    hedge?: boolean;
    again?: boolean;
    failed?: string;
    canaries?: number;
    strata?: string | null;
    past?: SheetBody | null;
    past_chosen?: string | null;
    past_columns?: Record<string, any> | null;
    traffic?: TrafficBody | boolean | null;
    segments?: string | null;
    segment?: Record<string, any> | null;
    algorithm?: string;
    settings?: Record<string, any>;
    seed?: number | null;
    meta?: Record<string, any>;
    source?: string;
    key?: string | null;
  }
  interface PlanOf {
    forecast: (Record<string, any>)[];
    notes: string[];
    files: string[];
  }
  interface PlanRequest {
    csv?: string | null;
    columns?: Record<string, any> | null;
    index?: string[] | null;
    source?: string;
    features?: string[] | string | null;
    formula?: string | null;
    unstructured?: boolean;
    label?: string | null;
    cost?: string | null;
    rewards?: string | null;
    gap?: number | null;
    base_rate?: number | null;
    lift?: number | null;
    minimise?: boolean;
    noise?: number | null;
    noise_is?: "guessed" | "equal" | "known";
    misfit?: number | string | null;
    delta?: number;
    trials?: number;
  }
  interface ProblemBody {
    arms: number[][];
    candidates?: number[][] | null;
    labels?: string[] | null;
    candidate_labels?: string[] | null;
    noise?: number | string | Bounds | number[] | null;
    misfit?: number | string | null;
    costs?: number[] | null;
    minimise?: boolean;
    numbers?: Record<string, any> | null;
  }
  interface ProgressOf {
    batch: number;
    first: number;
    size: number;
    asked: number;
    told: number;
    ahead: number;
    early: number;
    samples: number;
    finished: boolean;
    paused: boolean;
  }
  interface PromiseOf {
    kind: string;
    text: string;
    close: string;
    others: string;
  }
  interface Refusal {
    error: ErrorBody;
  }
  interface RewardsOf {
    noise: string;
    words: string;
  }
  interface SettingOf {
    name: string;
    question: string;
    hint: string;
    kind: string;
    default: any;
    choices: ([any, string])[];
    empty: string;
    traffic: boolean | null;
    pairs: boolean | null;
    first: boolean;
    refused: Record<string, any>;
  }
  interface SettingsOf {
    settings: SettingOf[];
    rewards: RewardsOf[];
  }
  interface SheetBody {
    csv?: string | null;
    columns?: Record<string, any> | null;
    index?: string[] | null;
    source?: string;
  }
  interface StandingOf {
    option: string;
    state: string;
    won: number;
    met: number;
    share: number | null;
    low: number;
    high: number;
    strength: number | null;
    strength_low: number | null;
    strength_high: number | null;
  }
  interface Status {
    name: string;
    algorithm: string;
    delta: number;
    epsilon: number;
    promise: PromiseOf;
    finished: boolean;
    samples: number;
    uncounted: number;
    cost: number | null;
    limits: Limits;
    started_with: number;
    survivors: number[];
    survivor_labels: string[];
    circle: string[];
    leader: string | null;
    labels: string[];
    estimates: (number | null)[] | null;
    means: (number | null)[];
    behind: number[] | null;
    standard_error: number[] | null;
    evidence: number[] | null;
    wins: (number | null)[] | null;
    pulls: number[];
    failures: number[];
    unmeasured: (Record<string, any>)[];
    batch: BatchOf;
    standing: Record<string, any>;
    rewards: string;
    pairs: boolean;
    numbers: string[];
    items: number | null;
    strata: string | null;
    options_change: boolean;
    noise: number | null;
    noise_estimated: boolean;
    noise_stated: boolean;
    chain: Record<string, any> | null;
    revision: number;
    retired: string[];
    coming: string[];
    going: string[];
    near: Near | null;
    paused: boolean;
    checks: Record<string, any>;
    warnings: string[];
    traffic: Record<string, any> | null;
  }
  interface StudyList {
    studies: StudyRow[];
  }
  interface StudyRow {
    name: string;
    algorithm: string;
    pairs: boolean;
    delta: number | null;
    options: number | null;
    samples: number;
    survivors: number | null;
    finished: boolean;
    paused: boolean;
    measuring: boolean;
    answer: string | null;
    created: number;
    broken: string | null;
  }
  interface TableBody {
    csv?: string | null;
    columns?: Record<string, any> | null;
    index?: string[] | null;
    source?: string;
    features?: string[] | string | null;
    formula?: string | null;
    unstructured?: boolean;
    label?: string | null;
    cost?: string | null;
  }
  interface TableColumn {
    name: string;
    kind: "number" | "text";
    levels: number;
    examples: string[];
    missing: number;
    feature: boolean;
  }
  interface TableContent {
    columns: TableColumn[];
    label: string | null;
    rows: number;
    problem: TableSummary | null;
    error: string | null;
  }
  interface TableSummary {
    options: number;
    features: string[];
    rank: number;
    notes: string[];
  }
  interface TrafficBody {
    at_least?: number | string | (number | string)[];
    lasts?: number | string;
    control?: string | null;
    control_share?: number | string | null;
    window?: number | string;
  }
  interface AnswerOf {
    finished: boolean;
    study: string;
    arm: number;
    label: string;
    samples: number;
    batches: number;
    guarantee: Record<string, any>;
    survivors: number[];
    equivalent: number[];
    arms: number[] | null;
    labels: string[] | null;
    cost: number | null;
    p_value: number | null;
    better: string[] | null;
    worse: string[] | null;
    undecided: string[] | null;
    close: string[] | null;
    ruled_out: string[] | null;
    lifts: Record<string, any> | null;
    wins: Record<string, any> | null;
    best_mean: string | null;
    circle: string[] | null;
    minimise: boolean | null;
    quantile: number | null;
    quantiles: Record<string, any> | null;
    limits: Record<string, any> | null;
    on_items: Record<string, any> | null;
    unmeasured: (Record<string, any>)[] | null;
    checks: Record<string, any>;
  }
  interface Certificate {
    format: string;
    version: number;
    digest: string;
  }
  interface Envelope {
    payload: string;
    payloadType: string;
    signatures: (Record<string, any>)[];
  }
  interface ForecastOf {
    low: number | null;
    middle: number | null;
    high: number | null;
    simulated: number;
    why: string;
    unit: string;
    slow: boolean;
    text: string;
  }
  interface PublicKey {
    algorithm: string;
    key: string | null;
    pem: string | null;
  }
  interface Verdict {
    valid: boolean;
    message: string;
  }
  interface ActDone {
    act: ActRow | null;
  }
  interface ActList {
    acts: ActRow[];
  }
  interface ActRow {
    kind: string;
    at: number;
    by: string | null;
    reason: string;
    token: string | null;
    said: string;
    details: Record<string, any>;
  }
  interface AskBody {
    n?: number;
    worker?: string | null;
    lease?: number;
    wait?: number;
    stratum?: string | null;
    request?: string | null;
    same?: boolean;
  }
  interface AskReply {
    pulls: PullOut[];
    finished: boolean;
  }
  interface CanaryOf {
    pulls: PullOut[];
  }
  interface EventLog {
    events: EventRow[];
    next: number;
  }
  interface EventRow {
    pull: number;
    arm: number;
    kind: string;
    worker: string | null;
    value: number | null;
    note: string;
    at: number;
    token: string | null;
    count: number;
  }
  interface Fail {
    pull: number;
    reason?: string;
    worker?: string | null;
    final?: boolean;
  }
  interface Failed {
    returned: boolean;
  }
  interface Health {
    status: "ok";
  }
  interface Keep {
    held: Record<string, any>;
    lease?: number;
  }
  interface Kept {
    held: Record<string, any>;
  }
  interface LogIn {
    token: string;
  }
  interface NewToken {
    role: "admin" | "worker" | "viewer" | "judge";
    studies?: string[] | null;
    expires_in?: number | null;
    note?: string;
  }
  interface PeriodOf {
    number: number;
    period: string | null;
    since: number;
    until: number;
    shares: Record<string, any>;
    recorded: boolean;
    window: number;
  }
  interface PeriodsOf {
    periods: PeriodOf[];
  }
  interface PullOut {
    id: number;
    arm: number | null;
    label: string | null;
    attempt: number;
    stratum: string | null;
    item: number | null;
    first: string | null;
    second: string | null;
    features: Record<string, any>;
    shown: Shown | null;
  }
  interface RewardBody {
    pull: number;
    reward: number | string;
    numbers?: Record<string, any> | null;
    label?: string | null;
  }
  interface RewardColumns {
    pulls: number[];
    arms: number[];
    values: number[];
    times: number[];
    strata: string[] | null;
    numbers: string[] | null;
  }
  interface Session {
    role: string;
    studies: string[] | null;
    csrf: string | null;
  }
  interface Shown {
    both: Thing[];
    first: Thing[];
    second: Thing[];
  }
  interface SplitBody {
    visits?: number | null;
    period?: string | null;
  }
  interface SplitOf {
    number: number;
    period: string | null;
    shares: Record<string, any>;
    visits: Record<string, any> | null;
    since: number;
    csv: string;
  }
  interface TellBody {
    rewards: RewardBody[];
    worker?: string | null;
    strict?: boolean;
  }
  interface Thing {
    name: string;
    kind: "text" | "file" | "picture" | "link";
    content: string;
  }
  interface TokenList {
    tokens: TokenRow[];
  }
  interface TokenMade {
    id: string;
    role: string;
    studies: string[] | null;
    created: number;
    expires: number | null;
    note: string;
    token: string;
  }
  interface TokenRow {
    id: string;
    role: string;
    studies: string[] | null;
    created: number;
    expires: number | null;
    note: string;
  }
  interface ToldAll {
    told: Told[];
  }
  interface Told {
    pull: number;
    status: "accepted" | "duplicate" | "late" | "conflict" | "again";
    value: number | null;
    warning: string | null;
  }
}
