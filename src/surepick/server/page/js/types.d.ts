// Types that several scripts share. Those in Api are in models.d.ts; answers may carry more than
// the models promise, and what the page reads of that is added here.

declare namespace Api {
  interface Status {
    options: number;
    candidate_labels: string[] | null;
    same_as: number[] | null;
    leader_index: number | null;
  }
  interface AnswerOf {
    delta: number;
    epsilon: number;
    pulls: number[];
  }
  /** Only with a certificate that holds. */
  interface Verdict {
    label: string;
    labels: string[];
    guarantee: string;
    statement: string;
    plain: string;
    checked: number;
    risk: number;
    delta: number;
  }
  interface Checks {
    fit: Check | null;
    drift: Check;
    noise: { estimate: number; low: number; high: number } | null;
    scales: Check | null;
    ratio?: Check | null;
    own_past?: Check | null;
    repeated?: string;
    warnings: string[];
    remarks: string[];
  }
  interface Check {
    alarm: boolean;
    blind: boolean;
    unclear: boolean;
    message: string;
  }
  /** A period that is not recorded yet. */
  interface OpenPeriod {
    number: number;
    period: string | null;
    since: number;
    shares: number[];
  }
  /** The morning look at a study of traffic. */
  interface Traffic {
    headline: string;
    worth: string | null;
    ahead: string | null;
    next: string;
    settled: number;
    open: OpenPeriod[];
    shares: number[] | null;
    columns: string[];
    /** Of visitors who are counted by segment. */
    segments: string[];
    /** Of a test with an answer for each: which it is, and the studies of the others by segment. */
    segment: { of: string; name: string; words: string; others: Record<string, string> } | null;
    /** How options stand to limits on further numbers. */
    guardrails: { limit: string; title: string; cells: string[]; breaks: string[] }[];
    control: string | null;
    lift: (number[] | null)[] | null;
    window: number;
    waiting: { message: string } | null;
    ratio: { alarm: boolean; message: string };
  }
  interface Forecast {
    method: string;
    scenario: string;
    kind: "simulated" | "formula" | "bound";
    mean: number | null;
    low: number | null;
    high: number | null;
    q10: number | null;
    q90: number | null;
    gave_up: number;
  }
}

/** What a table of options has become: tells a form whether there is a problem to solve. */
type Chosen = { ready: false } | { ready: true; spec: Api.TableBody; fileName: string };

/** A view makes an element; what it starts it hands to its scope. */
type View = (scope: import("./router.js").Scope) => HTMLElement;

/** A card of a study's page, kept up to date. */
interface Card {
  element: HTMLElement;
  update(model: import("./study/model.js").Model): void;
}

/** A column of a table over items 0 … n − 1; `first` is the direction of the first click. */
interface GridColumn {
  key: string;
  title: string;
  end?: boolean;
  first: SortDirection;
  value(item: number): string | number | null;
  make(): { cell: HTMLElement; update(item: number): void };
}

type SortDirection = "ascending" | "descending";

interface Sort {
  key: string;
  direction: SortDirection;
}

/** From a number to a place along an axis. */
type Scale = (x: number) => number;
